"""Sparse logistic regression on concept scores, at a given number of effective concepts.

No paper's model: the head of the concept-bottleneck models that follow, at its best. Scores are
cosines of image and text, standardised. The support is that of the elastic net (`elastic_net.py`)
with the wanted number of weights; the weights are then fitted anew on it with a ridge alone, since
the penalty that made them sparse also shrinks them (the relaxed lasso of Meinshausen, 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.contributions import Contributions
from infopursuit.peers.elastic_net import ElasticNet, Loss, at_effective_concepts
from infopursuit.peers.heads import Head, Standard
from infopursuit.peers.memory import Memory, remembered
from infopursuit.peers.peer import Peer, linear_contributions


class SparseHeadPeer(Peer):
    """Concept scores, standardised, and a sparse linear head; a subclass says how it is fitted.

    Attributes:
        standard_: of the scores.
        directions_: (m, d) what the scores are cosines with.
        heads_: by the number of effective concepts; the largest is the whole model's.
    """

    ratio: float
    budgets: Sequence[int]
    memory: Memory | None
    heads_: dict[int, Head]
    loss: Loss = "multinomial"

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        self.directions_ = texts
        self.standard_ = Standard.of(X @ texts.T)
        self._fit_heads(self.concepts(X), labels)
        self.budgets_ = tuple(sorted(self.heads_))

    def _fit_heads(self, concepts: Tensor, labels: Tensor) -> None:
        raise NotImplementedError

    def _elastic_net(self, concepts: Tensor, labels: Tensor) -> ElasticNet:
        """That of these images; its path is shared by peers with one memory."""
        return remembered(
            self.memory,
            lambda: ElasticNet(concepts, labels, self.loss, self.ratio),
            "elastic net", concepts, labels, self.loss, self.ratio,
        )  # fmt: skip

    def _truncated_path(self, concepts: Tensor, labels: Tensor) -> dict[int, Head]:
        """The head of each of `budgets`, with the weights of the path."""
        path = self._elastic_net(concepts, labels).path(max(self.budgets))
        return {count: at_effective_concepts(path, count) for count in self.budgets}

    def concepts(self, X: Tensor) -> Tensor:
        """Standardised concept scores (n, m)."""
        return self.standard_(X @ self.directions_.T)

    @property
    def head(self) -> Head:
        """The linear head that decisions rest on."""
        return self.heads_[max(self.budgets_) if self.budget_ is None else self.budget_]

    def _scores(self, X: Tensor) -> Tensor:
        return self.head(self.concepts(X))

    def _explain(self, X: Tensor) -> Contributions:
        weights, intercepts = self.head
        return linear_contributions(
            self.classes_, self.texts_, self.concepts(X), weights, intercepts.unsqueeze(0)
        )


class SparseLogistic(SparseHeadPeer):
    """Logistic regression on the scores of few concepts.

    Args:
        texts: m texts.
        text_embeddings: (m, d) of them.
        ridge: half of it weighs the squares of the weights that are left.
        ratio: share of the sparsifying penalty that is on absolute values.
        budgets: numbers of effective concepts.
        memory: shares the path of penalties with other fits; None for none.
    """

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        ridge: float = 1e-3,
        ratio: float = 0.99,
        budgets: Sequence[int] = BUDGETS,
        memory: Memory | None = None,
    ) -> None:
        self.texts, self.text_embeddings = texts, text_embeddings
        self.ridge, self.ratio, self.budgets, self.memory = ridge, ratio, budgets, memory

    def _fit_heads(self, concepts: Tensor, labels: Tensor) -> None:
        net = self._elastic_net(concepts, labels)
        self.heads_ = {
            count: net.refitted(sparse.weights != 0, self.ridge, sparse)
            for count, sparse in self._truncated_path(concepts, labels).items()
        }
