"""Peers that ask one question after another: at most t for each image, with evidence that adds up.

- `GenerativeIP`: Chattopadhyay, Slocum, Haeffele, Vidal and Geman, "Interpretable by Design:
  Learning Predictors by Composing Interpretable Queries", TPAMI 2022.
- `PaperNetworks`: Kolek et al., "Learning Interpretable Queries for Explainable Image
  Classification with Information Pursuit", ICCV 2025; with a fixed dictionary V-IP (Chattopadhyay
  et al., "Variational Information Pursuit for Interpretable Predictions", ICLR 2023).
- `Ours`: `InformationPursuitClassifier` as a peer.

lab/benchmark.md says in full what differs from the authors' code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import clone
from torch import Tensor
from torch.nn import functional

from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.variational import VariationalInformationPursuit
from infopursuit.pursuit.answers.rules import NOT_SURE
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.rollout import images_at_once
from infopursuit_study.peers.binary_answers import Threshold, answers_of, fit_answers
from infopursuit_study.peers.peer import BUDGETS, Contributions, Model, TextPeer, Validation

# Updates of the random and of the biased phase of `PaperNetworks`: at most, and in tuning.
LIMIT, TUNING = (9000, 36000), (500, 400)
# Images that are concluded of together: after all of 512 questions each takes some megabytes.
IMAGES = 256
# Parameters that `PaperNetworks` and `VariationalInformationPursuit` share.
SETTINGS = (
    "queries", "dictionary", "n_queries", "learning_rate", "dictionary_learning_rate",
    "weight_decay", "temperature", "schedule", "patience", "hidden", "random_state",
)  # fmt: skip


class PursuitPeer(TextPeer):
    """A classifier after t questions, each chosen after the answers before it.

    A subclass's `_fit` sets `pursuit_`. Without a budget all questions are asked.

    An answer's contribution is what it added to the logarithm of each class's probability when it
    was given; it depends on the answers before it.
    """

    budgets: Sequence[int]
    pursuit_: Pursuit

    def for_tuning(self: Model, count: int) -> Model:
        """Return itself: more questions cost little."""
        return self

    def curve(self, X: Any, y: Any, longest: int = 128) -> Float[np.ndarray, " t"]:
        """Return the accuracy after t = 0..T questions, T at most `longest`."""
        rows, labels = self._rows(X), np.asarray(y)
        longest = min(longest, len(self.pursuit_.queries))
        right = np.zeros(longest + 1)
        size = images_at_once(longest, len(self.classes_))
        for start in range(0, len(rows), size):
            block = slice(start, start + size)
            posteriors = self.pursuit_.roll_out(rows[block], longest).posteriors
            predicted = self.classes_[posteriors.argmax(dim=2).numpy()]
            right += (predicted == labels[block, None]).sum(axis=0)
        return right / len(rows)

    @torch.no_grad()
    def decisions_by_budget(self, X: Any) -> dict[int | None, Float[np.ndarray, "n c"]]:
        """Return the scores at each of `budgets_`, and under None after all questions."""
        answers = self.pursuit_.answers(self._rows(X))
        size = images_at_once(max(self.budgets_), len(self.classes_))
        rolled = [  # questions are chosen once
            self.pursuit_.rolled(some, max(self.budgets_)).posteriors[:, list(self.budgets_)]
            for some in answers.split(size)
        ]
        at = torch.cat(rolled).double().log().unbind(dim=1)
        whole = self._concluded(answers, torch.ones_like(answers)).double()
        return {
            t: each.numpy() for t, each in zip((*self.budgets_, None), (*at, whole), strict=True)
        }

    def _asked(self, X: Tensor) -> tuple[Tensor, Tensor]:
        answers = self.pursuit_.answers(X)
        if self.budget_ is None:
            return answers, torch.ones_like(answers)
        return answers, _mask(answers, self.pursuit_.asked(answers, self.budget_))

    def _possible_budgets(self) -> tuple[int, ...]:
        return tuple(sorted(t for t in self.budgets if t <= len(self.pursuit_.queries)))

    @torch.no_grad()
    def _scores(self, X: Tensor) -> Tensor:
        return self._concluded(*self._asked(X))

    def _concluded(self, answers: Tensor, asked: Tensor) -> Tensor:
        parts = zip(answers.split(IMAGES), asked.split(IMAGES), strict=True)
        return torch.cat([self.pursuit_.classifier(*part) for part in parts])

    def _explain(self, X: Tensor) -> Contributions:
        longest = len(self.pursuit_.queries) if self.budget_ is None else self.budget_
        rolled = self.pursuit_.roll_out(X, longest)
        logged = rolled.posteriors.double().clamp_min(1e-300).log()
        added = logged[:, 1:] - logged[:, :-1]
        # A learned dictionary may hold a text twice: its contributions add up.
        names = self.pursuit_.queries
        columns = torch.tensor([names.index(name) for name in names])[rolled.order]
        unique = columns.unique()
        places = torch.searchsorted(unique, columns)
        shape = len(X), len(unique)
        values = torch.zeros(*shape, len(self.classes_), dtype=torch.float64)
        values.scatter_add_(1, places.unsqueeze(2).expand_as(added), added)
        used = torch.zeros(shape, dtype=torch.bool).scatter_(1, places, True)
        margin = torch.full(shape, -1.0).scatter_reduce_(
            1, places, rolled.answers - NOT_SURE, "amax"
        )
        return Contributions(
            self.classes_,
            tuple(names[column] for column in unique.tolist()),
            values.transpose(1, 2).numpy(),
            logged[:, 0].numpy(),
            used.numpy(),
            margin.double().numpy(),
        )


def _mask(answers: Tensor, order: Tensor) -> Tensor:
    return torch.zeros_like(answers).scatter_(1, order, 1.0)


@dataclass(eq=False, repr=False)
class GenerativeIP(PursuitPeer):
    """Generative Information Pursuit in its discrete form: counted rates, exact information gain.

    The next query has the largest mutual information with the class given the history. Answers are
    independent given the class here; the authors' model of attributes is a variational
    auto-encoder, whose mutual information is estimated by sampling.
    """

    threshold: Threshold = "median"
    added: float = 1.0
    budgets: Sequence[int] = BUDGETS

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        self.rule_ = rule = fit_answers(X, labels, texts, self.threshold)
        members = functional.one_hot(labels).double()
        totals = members.sum(dim=0)
        yes = answers_of(rule, X).double().T @ members  # (m, c)
        rate = (yes + self.added) / (totals + 2 * self.added)
        likelihood = torch.stack([1 - rate, rate]).log().float()
        table = AnswerTable(likelihood, (totals / totals.sum()).log().float())
        self.pursuit_ = Pursuit(
            tuple(self.texts_),
            tuple(str(label) for label in self.classes_),
            rule,
            InformationGain(table),
            NaiveBayes(table),
        )
        self.budgets_ = self._possible_budgets()

    def _explain(self, X: Tensor) -> Contributions:
        """Return what each answer adds to the scores, whatever the answers before it."""
        table, (answers, asked) = self.pursuit_.classifier.table, self._asked(X)
        assert table is not None
        columns = asked.any(dim=0).nonzero().squeeze(1)
        rows, places = asked[:, columns].nonzero(as_tuple=True)
        values = torch.zeros(len(X), len(columns), len(self.classes_), dtype=torch.float64)
        given = answers[rows, columns[places]]
        values[rows, places] = table.log_likelihood_of(columns[places], given).double()
        used = asked[:, columns].bool()
        return Contributions(
            self.classes_,
            tuple(self.pursuit_.queries[column] for column in columns.tolist()),
            values.transpose(1, 2).numpy(),
            table.log_prior.double().expand(len(X), -1).numpy(),
            used.numpy(),
            (self.rule_.scores(X) - self.rule_.thresholds)[:, columns].double().numpy(),
        )


@dataclass(eq=False, repr=False)
class Ours(PursuitPeer):
    """Jointly normal scores, as `InformationPursuitClassifier` fits them."""

    learns_from_validation = True

    n_queries: int = 128
    knowledge: Any = None
    budgets: Sequence[int] = BUDGETS
    random_state: int = 0

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        model = InformationPursuitClassifier(
            self.texts_,
            texts.numpy(),
            self.n_queries,
            knowledge=self.knowledge,
            random_state=self.random_state,
        )
        self.model_ = model.fit(X.numpy(), self.classes_[labels.numpy()], validation=validation)
        self.pursuit_ = self.model_.pursuit_
        self.budgets_ = self._possible_budgets()


@dataclass(eq=False, repr=False)
class PaperNetworks(PursuitPeer):
    """The paper's querier and classifier networks on a dictionary that stays or is learned.

    Algorithm 1, as `VariationalInformationPursuit` has it. Networks are small and rates large, so
    that training ends within minutes, when held-out accuracy has stopped rising.

    Attributes:
        facts_: `updates` that were made and those `selected`.
    """

    learns_from_validation = True

    queries: Sequence[str] | None = None
    dictionary: str = "alternating"
    n_queries: int = 128
    learning_rate: float = 1e-3
    dictionary_learning_rate: float = 3e-3
    weight_decay: float = 0.01
    temperature: tuple[float, float] = (1.0, 0.2)
    patience: int = 1000
    updates: tuple[int, int] = LIMIT
    schedule: str = "plateau"
    hidden: tuple[int, int] = (256, 128)
    budgets: Sequence[int] = BUDGETS
    random_state: int = 0

    def for_tuning(self, count: int) -> PaperNetworks:
        """Return a copy with few updates and rates that fall to zero, for a tenth of the time."""
        return cast(PaperNetworks, clone(self)).set_params(updates=TUNING, schedule="cosine")

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        random, biased = self.updates
        settings = self.get_params(deep=False)
        model = VariationalInformationPursuit(
            self.texts_,
            texts.numpy(),
            random_updates=random,
            biased_updates=biased,
            validate_every=100,
            **{name: settings[name] for name in SETTINGS},
        )
        self.model_ = model.fit(X, self.classes_[labels.numpy()], validation=validation)
        self.pursuit_ = self.model_.pursuit_
        self.facts_ = {
            "updates": self.model_.log_[-1]["updates"],
            "selected": self.model_.provenance_["selected"]["updates"],
        }
        self.budgets_ = self._possible_budgets()
