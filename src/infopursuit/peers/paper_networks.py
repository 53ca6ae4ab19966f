"""The paper's own method among the peers: networks that ask and judge, trained to the end.

Kolek et al., "Learning Interpretable Queries for Explainable Image Classification with Information
Pursuit", ICCV 2025: Algorithm 1, as `VariationalInformationPursuit` has it. With a `fixed`
dictionary it is V-IP (Chattopadhyay et al., "Variational Information Pursuit for Interpretable
Predictions", ICLR 2023).

What differs from the paper. Networks are small and rates large, so that training ends within
minutes: each phase goes on until the held-out AUC has stopped rising (`vip/plateau.py`), up to
`LIMIT` updates. Weights are selected on held-out training images, not on the test split.

An answer's contribution is what it added to the logarithm of each class's probability when it was
given, in the order in which the questions were asked. It depends on the answers before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from sklearn.base import clone
from torch import Tensor

from infopursuit.estimators.variational import VariationalInformationPursuit
from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.contributions import Contributions
from infopursuit.peers.pursuits import PursuitPeer

# Updates of the random and of the biased phase: at most, and in a try of settings.
LIMIT, TRIED = (9000, 36000), (500, 400)


class PaperNetworks(PursuitPeer):
    """Querier and classifier networks on a dictionary that stays or is learned.

    Args:
        texts: m texts.
        text_embeddings: (m, d) of them.
        queries: the texts that the dictionary starts from; None for medoids of all.
        dictionary: `fixed`, `alternating` or `joint`.
        n_queries: k, where no `queries` are given.
        learning_rate: Adam's, of the networks.
        dictionary_learning_rate: Adam's, of the dictionary.
        weight_decay: decoupled, of the networks.
        temperature: of the querier's softmax, at the first rate and at the last.
        patience: updates without a better held-out AUC before the rates fall.
        updates: of the two phases at most.
        schedule: of `VariationalInformationPursuit`.
        budgets: numbers of questions.
        random_state: of weights, order of images and histories.

    Attributes:
        facts_: `updates` that were made and those `selected`.
    """

    learns_from_validation = True

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        queries: Sequence[str] | None = None,
        dictionary: str = "alternating",
        n_queries: int = 128,
        learning_rate: float = 1e-3,
        dictionary_learning_rate: float = 3e-3,
        weight_decay: float = 0.01,
        temperature: tuple[float, float] = (1.0, 0.2),
        patience: int = 1000,
        updates: tuple[int, int] = LIMIT,
        schedule: str = "plateau",
        budgets: Sequence[int] = BUDGETS,
        random_state: int = 0,
    ) -> None:
        self.texts, self.text_embeddings = texts, text_embeddings
        self.queries, self.dictionary, self.n_queries = queries, dictionary, n_queries
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.dictionary_learning_rate, self.temperature = dictionary_learning_rate, temperature
        self.patience, self.updates, self.schedule = patience, updates, schedule
        self.budgets, self.random_state = budgets, random_state

    def for_a_try(self, count: int) -> PaperNetworks:
        """With few updates and rates that fall to zero: a try takes a tenth of the time."""
        return cast(PaperNetworks, clone(self)).set_params(updates=TRIED, schedule="cosine")

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        random, biased = self.updates
        model = VariationalInformationPursuit(
            self.texts_,
            texts.numpy(),
            self.n_queries,
            queries=self.queries,
            dictionary=self.dictionary,
            random_updates=random,
            biased_updates=biased,
            learning_rate=self.learning_rate,
            dictionary_learning_rate=self.dictionary_learning_rate,
            weight_decay=self.weight_decay,
            temperature=self.temperature,
            schedule=self.schedule,
            patience=self.patience,
            validate_every=100,
            random_state=self.random_state,
        )
        self.model_ = model.fit(X, self.classes_[labels.numpy()], validation=self.validation_)
        self.pursuit_ = self.model_.pursuit_
        self.facts_ = {
            "updates": self.model_.log_[-1]["updates"],
            "selected": self.model_.provenance_["selected"]["updates"],
        }
        self.budgets_ = tuple(sorted(t for t in self.budgets if t <= len(self.pursuit_.queries)))

    def _explain(self, X: Tensor) -> Contributions:
        longest = len(self.pursuit_.queries) if self.budget_ is None else self.budget_
        rolled = self.pursuit_.roll_out(X, longest)
        logged = rolled.posteriors.double().clamp_min(1e-300).log()
        added = logged[:, 1:] - logged[:, :-1]
        # A learned dictionary may hold a text twice: its contributions add up.
        names = self.pursuit_.queries
        columns = torch.tensor([names.index(name) for name in names])[rolled.order]
        told = columns.unique()
        places = torch.searchsorted(told, columns)
        shape = len(X), len(told)
        values = torch.zeros(*shape, len(self.classes_), dtype=torch.float64)
        values.scatter_add_(1, places.unsqueeze(2).expand_as(added), added)
        used, shown = torch.zeros(shape, dtype=torch.bool), torch.zeros(shape)
        used.scatter_(1, places, True)
        shown.scatter_reduce_(1, places, (rolled.answers > 0).float(), "amax")
        return Contributions(
            self.classes_,
            tuple(names[column] for column in told.tolist()),
            values.transpose(1, 2).numpy(),
            logged[:, 0].numpy(),
            used.numpy(),
            shown.bool().numpy(),
        )
