import numpy as np
import pytest

from infopursuit.evaluation.bootstrap import (
    BLOCK,
    accuracy_interval,
    auc_difference,
    percentiles,
    resampled_means,
)
from infopursuit.evaluation.budget_curves import accuracy_curve, area_under_curve


def test_means_are_those_of_rows_drawn_with_replacement() -> None:
    """With one image per value, a mean tells how often each image was drawn."""
    counts = resampled_means(np.eye(5), BLOCK + 3, seed=1) * 5
    np.testing.assert_array_equal(counts, counts.round())
    np.testing.assert_allclose(counts.sum(axis=1), 5)
    assert counts.max() > 1
    assert abs(resampled_means(np.eye(5), 4000).mean(axis=0) - 0.2).max() < 0.01


def test_equal_seeds_draw_equal_images_whatever_the_values() -> None:
    draw = np.random.default_rng(0)
    one, two = draw.random((20, 3)), draw.random((20, 2))
    apart = np.hstack([resampled_means(one, 100), resampled_means(two, 100)])
    np.testing.assert_allclose(resampled_means(np.hstack([one, two]), 100), apart)
    assert (resampled_means(one, 100, seed=1) != apart[:, :3]).any()


def test_interval_is_close_to_the_normal_one() -> None:
    correct = np.random.default_rng(0).random(2000) < 0.8
    found = accuracy_interval(correct, 2000)
    width = 1.96 * np.sqrt(found.value * (1 - found.value) / 2000)
    assert found.value == correct.mean()
    assert found.low == pytest.approx(found.value - width, abs=0.003)
    assert found.high == pytest.approx(found.value + width, abs=0.003)


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    draw = np.random.default_rng(0)
    covered = 0
    for seed in range(200):
        found = accuracy_interval(draw.random(200) < 0.7, 200, seed)
        covered += found.low <= 0.7 <= found.high
    assert 180 <= covered <= 199


def test_percentiles_of_a_line() -> None:
    low, high = percentiles(np.arange(101.0)[:, None], level=0.9)
    assert (low[0], high[0]) == pytest.approx((5.0, 95.0))


def test_paired_difference_is_narrower_than_two_separate_intervals() -> None:
    draw = np.random.default_rng(0)
    hard = draw.random((500, 1))
    first, second = hard < np.linspace(0.4, 0.9, 6), hard < np.linspace(0.38, 0.88, 6)
    found = auc_difference(first, second, 1000)
    areas = [float(area_under_curve(accuracy_curve(run))) for run in (first, second)]
    assert found.value == pytest.approx(areas[0] - areas[1])
    assert found.low <= found.value <= found.high
    spread = [
        np.subtract(*reversed(percentiles(area_under_curve(resampled_means(run, 1000)))))
        for run in (first, second)
    ]
    assert found.high - found.low < min(spread) / 2


def test_a_run_does_not_differ_from_itself() -> None:
    correct = np.random.default_rng(0).random((50, 4)) < 0.5
    assert tuple(auc_difference(correct, correct, 200)) == (0.0, 0.0, 0.0)
