"""Ours among the peers: `InformationPursuitClassifier`, with the same face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from torch import Tensor

from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from infopursuit.naive_bayes.decisive import decisive_answers
from infopursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.memory import Memory
from infopursuit.peers.pursuits import PursuitPeer
from infopursuit.pursuit.rollout import RollOut


class Ours(PursuitPeer):
    """Naive Bayes on answers of three values, as `InformationPursuitClassifier` fits it.

    Args:
        texts: m texts.
        text_embeddings: (m, d) of them.
        n_queries: k.
        rates: `counted` or `fitted`.
        knowledge: a table of what is true of the classes; None for none.
        budgets: numbers of questions.
        random_state: of samples of large training sets.
        memory: shares the chosen questions with fits of other rates; None for none.
    """

    learns_from_validation = True

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        n_queries: int = 128,
        rates: str = "counted",
        knowledge: Any = None,
        budgets: Sequence[int] = BUDGETS,
        random_state: int = 0,
        memory: Memory | None = None,
    ) -> None:
        self.texts, self.text_embeddings, self.n_queries = texts, text_embeddings, n_queries
        self.rates, self.knowledge = rates, knowledge
        self.budgets, self.random_state, self.memory = budgets, random_state, memory

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        rows, y = X.numpy(), self.classes_[labels.numpy()]
        model = InformationPursuitClassifier(
            self.texts_,
            texts.numpy(),
            self.n_queries,
            rates=self.rates,
            knowledge=self.knowledge,
            random_state=self.random_state,
        )
        # Without held-out images `fit` holds some out itself, and chooses from the others.
        if self.memory is not None and self.validation_ is not None:
            known = X, labels, texts, self.n_queries, self.random_state
            model.queries = self.memory.get(lambda: model.select_queries(rows, y), *known)
        self.model_ = model.fit(rows, y, validation=self.validation_)
        self.pursuit_ = self.model_.pursuit_
        self.budgets_ = tuple(sorted(t for t in self.budgets if t <= len(self.pursuit_.queries)))


class OursDecisive(Ours):
    """The same model in short: of all k answers of an image, the t that decide.

    They are chosen by the posterior of all answers, so t is what a person reads, and no bound on
    what the model looked at (`infopursuit.naive_bayes.decisive`).
    """

    def _roll_out(self, X: Tensor, longest: int) -> RollOut:
        return self._decisive(self.pursuit_.answers(X), longest)

    def _order(self, answers: Tensor, budget: int) -> Tensor:
        return self._decisive(answers, budget).order

    def _decisive(self, answers: Tensor, budget: int) -> RollOut:
        classifier = cast(NaiveBayes, self.pursuit_.classifier)
        querier = cast(InformationGain, self.pursuit_.querier)
        return decisive_answers(classifier, answers, budget, querier)
