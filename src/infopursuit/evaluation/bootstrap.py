"""Bootstrap confidence intervals over test images, and of the difference between two runs.

A resample of n images is a row of multinomial counts, so the means of all resamples are one matrix
product. Mean accuracy and AUC are both means over images of per-image values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

from infopursuit.evaluation.budget_curves import area_under_curve

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
    """Means over images of r bootstrap resamples of the rows.

    Args:
        values: (n, m) numbers or bools, one row an image.
        resamples: r.
        seed: equal seeds and equal n draw equal resamples, whatever the values.

    Returns:
        (r, m) float64.
    """
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
    """Lower and upper ends of the percentile interval of resampled values, along the first axis."""
    tail = (1 - level) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0)
    return np.asarray(low), np.asarray(high)


def accuracy_interval(correct: Bool[np.ndarray, " n"], resamples: int, seed: int = 0) -> Interval:
    """Accuracy of one classifier with its 95 % interval over test images."""
    low, high = percentiles(resampled_means(correct[:, None], resamples, seed))
    return Interval(float(correct.mean()), float(low[0]), float(high[0]))


def auc_difference(
    first: Bool[np.ndarray, "n t"],
    second: Bool[np.ndarray, "n t"],
    resamples: int,
    seed: int = 0,
) -> Interval:
    """AUC of the first run less that of the second, with the paired 95 % interval.

    Both runs answer the same resampled images, so what makes an image hard for both cancels.

    Args:
        first, second: (n, T + 1) correct predictions of two runs, row for row the same images.
    """
    difference = first.astype(np.float64) - second.astype(np.float64)
    # The difference of each image's own areas: means over images commute with means over t.
    per_image = area_under_curve(difference)[:, None]
    low, high = percentiles(resampled_means(per_image, resamples, seed))
    return Interval(float(per_image.mean()), float(low[0]), float(high[0]))
