"""Means of the classes and scatter within them, in one pass over the images."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class ClassMoments(NamedTuple):
    """First and second moments of images, by class.

    Attributes:
        weights: (c,) float64, the images of each class, or the sum of their weights.
        means: (c, d) float64.
        within: (d, d) float64, the mean scatter of images around the means of their classes.
    """

    weights: Float[Tensor, " c"]
    means: Float[Tensor, "c d"]
    within: Float[Tensor, "d d"]

    @property
    def prior(self) -> Float[Tensor, " c"]:
        """(c,) float32, the share of each class."""
        return (self.weights / self.weights.sum()).float()

    def score_means(self, directions: Float[Tensor, "k d"]) -> Float[Tensor, "c k"]:
        """The mean score of each class along each direction; float32."""
        return (self.means @ directions.double().T).float()

    def score_spread(self, directions: Float[Tensor, "k d"]) -> Float[Tensor, " k"]:
        """The standard deviation of scores within classes; float32."""
        of = directions.double()
        return (of @ self.within * of).sum(dim=1).clamp_min(0).sqrt().float()


def class_moments(
    blocks: Iterable[tuple[slice, Float[Tensor, "m d"]]],
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
) -> ClassMoments:
    """Moments of n images that come in blocks.

    Args:
        blocks: (place, rows) of all images.
        labels: classes 0..c-1, each with an image of positive weight.
        weights: (n,) float64 of the images; None for 1 each.
    """
    weights = torch.ones(len(labels), dtype=torch.float64) if weights is None else weights
    totals = torch.bincount(labels, weights)
    sums = squares = None
    for place, rows in blocks:
        weighted = rows * weights[place].to(rows.dtype).unsqueeze(1)
        if sums is None or squares is None:
            sums = torch.zeros(len(totals), rows.shape[1], dtype=torch.float64)
            squares = torch.zeros(rows.shape[1], rows.shape[1], dtype=torch.float64)
        sums.index_add_(0, labels[place], weighted.double())
        squares += weighted.T @ rows
    assert sums is not None and squares is not None  # there is an image
    means = sums / totals.unsqueeze(1)
    between = means.T @ (totals.unsqueeze(1) * means)
    return ClassMoments(totals, means, (squares - between) / totals.sum())
