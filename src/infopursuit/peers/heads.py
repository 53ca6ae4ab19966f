"""Linear heads on concept scores: what they are, and what is summed to fit them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor


class Standard(NamedTuple):
    """Mean and spread of concept scores, by which they are standardised; (m,) each."""

    mean: Float[Tensor, " m"]
    spread: Float[Tensor, " m"]

    @classmethod
    def of(cls, concepts: Float[Tensor, "n m"]) -> Standard:
        """Those of training images; a score that never varies has the spread 1."""
        spread = concepts.std(dim=0, correction=0)
        return cls(concepts.mean(dim=0), torch.where(spread > 1e-8, spread, 1.0))

    def __call__(self, concepts: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        """Standardised scores."""
        return (concepts - self.mean) / self.spread


class Head(NamedTuple):
    """A linear head: scores are z W + b.

    Attributes:
        weights: W.
        intercepts: b.
    """

    weights: Float[Tensor, "m c"]
    intercepts: Float[Tensor, " c"]

    @property
    def effective_concepts(self) -> float:
        """NEC: non-zero weights for each class, on average."""
        return (self.weights != 0).sum().item() / self.weights.shape[1]

    def __call__(self, concepts: Float[Tensor, "n m"]) -> Float[Tensor, "n c"]:
        """Scores of the classes."""
        return concepts @ self.weights + self.intercepts


class Slabs:
    """The scores that each class has weights for, and ones for its intercept.

    Sums over images are taken one class after another: what a class needs fits the processor's
    cache, and no class pays for the texts of another. The a numbers of a class are its intercept,
    those of its active texts, and zeros up to the class with the most texts.

    Args:
        columns: (m + 1, n) scores of the texts, then ones.
        active: which texts each class has weights for.

    Attributes:
        there: (c, a) whether a number is any.
        penalised: (c, a) whether it is a weight.
    """

    def __init__(self, columns: Float[Tensor, "m1 n"], active: Bool[Tensor, "m c"]) -> None:
        counts = active.sum(dim=0)
        width = max(int(counts.max()), 1)
        self.texts, self.images = len(active), columns.shape[1]
        self.places = active.T.int().topk(width, dim=1, sorted=True).indices
        self.penalised = torch.arange(width + 1) <= counts.unsqueeze(1)
        self.there = self.penalised.clone()
        self.penalised[:, 0] = False
        ones = torch.tensor([self.texts])
        self.slabs = [
            columns[torch.cat([ones, places[:count]])]
            for places, count in zip(self.places, counts.tolist(), strict=True)
        ]

    def packed(self, head: Head) -> Float[Tensor, "c a"]:
        """The numbers of a head."""
        weights = head.weights.T.gather(1, self.places)
        return torch.cat([head.intercepts[:, None], weights], dim=1) * self.there

    def head(self, values: Float[Tensor, "c a"]) -> Head:
        """The head of such numbers."""
        weights = values.new_zeros(len(values), self.texts)
        weights.scatter_add_(1, self.places, values[:, 1:] * self.there[:, 1:])
        return Head(weights.T.contiguous(), values[:, 0].clone())

    def logits(self, values: Float[Tensor, "c a"]) -> Float[Tensor, "n c"]:
        """The scores of the classes."""
        found = values.new_empty(len(values), self.images)
        for slab, row, out in zip(self.slabs, values, found, strict=True):
            torch.mv(slab.T, row[: len(slab)], out=out)
        return found.T

    def slopes(
        self, residual: Float[Tensor, "n c"], curvature: Float[Tensor, "n c"]
    ) -> tuple[Float[Tensor, "c a"], Float[Tensor, "c a a"]]:
        """First and second derivatives of the loss, given those of each image's."""
        c, a = self.there.shape
        gradient, bent = residual.new_zeros(c, a), residual.new_zeros(c, a, a)
        each = zip(self.slabs, residual.T.contiguous(), curvature.T.contiguous(), strict=True)
        for place, (slab, left, weight) in enumerate(each):
            size = len(slab)
            gradient[place, :size] = slab @ left
            bent[place, :size, :size] = (slab * weight) @ slab.T
        return gradient / self.images, bent / self.images
