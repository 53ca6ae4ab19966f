"""A list of rules on binary answers, learned by sequential covering.

CN2 in its ordered form: Clark and Niblett, "The CN2 Induction Algorithm", Machine Learning 1989,
with the Laplace estimate of Clark and Boswell, "Rule Induction with CN2: Some Recent Improvements",
1991. A rule is a conjunction of answers. A beam search finds the one with the largest Laplace
accuracy, (n_c + 1) / (n + c), among the images that no earlier rule covers; its images are set
aside, and so on until no rule says more than the default.

What differs from the original: a rule must be significant against the shares of the classes that
are left (their likelihood ratio, at a threshold) and cover `least` images; and literals are about
the `pool` texts that tell most of the class alone, as a search over all texts would take hours.
No kept library has rule lists for many classes; hence this one.

A decision rests on the texts of all rules up to the one that fires. `at(t)` keeps the rules at the
head of the list that have at most t texts together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from infopursuit.answers.information import entropy, information_gain
from infopursuit.peers.binary_answers import Threshold, answers_of, fit_answers
from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.contributions import Contributions
from infopursuit.peers.peer import Peer


class Rule(NamedTuple):
    """If all answers are as said, the class has this distribution.

    Attributes:
        texts: rows of the texts.
        yes: the answer of each.
        counts: (c,) training images of each class that it covers.
    """

    texts: tuple[int, ...]
    yes: tuple[bool, ...]
    counts: tuple[float, ...]


class RuleList(Peer):
    """If ... then ..., else if ..., else the default.

    Args:
        texts: m texts.
        text_embeddings: (m, d) of them.
        threshold: `median` or `informative`: where an answer turns to yes.
        longest: texts that a rule has at most.
        beam: conjunctions that the search goes on with.
        least: training images that a rule covers at least.
        significance: least likelihood ratio of a rule's classes to those left, 2 sum n log(n / e).
        pool: texts that literals are about, those that tell most of the class alone.
        budgets: numbers of texts that a list may have.

    Attributes:
        rules_: in order.
        left_: for i = 0..r, (c,) training images that the first i rules do not cover.
    """

    threshold: Threshold

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        threshold: Threshold = "informative",
        longest: int = 3,
        beam: int = 3,
        least: int = 2,
        significance: float = 6.6,
        pool: int = 150,
        budgets: Sequence[int] = BUDGETS,
    ) -> None:
        self.texts, self.text_embeddings, self.threshold = texts, text_embeddings, threshold
        self.longest, self.beam, self.least = longest, beam, least
        self.significance, self.pool, self.budgets = significance, pool, budgets

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        self.rule_ = fit_answers(X, labels, texts, self.threshold)
        said = answers_of(self.rule_, X)
        members = functional.one_hot(labels).float()
        pool = most_informative(said, members, self.pool)
        answers = said[:, pool].numpy()
        left = np.ones(len(X), dtype=bool)
        self.rules_: list[Rule] = []
        self.left_ = [members.sum(dim=0).double().numpy()]
        while left.any():
            found = self._best(answers[left], members[torch.from_numpy(left)].numpy())
            if found is None:
                break
            places, yes = zip(*found, strict=True)
            covered = left & (answers[:, list(places)] == np.array(yes)).all(axis=1)
            counts = members.numpy()[covered].sum(axis=0)
            chosen = tuple(int(pool[place]) for place in places)
            self.rules_.append(Rule(chosen, tuple(map(bool, yes)), tuple(counts.tolist())))
            left &= ~covered
            self.left_.append(self.left_[-1] - counts)
        self.budgets_ = tuple(sorted(self.budgets))

    def _best(
        self, answers: Bool[np.ndarray, "n p"], members: Float[np.ndarray, "n c"]
    ) -> list[tuple[int, bool]] | None:
        """The conjunction with the largest Laplace accuracy; None where the default is as good.

        Of equals the one found first: shorter ones are, and texts that tell more of the class.
        """
        literals = np.concatenate([answers, ~answers], axis=1).astype(np.float32)
        pool, totals = answers.shape[1], members.sum(axis=0)
        best, best_value = None, laplace(totals[None])[0]
        beam: list[list[tuple[int, bool]]] = [[]]
        for _ in range(self.longest):
            found: dict[frozenset[tuple[int, bool]], tuple[float, list[tuple[int, bool]]]] = {}
            for rule in beam:
                covered = np.ones(len(answers), dtype=bool)
                for place, yes in rule:
                    covered &= answers[:, place] == yes
                counts = literals[covered].T @ members[covered]  # (2p, c)
                good = (counts.sum(axis=1) >= self.least) & self._significant(counts, totals)
                values = np.where(good, laplace(counts), -1.0)
                for place in rule:
                    values[[place[0], place[0] + pool]] = -1.0
                for literal in np.argsort(-values, kind="stable")[: self.beam]:
                    if values[literal] > 0:
                        longer = [*rule, (int(literal % pool), bool(literal < pool))]
                        found.setdefault(frozenset(longer), (float(values[literal]), longer))
            ranked = sorted(found.values(), key=lambda each: -each[0])[: self.beam]
            if not ranked:
                break
            if ranked[0][0] > best_value + 1e-9:
                best_value, best = ranked[0]
            beam = [rule for _, rule in ranked]
        return best

    def _significant(
        self, counts: Float[np.ndarray, "l c"], totals: Float[np.ndarray, " c"]
    ) -> Bool[np.ndarray, " l"]:
        expected = counts.sum(axis=1, keepdims=True) * totals / totals.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(counts > 0, counts * np.log(counts / expected), 0.0)
        return 2 * ratio.sum(axis=1) >= self.significance

    @property
    def kept(self) -> int:
        """How many rules of the list decisions rest on."""
        if self.budget_ is None:
            return len(self.rules_)
        texts: set[int] = set()
        for place, rule in enumerate(self.rules_):
            texts |= set(rule.texts)
            if len(texts) > self.budget_:
                return place
        return len(self.rules_)

    def _fired(self, X: Tensor) -> np.ndarray:
        """(n,) the number of the rule that fires; that of the default is the number of rules."""
        answers = answers_of(self.rule_, X).numpy()
        fired = np.full(len(X), self.kept)
        for place in reversed(range(self.kept)):
            rule = self.rules_[place]
            fired[(answers[:, rule.texts] == np.array(rule.yes)).all(axis=1)] = place
        return fired

    def _distributions(self) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities where each rule fires, and where the first i do not."""
        rules = np.array([rule.counts for rule in self.rules_[: self.kept]])
        rules = rules.reshape(self.kept, len(self.classes_))
        return np.log(smoothed(rules)), np.log(smoothed(np.array(self.left_[: self.kept + 1])))

    def _scores(self, X: Tensor) -> Tensor:
        fires, fails = self._distributions()
        return torch.from_numpy(np.concatenate([fires, fails[-1:]])[self._fired(X)])

    def _explain(self, X: Tensor) -> Contributions:
        """Each rule's change of the log-probabilities, in equal parts to its texts."""
        fires, fails = self._distributions()
        rules = self.rules_[: self.kept]
        asked = sorted({text for rule in rules for text in rule.texts})
        column = {text: place for place, text in enumerate(asked)}
        fired = self._fired(X)
        values = np.zeros((len(X), len(self.classes_), len(asked)))
        used = np.zeros((len(X), len(asked)), dtype=bool)
        for place, rule in enumerate(rules):
            reached, ends = fired >= place, fired == place
            for text in rule.texts:
                part = column[text]
                used[reached, part] = True
                changed = np.where(ends[:, None], fires[place], fails[place + 1]) - fails[place]
                values[reached, :, part] += changed[reached] / len(rule.texts)
        texts = tuple(self.texts_[text] for text in asked)
        yes = answers_of(self.rule_, X)[:, asked].numpy()
        offset = np.tile(fails[0], (len(X), 1))
        return Contributions(self.classes_, texts, values, offset, used, used & yes)


def laplace(counts: Float[np.ndarray, "l c"]) -> Float[np.ndarray, " l"]:
    """The Laplace accuracy of rules that cover so many images of each class."""
    return (counts.max(axis=1) + 1) / (counts.sum(axis=1) + counts.shape[1])


def smoothed(counts: Float[np.ndarray, "l c"]) -> Float[np.ndarray, "l c"]:
    """Shares of the classes, with one image spread over them."""
    c = counts.shape[1]
    return (counts + 1 / c) / (counts.sum(axis=1, keepdims=True) + 1)


def most_informative(
    answers: Bool[Tensor, "n m"], members: Float[Tensor, "n c"], count: int
) -> np.ndarray:
    """Rows of the texts whose answers tell most of the class alone, the best first."""
    totals = members.sum(dim=0)
    rate = (answers.float().T @ members / totals).clamp(1e-6, 1 - 1e-6)
    likelihood = torch.stack([1 - rate, rate])
    told = information_gain((totals / totals.sum())[None], likelihood, entropy(likelihood))[0]
    return told.argsort(descending=True, stable=True)[:count].numpy()
