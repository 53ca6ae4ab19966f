"""Accuracies of baselines, with intervals at the largest budget."""

import numpy as np
import pytest

from infopursuit_study.evaluation.bootstrap import (
    accuracy_interval,
    seed_means,
    two_level_intervals,
)


def test_seeds_that_disagree_widen_the_interval_and_equal_ones_do_not() -> None:
    draw = np.random.default_rng(0)
    alike = np.repeat(draw.random((1, 400, 1)) < 0.7, 5, axis=0)
    apart = draw.random((5, 400, 1)) < np.array([0.5, 0.6, 0.7, 0.8, 0.9])[:, None, None]
    (one,), (many,) = (two_level_intervals(seed_means(each, 2000)) for each in (alike, apart))
    assert one == pytest.approx(accuracy_interval(alike[0, :, 0], 2000))
    assert many.value == pytest.approx(apart.mean())
    # Variances add: of the mean over seeds (by the plain variance of 5) and over images.
    across = apart.mean(axis=1).var() / 5
    within = apart.mean(axis=0).var() / 400
    width = 2 * 1.96 * np.sqrt(across + within)
    assert many.high - many.low == pytest.approx(width, rel=0.1)
