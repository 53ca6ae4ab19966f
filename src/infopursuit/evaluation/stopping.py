"""When to stop asking: how long explanations get, and how accurate they stay.

Three rules, each with a threshold: the largest posterior probability is at least p, the entropy of
the posterior is at most h nats (section 3 of the paper), or the predicted class has not changed for
m queries. An image for which a rule never holds is asked all T queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from infopursuit.evaluation.posteriors import PosteriorSummary


class StoppingPoint(NamedTuple):
    """What one rule at one threshold gives on the test split.

    Attributes:
        rule: `max_probability`, `entropy` or `stability`.
        threshold: p, h in nats, or m in queries.
        mean_length: mean number of queries asked, T where the rule never held.
        accuracy: share of images whose predicted class at the stop is the label.
    """

    rule: str
    threshold: float
    mean_length: float
    accuracy: float


def first_holding(holds: Bool[np.ndarray, "n t"]) -> Int[np.ndarray, " n"]:
    """The first t = 0..T at which a rule holds, T where it never does; (n,) int64."""
    return np.where(holds.any(axis=1), holds.argmax(axis=1), holds.shape[1] - 1)


def stop_at_max_probability(
    max_probability: Float[np.ndarray, "n t"], threshold: float
) -> Int[np.ndarray, " n"]:
    """Queries asked until the largest posterior probability is >= `threshold`; (n,) int64.

    A classifier that is sure enough before the first query asks none.
    """
    return first_holding(max_probability >= threshold)


def stop_at_entropy(entropy: Float[np.ndarray, "n t"], threshold: float) -> Int[np.ndarray, " n"]:
    """Queries asked until the entropy of the posterior is <= `threshold` nats; (n,) int64."""
    return first_holding(entropy <= threshold)


def stop_at_stability(predicted: Int[np.ndarray, "n t"], steps: int) -> Int[np.ndarray, " n"]:
    """Queries asked until the last `steps` of them left the predicted class as it was; (n,) int64.

    The prediction before the first query takes part: with `steps` = 2 the earliest stop is t = 2,
    where the classes predicted at t = 0, 1 and 2 agree.

    Raises:
        ValueError: `steps` is less than 1.
    """
    if steps < 1:
        raise ValueError(f"steps is {steps}; expected 1 or more")
    budgets = np.arange(predicted.shape[1])
    changed = np.zeros(predicted.shape, dtype=bool)
    changed[:, 1:] = predicted[:, 1:] != predicted[:, :-1]
    last_change = np.maximum.accumulate(np.where(changed, budgets, 0), axis=1)
    return first_holding(budgets - last_change >= steps)


def at_stop(
    summary: PosteriorSummary, stops: Int[np.ndarray, " n"], rule: str, threshold: float
) -> StoppingPoint:
    """Mean length and accuracy where each image stops after its own number of queries."""
    correct = summary.correct[np.arange(len(stops)), stops]
    return StoppingPoint(rule, threshold, float(stops.mean()), float(correct.mean()))


def sweep(
    summary: PosteriorSummary, thresholds: Mapping[str, Sequence[int | float]]
) -> list[StoppingPoint]:
    """Every rule at every threshold, in the order given.

    Args:
        summary: of the posteriors at t = 0..T.
        thresholds: rule -> thresholds; the rules are the keys of `RULES`.
    """
    points = []
    for rule, values in thresholds.items():
        for value in values:
            points.append(at_stop(summary, RULES[rule](summary, value), rule, float(value)))
    return points


RULES = {
    "max_probability": lambda summary, p: stop_at_max_probability(summary.max_probability, p),
    "entropy": lambda summary, h: stop_at_entropy(summary.entropy, h),
    "stability": lambda summary, m: stop_at_stability(summary.predicted, int(m)),
}
