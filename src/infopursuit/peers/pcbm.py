"""Post-hoc concept bottleneck models, and hybrid ones.

Yuksekgonul, Wang and Zou, "Post-hoc Concept Bottleneck Models", ICLR 2023. With multimodal concepts
the bank holds the text embeddings c_i. An image is projected on them,
f_i(x) = <x, c_i> / |c_i|^2, and a sparse linear layer with an elastic net of ratio
0.99 is fitted on the projections, a logistic regression for each class against the rest (their
SGDClassifier). PCBM-h adds a linear residual of the embedding, fitted by cross-entropy with
the bottleneck frozen.

What differs from the authors' code.

- The minimum is found by `elastic_net.py`, not by stochastic steps, and its penalty is the one that
  gives the wanted number of effective concepts; weights are truncated to that number.
- Projections are centred, which the intercepts undo, and scaled by one number, which the penalty
  undoes: neither changes the model.
- The residual is fitted to its minimum with a ridge chosen on held-out images, in place of 20
  epochs of Adam with a penalty too small to matter. It is fitted beside the largest number of
  concepts. What it says has no words: it is in the offset of explanations, and no number of texts
  bounds what a decision rests on, so `at` takes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.contributions import Contributions
from infopursuit.peers.elastic_net import Loss
from infopursuit.peers.heads import Standard
from infopursuit.peers.memory import Memory
from infopursuit.peers.peer import linear_contributions
from infopursuit.peers.sparse_logistic import SparseHeadPeer

ITERATIONS = 150


class PCBM(SparseHeadPeer):
    """Projections on a bank of concepts and a sparse head, one class against the rest.

    Args:
        texts: m texts.
        text_embeddings: (m, d) of them.
        ratio: share of the sparsifying penalty that is on absolute values.
        budgets: numbers of effective concepts.
        memory: shares the path of penalties with other fits; None for none.
    """

    loss: Loss = "one_vs_rest"

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        ratio: float = 0.99,
        budgets: Sequence[int] = BUDGETS,
        memory: Memory | None = None,
    ) -> None:
        self.texts, self.text_embeddings = texts, text_embeddings
        self.ratio, self.budgets, self.memory = ratio, budgets, memory

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        self.directions_ = texts
        mean, spread = Standard.of(X @ texts.T)
        self.standard_ = Standard(mean, spread.mean().expand_as(spread))
        self.heads_ = self._truncated_path(self.concepts(X), labels)
        self.budgets_ = tuple(sorted(self.heads_))


class HybridPCBM(PCBM):
    """PCBM-h: the scores of a PCBM and a linear residual of the embedding.

    Args:
        texts: m texts.
        text_embeddings: (m, d) of them.
        ridge: half of it weighs the squares of the residual's weights.
        ratio: share of the sparsifying penalty that is on absolute values.
        budgets: numbers of effective concepts; the largest is taken.
        memory: shares the path of penalties with other fits; None for none.

    Attributes:
        residual_: (d, c) weights of the embedding.
        residual_intercepts_: (c,).
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
        super().__init__(texts, text_embeddings, ratio, budgets, memory)
        self.ridge = ridge

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        super()._fit(X, labels, texts)
        count = max(self.budgets_)
        self.heads_, self.budgets_ = {count: self.heads_[count]}, ()
        frozen = self.head(self.concepts(X))
        self.residual_, self.residual_intercepts_ = fit_residual(X, labels, frozen, self.ridge)

    @property
    def head(self):
        """The linear head beside the residual."""
        return next(iter(self.heads_.values()))

    def _residual(self, X: Tensor) -> Tensor:
        return X @ self.residual_ + self.residual_intercepts_

    def _scores(self, X: Tensor) -> Tensor:
        return super()._scores(X) + self._residual(X)

    def _explain(self, X: Tensor) -> Contributions:
        weights, intercepts = self.head
        return linear_contributions(
            self.classes_,
            self.texts_,
            self.concepts(X),
            weights,
            intercepts.unsqueeze(0) + self._residual(X),
        )


def fit_residual(
    X: Float[Tensor, "n d"],
    labels: Int[Tensor, " n"],
    frozen: Float[Tensor, "n c"],
    ridge: float,
) -> tuple[Float[Tensor, "d c"], Float[Tensor, " c"]]:
    """Weights and intercepts that, added to frozen scores, minimise cross-entropy and a ridge."""
    weights = X.new_zeros(X.shape[1], frozen.shape[1]).requires_grad_()
    intercepts = X.new_zeros(frozen.shape[1]).requires_grad_()
    optimizer = torch.optim.LBFGS(
        [weights, intercepts], max_iter=ITERATIONS, history_size=10, line_search_fn="strong_wolfe"
    )

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = functional.cross_entropy(frozen + X @ weights + intercepts, labels)
        value = value + ridge / 2 * weights.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    return weights.detach(), intercepts.detach()
