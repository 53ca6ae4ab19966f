"""LM4CV: a concise set of attributes by learning to search.

Yan, Wang, Zhong, Dong, He, Lu, Wang, Shang and McAuley, "Learning Concise and Descriptive
Attributes for Visual Recognition", ICCV 2023. A dictionary of K vectors and a linear head are
trained by cross-entropy, with the vectors kept among texts by the Mahalanobis distance to the
distribution of text embeddings; then each vector in turn takes the nearest
text that no earlier one took, and a linear head is trained on the scores of these K texts.

What differs from the authors' code. K is each number of texts. The dictionary starts with K random
texts, not with random vectors, which would have to find the distribution of texts first. The
covariance of the texts, which has less than full rank where texts are few, gets a small ridge.
Training is full-batch. The final head is a logistic regression (scikit-learn) in place of Adam's.
The distance is divided by its mean over the texts, as theirs with a power of one. Every class may
use every text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.selected_texts import SelectedTexts


class LM4CV(SelectedTexts):
    """A logistic regression on K texts near a learned dictionary.

    Args:
        texts: m texts.
        text_embeddings: (m, d) of them.
        weight: of the Mahalanobis distance in the loss.
        updates: steps of Adam.
        learning_rate: of them.
        strength: of the final regression, as scikit-learn's C.
        budgets: K.
        random_state: of the initial dictionary.

    Attributes:
        orders_: for each K, rows of its texts.
    """

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        weight: float = 1.0,
        updates: int = 500,
        learning_rate: float = 0.03,
        strength: float = 1.0,
        budgets: Sequence[int] = BUDGETS,
        random_state: int = 0,
    ) -> None:
        super().__init__(texts, text_embeddings, None, strength, budgets)
        self.weight, self.updates, self.learning_rate = weight, updates, learning_rate
        self.random_state = random_state

    def _order(self, X: Tensor, labels: Tensor) -> list[int]:
        generator = torch.Generator().manual_seed(self.random_state)
        distances = Mahalanobis(self.directions_)
        self.orders_ = {
            count: self._searched(X, labels, min(count, len(self.texts_)), distances, generator)
            for count in sorted(self.budgets)
        }
        return []

    def _searched(
        self,
        X: Float[Tensor, "n d"],
        labels: Int[Tensor, " n"],
        count: int,
        distances: Mahalanobis,
        generator: torch.Generator,
    ) -> list[int]:
        """Rows of the texts nearest to the learned dictionary, each once."""
        c = int(labels.max()) + 1
        start = torch.randperm(len(self.directions_), generator=generator)[:count]
        vectors = self.directions_[start].clone().requires_grad_()
        weights = (torch.randn(count, c, generator=generator) / count**0.5).requires_grad_()
        intercepts = torch.zeros(c, requires_grad=True)
        optimizer = torch.optim.Adam([vectors, weights, intercepts], lr=self.learning_rate)
        for _ in range(self.updates):
            optimizer.zero_grad()
            scores = X @ vectors.T
            scores = (scores - scores.mean(dim=0)) / scores.std(dim=0).clamp_min(1e-6)
            loss = functional.cross_entropy(scores @ weights + intercepts, labels)
            away = (distances(functional.normalize(vectors, dim=1)).mean() - 1).abs()
            (loss + self.weight * away).backward()
            optimizer.step()
        return nearest_once(functional.normalize(vectors.detach(), dim=1), self.directions_)

    def _codes(self, X: Tensor, counts: Sequence[int]) -> dict[int, Tensor]:
        seen, found = self._seen(X), {}
        for count in counts:
            found[count] = torch.zeros_like(seen)
            asked = self.orders_[count]
            found[count][:, asked] = seen[:, asked]
        return found


class Mahalanobis:
    """The distance to the distribution of texts, as a multiple of its mean over them."""

    def __init__(self, texts: Float[Tensor, "m d"]) -> None:
        self.mean = texts.mean(dim=0)
        covariance = torch.cov(texts.T)
        ridge = 1e-2 * covariance.diagonal().mean() * torch.eye(texts.shape[1])
        self.inverse = torch.linalg.inv(covariance + ridge)
        self.usual = self._distances(texts).mean()

    def _distances(self, rows: Float[Tensor, "k d"]) -> Float[Tensor, " k"]:
        off = rows - self.mean
        return ((off @ self.inverse) * off).sum(dim=1)

    def __call__(self, rows: Float[Tensor, "k d"]) -> Float[Tensor, " k"]:
        """Squared distances of vectors; 1 is usual for a text."""
        return self._distances(rows) / self.usual


def nearest_once(vectors: Float[Tensor, "k d"], texts: Float[Tensor, "m d"]) -> list[int]:
    """For each vector in turn the nearest text that no earlier one took."""
    close = vectors @ texts.T
    taken: list[int] = []
    for row in close:
        row[taken] = -torch.inf
        taken.append(int(row.argmax()))
    return taken
