"""The numbers of the baselines: accuracies on test images, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool

from infopursuit.baselines.baseline import Baseline
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.evaluation.bootstrap import accuracy_interval, seed_means, two_level_intervals
from infopursuit.evaluation.run_metrics import BUDGETS


def correct(baseline: Baseline, images: LabelledImages) -> Bool[np.ndarray, " n"]:
    """Whether each image's predicted label is its own; of a fitted baseline."""
    return np.equal(baseline.predict(images.embeddings), images.labels.numpy())


def accuracy_metrics(
    baselines: Mapping[str, Baseline], test: LabelledImages, resamples: int
) -> dict[str, float]:
    """`NAME_accuracy` in [0, 1], with the edges of its 95 % interval over test images.

    Args:
        baselines: fitted, by name.
        test: images to classify.
        resamples: of the test images.
    """
    metrics: dict[str, float] = {}
    for name, baseline in baselines.items():
        found = accuracy_interval(correct(baseline, test), resamples)
        metrics[f"{name}_accuracy"] = found.value
        metrics[f"{name}_accuracy_low"] = found.low
        metrics[f"{name}_accuracy_high"] = found.high
    return metrics


def budgets_up_to(longest: int) -> list[int]:
    """The numbers of questions that are measured: those of BUDGETS below T, and T."""
    return [*(t for t in BUDGETS if t < longest), longest]


def fixed_order_metrics(
    name: str,
    correct_at: Mapping[int, Bool[np.ndarray, "s n"]],
    resamples: int,
) -> dict[str, float]:
    """`NAME_at_t` in [0, 1] for each budget, and `NAME_at_T` with its 95 % interval.

    Args:
        name: of the baseline.
        correct_at: number of texts asked -> whether images are right, for s orders of the texts.
        resamples: of orders and test images.
    """
    longest = max(correct_at)
    metrics = {f"{name}_at_{t}": float(correct_at[t].mean()) for t in BUDGETS if t in correct_at}
    means = seed_means(correct_at[longest][:, :, None], resamples)
    (found,) = two_level_intervals(means)
    metrics[f"{name}_at_T"] = found.value
    metrics[f"{name}_at_T_low"] = found.low
    metrics[f"{name}_at_T_high"] = found.high
    return metrics


def correct_of_all(baselines: Sequence[Baseline], test: LabelledImages) -> Bool[np.ndarray, "s n"]:
    """Whether each of s fitted baselines is right about each image."""
    return np.stack([correct(each, test) for each in baselines])
