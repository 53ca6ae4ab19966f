"""Does a stated probability mean what it says: expected calibration error at each budget."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float


def expected_calibration_error(
    confidence: Float[np.ndarray, "n t"], correct: Bool[np.ndarray, "n t"], bins: int
) -> Float[np.ndarray, " t"]:
    """ECE after t = 0..T queries (Guo et al. 2017, equation 3).

    Images are sorted into `bins` equal intervals ((i - 1) / bins, i / bins] of confidence; the
    error is the mean over images of |accuracy - mean confidence| of their interval.

    Args:
        confidence: (n, T + 1) probability of the predicted class, in [0, 1].
        correct: (n, T + 1) whether that class is the label.
        bins: number of intervals.

    Returns:
        (T + 1,) float64 in [0, 1].
    """
    images, budgets = confidence.shape
    confidence = confidence.astype(np.float64)
    edges = np.linspace(0.0, 1.0, bins + 1)
    # Rounding can push a float32 probability a little over 1; it belongs to the last interval.
    interval = np.clip(np.digitize(confidence, edges, right=True) - 1, 0, bins - 1)
    cell = (interval + np.arange(budgets) * bins).ravel()
    gap = np.bincount(
        cell, weights=(correct - confidence).ravel(), minlength=budgets * bins
    ).reshape(budgets, bins)
    return np.abs(gap).sum(axis=1) / images
