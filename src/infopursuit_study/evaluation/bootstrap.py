"""Bootstrap confidence intervals over test images, and of the difference between two runs.

A resample of n images is a row of multinomial counts, so the means of all resamples are one matrix
product. Mean accuracy and AUC are both means over images of per-image values. Where a method was
trained with several seeds, a resample draws seeds as well as images.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

LEVEL = 0.95
# Resamples whose counts are held at once: 64 x 50,000 images are 26 MB.
BLOCK = 64


class Interval(NamedTuple):
    """A value measured on the test images with its confidence interval."""

    value: float
    low: float
    high: float


def resampled_means(
    values: Shaped[np.ndarray, "n m"], resamples: int, seed: int = 0
) -> Float[np.ndarray, "r m"]:
    """Return float64 means over images of r bootstrap resamples of the rows."""
    n = len(values)
    rows = values.astype(np.float64)
    draw = np.random.default_rng(seed)
    means = np.empty((resamples, values.shape[1]))
    for start in range(0, resamples, BLOCK):
        block = means[start : start + BLOCK]
        picks = draw.integers(n, size=(len(block), n)) + np.arange(len(block))[:, None] * n
        counts = np.bincount(picks.ravel(), minlength=picks.size).reshape(len(block), n)
        np.matmul(counts.astype(np.float64), rows, out=block)
        block /= n
    return means


def percentiles(
    samples: Float[np.ndarray, "r ..."], level: float = LEVEL
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """Return the ends of the percentile interval of resampled values, along the first axis."""
    tail = (1 - level) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0)
    return np.asarray(low), np.asarray(high)


def seed_shares(seeds: int, resamples: int, seed: int = 0) -> Float[np.ndarray, "r s"]:
    """Draw the shares of s training seeds in r resamples of them; rows sum to 1.

    Equal arguments give equal shares, so that two methods with the same seeds are compared on the
    same draws.
    """
    # Its own stream: the draws of images (`resampled_means`) start from the plain seed.
    draw = np.random.default_rng((seed, 1))
    return draw.multinomial(seeds, np.full(seeds, 1 / seeds), size=resamples) / seeds


class SeedMeans(NamedTuple):
    """Means over images for each of s training seeds, and the same over resampled images.

    Differences of two of them, field by field, are those of a paired comparison.

    Attributes:
        measured: on the images as they are.
        resampled: on r resamples of the images, the same images for every seed.
    """

    measured: Float[np.ndarray, "s m"]
    resampled: Float[np.ndarray, "r s m"]


def seed_means(values: Shaped[np.ndarray, "s n m"], resamples: int, seed: int = 0) -> SeedMeans:
    """Average m numbers of each image, for each of s seeds; values as in `resampled_means`."""
    seeds, n, m = values.shape
    columns = np.moveaxis(values, 0, 1).reshape(n, seeds * m)
    means = resampled_means(columns, resamples, seed).reshape(resamples, seeds, m)
    return SeedMeans(values.mean(axis=1, dtype=np.float64), means)


def two_level_intervals(means: SeedMeans, seed: int = 0) -> list[Interval]:
    """Return the m means over seeds and images with 95 % intervals over resamples of both.

    With one seed these are the intervals over images alone.
    """
    resamples, seeds, _ = means.resampled.shape
    shares = seed_shares(seeds, resamples, seed)
    low, high = percentiles(np.einsum("rs,rsm->rm", shares, means.resampled))
    edges = zip(means.measured.mean(axis=0).tolist(), low.tolist(), high.tolist(), strict=True)
    return [Interval(*each) for each in edges]


def accuracy_interval(correct: Bool[np.ndarray, " n"], resamples: int, seed: int = 0) -> Interval:
    """Return the accuracy of a classifier with its 95 % interval over test images."""
    low, high = percentiles(resampled_means(correct[:, None], resamples, seed))
    return Interval(float(correct.mean()), float(low[0]), float(high[0]))
