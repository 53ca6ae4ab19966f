from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.evaluation.calibration import expected_calibration_error


def slow_error(confidence: list[float], correct: list[bool], bins: int) -> float:
    """One budget, one interval after the other, with the same edges."""
    edges = np.linspace(0.0, 1.0, bins + 1).tolist()
    error = 0.0
    for low, high in pairwise(edges):
        inside = [i for i, value in enumerate(confidence) if low < value <= high]
        if inside:
            accuracy = sum(correct[i] for i in inside) / len(inside)
            mean = sum(confidence[i] for i in inside) / len(inside)
            error += len(inside) / len(confidence) * abs(accuracy - mean)
    return error


@given(st.integers(0, 10_000), st.integers(2, 20))
def test_error_agrees_with_a_slow_reference(seed: int, bins: int) -> None:
    draw = np.random.default_rng(seed)
    confidence = draw.uniform(0.01, 1.0, size=(30, 4)).astype(np.float32)
    correct = draw.random((30, 4)) < 0.6
    expected = [
        slow_error(confidence[:, t].tolist(), correct[:, t].tolist(), bins) for t in range(4)
    ]
    assert expected_calibration_error(confidence, correct, bins) == pytest.approx(expected)


def test_known_values() -> None:
    sure_and_right = expected_calibration_error(np.ones((4, 1)), np.ones((4, 1), dtype=bool), 15)
    sure_and_wrong = expected_calibration_error(np.ones((4, 1)), np.zeros((4, 1), dtype=bool), 15)
    assert sure_and_right.tolist() == [0.0]
    assert sure_and_wrong.tolist() == [1.0]


def test_a_probability_rounded_over_one_counts_in_the_last_interval() -> None:
    over = np.nextafter(np.float32(1), np.float32(2)) * np.ones((1, 1), dtype=np.float32)
    assert expected_calibration_error(over, np.ones((1, 1), dtype=bool), 10)[0] < 1e-6


def test_calibrated_predictions_have_little_error() -> None:
    draw = np.random.default_rng(0)
    confidence = draw.uniform(0.2, 1.0, size=(40_000, 1))
    correct = draw.random((40_000, 1)) < confidence
    assert expected_calibration_error(confidence, correct, 15)[0] < 0.02
