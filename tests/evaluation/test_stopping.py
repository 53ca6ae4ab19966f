from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from infopursuit.evaluation.posteriors import PosteriorSummary, summarize
from infopursuit.evaluation.stopping import (
    StoppingPoint,
    stop_at_entropy,
    stop_at_max_probability,
    stop_at_stability,
    sweep,
)

PREDICTED = hnp.arrays(
    np.int64, st.tuples(st.integers(1, 6), st.integers(2, 9)), elements=st.integers(0, 2)
)


def first(budgets: int, holds: Callable[[int], bool]) -> int:
    """The slow reference: walk along the budgets of one image, T where the rule never holds."""
    for t in range(budgets):
        if holds(t):
            return t
    return budgets - 1


def unchanged(classes: list[int], t: int, steps: int) -> bool:
    return t >= steps and len(set(classes[t - steps : t + 1])) == 1


@given(PREDICTED, st.integers(1, 9))
def test_stability_agrees_with_walking_along_each_image(predicted: np.ndarray, steps: int) -> None:
    expected = [
        first(len(row), lambda t, row=row: unchanged(row, t, steps)) for row in predicted.tolist()
    ]
    assert stop_at_stability(predicted, steps).tolist() == expected


@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 6), st.integers(2, 9)),
        elements=st.floats(0, 1, width=32),
    ),
    st.floats(0, 1),
)
def test_thresholds_agree_with_walking_along_each_image(values: np.ndarray, limit: float) -> None:
    limit = float(np.float32(limit))
    above = [first(len(row), lambda t, row=row: row[t] >= limit) for row in values.tolist()]
    below = [first(len(row), lambda t, row=row: row[t] <= limit) for row in values.tolist()]
    assert stop_at_max_probability(values, limit).tolist() == above
    assert stop_at_entropy(values, limit).tolist() == below


def test_stability_needs_at_least_one_step() -> None:
    with pytest.raises(ValueError, match="expected 1 or more"):
        stop_at_stability(np.zeros((1, 3), dtype=np.int64), 0)


def summary_of(posteriors: list[list[list[float]]], labels: list[int]) -> PosteriorSummary:
    return summarize(torch.tensor(posteriors), torch.tensor(labels))


def test_sweep_of_two_images_by_hand() -> None:
    """Image 0 is sure after one query and wrong later; image 1 never gets sure."""
    summary = summary_of(
        [
            [[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]],
            [[0.5, 0.5], [0.6, 0.4], [0.4, 0.6]],
        ],
        [0, 1],
    )
    thresholds = {"max_probability": [0.85, 1.0], "entropy": [0.4], "stability": [1]}
    assert sweep(summary, thresholds) == [
        StoppingPoint("max_probability", 0.85, 1.5, 1.0),
        StoppingPoint("max_probability", 1.0, 2.0, 0.5),
        StoppingPoint("entropy", 0.4, 1.5, 1.0),
        StoppingPoint("stability", 1.0, 1.0, 0.5),
    ]


def test_a_classifier_that_is_sure_at_once_asks_nothing() -> None:
    summary = summary_of([[[0.99, 0.01], [0.99, 0.01]]], [0])
    assert sweep(summary, {"max_probability": [0.85]})[0].mean_length == 0.0


def test_stricter_thresholds_never_ask_less() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(50, 12, 4, generator=generator).cumsum(dim=1)
    summary = summarize(logits.softmax(dim=2), torch.randint(0, 4, (50,), generator=generator))
    thresholds = {
        "max_probability": [0.4, 0.6, 0.8, 0.95],
        "entropy": [1.2, 0.8, 0.4, 0.1],
        "stability": [1, 2, 4, 8],
    }
    for rule, values in thresholds.items():
        lengths = [point.mean_length for point in sweep(summary, {rule: values})]
        assert lengths == sorted(lengths), rule
