"""Bootstrap confidence intervals over test images, and of the difference between two runs.

Mean accuracy and AUC are both means over images of per-image values. Where a method was trained
with several seeds, a resample draws seeds as well as images.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped
from scipy.stats import bootstrap

# The ends of a 95 % interval.
ENDS = (0.025, 0.975)
# Numbers that are drawn at once: 256 MB.
DRAWN = 2**25


class Interval(NamedTuple):
    """A value measured on the test images with its confidence interval."""

    value: float
    low: float
    high: float


def resampled_means(
    values: Shaped[np.ndarray, "n m"], resamples: int, seed: int = 0
) -> Float[np.ndarray, "r m"]:
    """Return float64 means over images of r bootstrap resamples of the rows."""
    drawn = bootstrap(
        (values.T.astype(np.float64),),
        np.mean,
        n_resamples=resamples,
        batch=max(1, DRAWN // values.size),
        axis=1,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return drawn.bootstrap_distribution.T


def percentiles(
    samples: Float[np.ndarray, "r ..."],
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """Return the ends of the percentile interval of resampled values, along the first axis."""
    low, high = np.quantile(samples, ENDS, axis=0)
    return np.asarray(low), np.asarray(high)


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


def two_level_intervals(means: SeedMeans) -> list[Interval]:
    """Return the m means over seeds and images with 95 % intervals over resamples of both.

    With one seed these are the intervals over images alone. Equal seeds are drawn alike, so that
    two methods with the same seeds are compared on the same draws.
    """
    resamples, seeds, _ = means.resampled.shape
    # Their own stream: the draws of images (`resampled_means`) start from the plain seed.
    draw = np.random.default_rng((0, 1))
    shares = draw.multinomial(seeds, np.full(seeds, 1 / seeds), size=resamples) / seeds
    low, high = percentiles(np.einsum("rs,rsm->rm", shares, means.resampled))
    edges = zip(means.measured.mean(axis=0).tolist(), low.tolist(), high.tolist(), strict=True)
    return [Interval(*each) for each in edges]


def accuracy_interval(correct: Bool[np.ndarray, " n"], resamples: int, seed: int = 0) -> Interval:
    """Return the accuracy of a classifier with its 95 % interval over test images."""
    low, high = percentiles(resampled_means(correct[:, None], resamples, seed))
    return Interval(float(correct.mean()), float(low[0]), float(high[0]))
