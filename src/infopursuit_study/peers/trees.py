"""Peers that ask by fixed rules: a decision tree and a rule list, on binary answers.

- `AnswerTree`: Breiman et al., "Classification and Regression Trees", 1984, with the entropy of
  Quinlan's ID3 (1986).
- `RuleList`: CN2 in its ordered form, Clark and Niblett, "The CN2 Induction Algorithm", Machine
  Learning 1989, with the Laplace estimate of Clark and Boswell, "Rule Induction with CN2: Some
  Recent Improvements", 1991.

lab/benchmark.md says in full what differs from the originals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor
from torch.nn import functional

from infopursuit.pursuit.answers.gain import entropy, information_gain
from infopursuit_study.peers.binary_answers import Threshold, answers_of, fit_answers
from infopursuit_study.peers.peer import BUDGETS, Contributions, TextPeer, Validation


@dataclass(eq=False, repr=False)
class AnswerTree(TextPeer):
    """A decision tree: at most t questions from the root to the depth at which the tree is cut.

    At each node the question is asked that has the most information about the class among the
    training images that reach it: Information Pursuit with counts in place of a model.
    scikit-learn grows the tree. The probabilities of a leaf are smoothed by one image spread over
    the classes, so that a pure leaf is not certain.
    """

    threshold: Threshold = "informative"
    min_samples_leaf: int = 1
    budgets: Sequence[int] = BUDGETS
    random_state: int = 0

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        self.rule_ = fit_answers(X, labels, texts, self.threshold)
        self.model_ = DecisionTreeClassifier(
            criterion="entropy",
            min_samples_leaf=self.min_samples_leaf,
            random_state=self.random_state,
        ).fit(answers_of(self.rule_, X).float().numpy(), labels.numpy())
        tree, c = self.model_.tree_, len(self.classes_)
        counts = tree.value[:, 0] * tree.n_node_samples[:, None]
        smooth = (counts + 1 / c) / (tree.n_node_samples[:, None] + 1)
        self.log_probability_ = np.log(smooth)
        self.budgets_ = tuple(sorted(self.budgets))

    def _paths(self, X: Tensor) -> list[list[int]]:
        """Return the nodes of each image, from the root to the cut."""
        answers, tree = answers_of(self.rule_, X).numpy(), self.model_.tree_
        longest = len(tree.feature) if self.budget_ is None else self.budget_
        paths = []
        for row in answers:
            nodes = [0]
            while tree.children_left[nodes[-1]] >= 0 and len(nodes) <= longest:
                yes = row[tree.feature[nodes[-1]]]
                side = tree.children_right if yes else tree.children_left
                nodes.append(int(side[nodes[-1]]))
            paths.append(nodes)
        return paths

    def _scores(self, X: Tensor) -> Tensor:
        ends = [nodes[-1] for nodes in self._paths(X)]
        return torch.from_numpy(self.log_probability_[ends])

    def _explain(self, X: Tensor) -> Contributions:
        """Return the change of the log-probabilities at each question, from the root on."""
        paths, tree, table = self._paths(X), self.model_.tree_, self.log_probability_
        asked = sorted({int(tree.feature[node]) for nodes in paths for node in nodes[:-1]})
        column = {text: place for place, text in enumerate(asked)}
        values = np.zeros((len(paths), len(self.classes_), len(asked)))
        used = np.zeros((len(paths), len(asked)), dtype=bool)
        for row, nodes in enumerate(paths):
            for before, after in pairwise(nodes):
                place = column[int(tree.feature[before])]
                values[row, :, place] += table[after] - table[before]
                used[row, place] = True
        texts = tuple(self.texts_[text] for text in asked)
        yes = answers_of(self.rule_, X)[:, asked].numpy()
        offset = np.tile(table[0], (len(paths), 1))
        return Contributions(self.classes_, texts, values, offset, used, used & yes)


class Rule(NamedTuple):
    """If the answers to `texts` (rows of them) are `yes`, the class has the distribution `counts`.

    `counts` are the (c,) training images of each class that the rule covers.
    """

    texts: tuple[int, ...]
    yes: tuple[bool, ...]
    counts: tuple[float, ...]


@dataclass(eq=False, repr=False)
class RuleList(TextPeer):
    """If ... then ..., else if ..., else the default.

    A rule is a conjunction of answers. A beam search finds the one with the largest Laplace
    accuracy, (n_c + 1) / (n + c), among the images that no earlier rule covers; its images are set
    aside, and so on until no rule is better than the default. No kept library has rule lists for
    many classes; hence this one.

    A decision rests on the texts of all rules up to the one that fires. `at(t)` keeps the rules at
    the head of the list that have at most t texts together.

    Attributes:
        rules_: in order.
        left_: for i = 0..r, (c,) training images that the first i rules do not cover.
    """

    threshold: Threshold = "informative"
    longest: int = 3
    beam: int = 3
    least: int = 2
    significance: float = 6.6
    pool: int = 150
    budgets: Sequence[int] = BUDGETS

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        self.rule_ = fit_answers(X, labels, texts, self.threshold)
        answers = answers_of(self.rule_, X)
        members = functional.one_hot(labels).float()
        pool = most_informative(answers, members, self.pool)
        answers = answers[:, pool].numpy()
        left = np.ones(len(X), dtype=bool)
        self.rules_: list[Rule] = []
        self.left_ = [members.sum(dim=0).double().numpy()]
        while left.any():
            best = self._best(answers[left], members[torch.from_numpy(left)].numpy())
            if best is None:
                break
            places, yes = zip(*best, strict=True)
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
        """Return the rule with the largest Laplace accuracy; None if the default is as good.

        Of equal rules the first wins: shorter ones and more informative texts come first.
        """
        literals = np.concatenate([answers, ~answers], axis=1).astype(np.float32)
        pool, totals = answers.shape[1], members.sum(axis=0)
        best, best_value = None, laplace(totals[None])[0]
        beam: list[list[tuple[int, bool]]] = [[]]
        for _ in range(self.longest):
            longer_rules: dict[frozenset, tuple[float, list[tuple[int, bool]]]] = {}
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
                        longer_rules.setdefault(frozenset(longer), (float(values[literal]), longer))
            ranked = sorted(longer_rules.values(), key=lambda each: -each[0])[: self.beam]
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
        """The number of rules at the head of the list that decisions rest on."""
        if self.budget_ is None:
            return len(self.rules_)
        texts: set[int] = set()
        for place, rule in enumerate(self.rules_):
            texts |= set(rule.texts)
            if len(texts) > self.budget_:
                return place
        return len(self.rules_)

    def _fired(self, X: Tensor) -> np.ndarray:
        """Return the number of the rule that fires (n,); the default has the number of rules."""
        answers = answers_of(self.rule_, X).numpy()
        fired = np.full(len(X), self.kept)
        for place in reversed(range(self.kept)):
            rule = self.rules_[place]
            fired[(answers[:, rule.texts] == np.array(rule.yes)).all(axis=1)] = place
        return fired

    def _distributions(self) -> tuple[np.ndarray, np.ndarray]:
        """Return log-probabilities if each rule fires, and if the first i rules do not."""
        rules = np.array([rule.counts for rule in self.rules_[: self.kept]])
        rules = rules.reshape(self.kept, len(self.classes_))
        return np.log(smoothed(rules)), np.log(smoothed(np.array(self.left_[: self.kept + 1])))

    def _scores(self, X: Tensor) -> Tensor:
        fires, fails = self._distributions()
        return torch.from_numpy(np.concatenate([fires, fails[-1:]])[self._fired(X)])

    def _explain(self, X: Tensor) -> Contributions:
        """Return each rule's change of the log-probabilities, in equal parts to its texts."""
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
    """Return the Laplace accuracy of rules by the images of each class that they cover."""
    return (counts.max(axis=1) + 1) / (counts.sum(axis=1) + counts.shape[1])


def smoothed(counts: Float[np.ndarray, "l c"]) -> Float[np.ndarray, "l c"]:
    """Return shares of the classes, with one image spread over them."""
    c = counts.shape[1]
    return (counts + 1 / c) / (counts.sum(axis=1, keepdims=True) + 1)


def most_informative(
    answers: Bool[Tensor, "n m"], members: Float[Tensor, "n c"], count: int
) -> np.ndarray:
    """Return the rows of the texts with the most information about the class, best first."""
    totals = members.sum(dim=0)
    rate = (answers.float().T @ members / totals).clamp(1e-6, 1 - 1e-6)
    likelihood = torch.stack([1 - rate, rate])
    gain = information_gain((totals / totals.sum())[None], likelihood, entropy(likelihood))[0]
    return gain.argsort(descending=True, stable=True)[:count].numpy()
