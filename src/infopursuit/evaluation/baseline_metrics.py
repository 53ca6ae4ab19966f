"""The numbers of the baselines: accuracies on test images, with intervals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool

from infopursuit.evaluation.bootstrap import accuracy_interval, seed_means, two_level_intervals
from infopursuit.evaluation.run_metrics import BUDGETS


def accuracy_metrics(
    correct: Mapping[str, Bool[np.ndarray, " n"]], resamples: int
) -> dict[str, float]:
    """Return `NAME_accuracy` in [0, 1], with the edges of its 95 % interval over test images.

    `correct` says by the name of a baseline whether it is right about each image.
    """
    metrics: dict[str, float] = {}
    for name, hits in correct.items():
        found = accuracy_interval(hits, resamples)
        metrics[f"{name}_accuracy"] = found.value
        metrics[f"{name}_accuracy_low"] = found.low
        metrics[f"{name}_accuracy_high"] = found.high
    return metrics


def budgets_up_to(longest: int) -> list[int]:
    """Return the numbers of questions that are measured: those of BUDGETS below T, and T."""
    return [*(t for t in BUDGETS if t < longest), longest]


def fixed_order_metrics(
    name: str, correct_at: Mapping[int, Bool[np.ndarray, "s n"]], resamples: int
) -> dict[str, float]:
    """Return `NAME_at_t` in [0, 1] for each budget, and `NAME_at_T` with its 95 % interval."""
    longest = max(correct_at)
    metrics = {f"{name}_at_{t}": float(correct_at[t].mean()) for t in BUDGETS if t in correct_at}
    means = seed_means(correct_at[longest][:, :, None], resamples)
    (accuracy,) = two_level_intervals(means)
    metrics[f"{name}_at_T"] = accuracy.value
    metrics[f"{name}_at_T_low"] = accuracy.low
    metrics[f"{name}_at_T_high"] = accuracy.high
    return metrics
