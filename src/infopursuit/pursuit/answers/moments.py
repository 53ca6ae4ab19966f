"""Means of the classes and scatter within them, in one pass over the images."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

# Share of the scatter of all images that is expected within classes, before there are images.
SHARE_WITHIN = 0.7
# How many images of each class that expectation counts for.
PSEUDO_IMAGES = 2.0
# Steps of a whole sum in 1: finer than float32, in which images are.
STEPS = 2.0**32


class ClassMoments(NamedTuple):
    """First and second moments of images, by class; float64.

    Attributes:
        weights: the images of each class, or the sum of their weights.
        within: the mean scatter of images around the means of their classes.
    """

    weights: Float[Tensor, " c"]
    means: Float[Tensor, "c d"]
    within: Float[Tensor, "d d"]

    @property
    def prior(self) -> Float[Tensor, " c"]:
        """(c,) float32, the share of each class."""
        return (self.weights / self.weights.sum()).float()

    @property
    def total(self) -> Float[Tensor, "d d"]:
        """The scatter of all images, of n - 1 degrees of freedom."""
        images = self.weights.sum()
        share = (self.weights / images).unsqueeze(1)
        deviations = self.means - (share * self.means).sum(dim=0)
        between = deviations.T @ (share * deviations)
        return (self.within + between) * images / (images - 1).clamp_min(1)

    @property
    def discounted(self) -> Float[Tensor, "d d"]:
        """The scatter within classes that directions discount (`fit_score_map`).

        Few images tell little of it: it is drawn towards a scatter that is the same in every
        direction. That counts for two images of each class, and for more if all of these images are
        fewer than the dimensions. The shape of the total scatter is not used, as classes differ
        along it.
        """
        width = len(self.within)
        images, classes = self.weights.sum(), len(self.weights)
        freedom = (images - classes).clamp_min(0)
        pseudo = (width - freedom).clamp_min(PSEUDO_IMAGES * classes)
        even = self.total.diagonal().mean() * torch.eye(width, dtype=torch.float64)
        return (self.within * images + pseudo * SHARE_WITHIN * even) / (freedom + pseudo)

    @property
    def expected(self) -> Float[Tensor, "d d"]:
        """The covariance to expect of new images of a class around its mean.

        It is drawn towards a share of all scatter, half of it as it is and half the same in every
        direction, which counts for as many images as an eighth of the dimensions.
        """
        images, classes, total = self.weights.sum(), len(self.weights), self.total
        pseudo = len(total) / 8
        even = total.diagonal().mean() * torch.eye(len(total), dtype=torch.float64)
        own = self.within * images + pseudo * SHARE_WITHIN * (total + even) / 2
        return own / ((images - classes).clamp_min(0) + pseudo)


class MomentSums(NamedTuple):
    """What moments are made of; the sums of two sets of images add up.

    They are float64, or `whole`: int64 in steps of 1 / STEPS. Whole numbers add up to the same in
    any order: it does not matter who added first. Of unit-norm images 2**31 fit before a sum
    overflows.

    Attributes:
        totals: the images of each class, or the sum of their weights.
        sums: the sum of the images of each class.
        squares: the sum of the outer products of all images.
    """

    totals: Shaped[Tensor, " c"]
    sums: Shaped[Tensor, "c d"]
    squares: Shaped[Tensor, "d d"]

    def moments(self) -> ClassMoments:
        """Return the moments; each class has an image of positive weight."""
        totals, sums, squares = (
            each if each.is_floating_point() else each.double() / STEPS for each in self
        )
        means = sums / totals.unsqueeze(1)
        between = means.T @ (totals.unsqueeze(1) * means)
        return ClassMoments(totals, means, (squares - between) / totals.sum())

    def whole(self) -> MomentSums:
        """Return the same in whole numbers of 1 / STEPS."""
        return MomentSums(*((each * STEPS).round().long() for each in self))

    def plus(self, other: MomentSums) -> MomentSums:
        """Return the sums of both sets of images."""
        return MomentSums(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def class_moments(
    blocks: Iterable[tuple[slice, Float[Tensor, "m d"]]],
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
) -> ClassMoments:
    """Return the moments of n >= 1 images, from (place, rows) of all of them in blocks.

    The labels are 0..c-1, each with an image of positive weight; without weights each counts 1.
    """
    sums = moment_sums(blocks, labels, weights)
    assert sums is not None
    return sums.moments()


def moment_sums(
    blocks: Iterable[tuple[slice, Float[Tensor, "m d"]]],
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
    classes: int = 0,
) -> MomentSums | None:
    """Return what the moments of n images are made of; None without images.

    `classes` is c, if some class may have no image here.
    """
    weights = torch.ones(len(labels), dtype=torch.float64) if weights is None else weights
    totals = torch.bincount(labels, weights, minlength=classes)
    sums = squares = None
    for place, rows in blocks:
        weighted = rows * weights[place].to(rows.dtype).unsqueeze(1)
        if sums is None or squares is None:
            sums = torch.zeros(len(totals), rows.shape[1], dtype=torch.float64)
            squares = torch.zeros(rows.shape[1], rows.shape[1], dtype=torch.float64)
        sums.index_add_(0, labels[place], weighted.double())
        squares += weighted.T @ rows
    if sums is None or squares is None:
        return None
    return MomentSums(totals, sums, squares)
