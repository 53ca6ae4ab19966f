"""When to stop asking: how long explanations get, and how accurate they stay.

The rules themselves are `infopursuit.explanation.stopping.StoppingRule`, the same that end an
explanation. Here each is tried at several thresholds, alone and without a limit to the questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch

from infopursuit.evaluation.posteriors import PosteriorSummary
from infopursuit.explanation.stopping import StoppingRule


class Stopped(NamedTuple):
    """What a stopping rule gives on the test split.

    Attributes:
        mean_length: mean number of questions asked; all T where the rule never held.
        accuracy: share of images whose predicted class at the stop is the label.
        confident: share of images for which a condition held, before the questions ran out.
    """

    mean_length: float
    accuracy: float
    confident: float


class StoppingPoint(NamedTuple):
    """One condition at one threshold.

    Attributes:
        rule: a key of `CONDITIONS`.
        threshold: a probability, an entropy in nats, or a number of questions.
        mean_length, accuracy: as in `Stopped`.
    """

    rule: str
    threshold: float
    mean_length: float
    accuracy: float


CONDITIONS = {
    "max_probability": lambda p: StoppingRule(probability=p, max_queries=None),
    "entropy": lambda h: StoppingRule(probability=None, max_queries=None, entropy=h),
    "stability": lambda m: StoppingRule(probability=None, max_queries=None, stability=int(m)),
}


def stopped(summary: PosteriorSummary, rule: StoppingRule) -> Stopped:
    """Mean length and accuracy where each image stops after its own number of questions.

    Args:
        summary: of the posteriors at t = 0..T.
        rule: when to stop; T at the latest.

    Raises:
        InputError: a value of the rule is out of its range.
    """
    predicted, highest, entropy = (
        torch.from_numpy(values)
        for values in (summary.predicted, summary.max_probability, summary.entropy)
    )
    counts, confident = rule.checked().steps_of(predicted, highest, entropy)
    steps = counts.numpy()
    correct = summary.correct[np.arange(len(steps)), steps]
    return Stopped(float(steps.mean()), float(correct.mean()), float(confident.numpy().mean()))


def sweep(
    summary: PosteriorSummary, thresholds: Mapping[str, Sequence[int | float]]
) -> list[StoppingPoint]:
    """Every condition at every threshold, in the order given.

    Args:
        summary: of the posteriors at t = 0..T.
        thresholds: condition -> thresholds; the conditions are the keys of `CONDITIONS`.
    """
    return [
        StoppingPoint(name, float(value), *stopped(summary, CONDITIONS[name](value))[:2])
        for name, values in thresholds.items()
        for value in values
    ]
