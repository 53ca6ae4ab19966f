"""Accuracy after exactly t queries, for t = 0..T, and the area under that curve."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float


def accuracy_curve(correct: Bool[np.ndarray, "n t"]) -> Float[np.ndarray, " t"]:
    """Acc@t for t = 0..T: (T + 1,) float64 shares in [0, 1] of (n, T + 1) correct predictions.

    One byte for each image and budget is all it needs, so the posteriors of a large test split
    can be reduced batch by batch (`infopursuit.evaluation.posteriors`) and never be held at once.
    """
    return correct.sum(axis=0) / len(correct)


def area_under_curve(accuracies: Float[np.ndarray, "*many t"]) -> Float[np.ndarray, "*many"]:
    """AUC, the mean of Acc@t over t = 1..T: the guess before any query does not count.

    Args:
        accuracies: (..., T + 1) values at t = 0..T with T >= 1; one curve or many.
    """
    return np.asarray(accuracies[..., 1:].mean(axis=-1))
