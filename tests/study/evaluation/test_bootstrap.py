"""Accuracies of baselines, with intervals at the largest budget."""

import numpy as np
import pytest

from infopursuit_study.evaluation.bootstrap import (
    SeedMeans,
    accuracy_interval,
    resampled_means,
    seed_means,
    seed_shares,
    two_level_intervals,
)
from infopursuit_study.evaluation.run_metrics import accuracy_metrics


def test_means_are_those_of_rows_drawn_with_replacement() -> None:
    """With one image per value, a mean tells how often each image was drawn."""
    counts = resampled_means(np.eye(5), 67, seed=1) * 5
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


def test_seed_shares_are_draws_with_replacement_equal_on_repeat() -> None:
    shares = seed_shares(4, 3000)
    np.testing.assert_array_equal(shares * 4, (shares * 4).round())
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert abs(shares.mean(axis=0) - 0.25).max() < 0.01
    np.testing.assert_array_equal(shares, seed_shares(4, 3000))
    assert (shares != seed_shares(4, 3000, seed=1)).any()


def test_one_seed_gives_the_interval_over_images() -> None:
    correct = np.random.default_rng(0).random((300, 5)) < 0.7
    found = two_level_intervals(seed_means(correct[None], 400))
    for column, interval in enumerate(found):
        assert interval == pytest.approx(accuracy_interval(correct[:, column], 400))


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


def test_accuracy_of_each_baseline_with_its_interval() -> None:
    hits = np.random.default_rng(0).random(60) < 0.8
    metrics = accuracy_metrics({"good": hits, "bad": ~hits}, 200)
    found = [metrics[f"good_accuracy{edge}"] for edge in ("", "_low", "_high")]
    assert found == pytest.approx(list(accuracy_interval(hits, 200)))
    assert metrics["bad_accuracy"] == (~hits).mean() < 0.4


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    draw = np.random.default_rng(0)
    covered = 0
    for seed in range(200):
        found = accuracy_interval(draw.random(200) < 0.7, 200, seed)
        covered += found.low <= 0.7 <= found.high
    assert 180 <= covered <= 199


def test_paired_difference_over_seeds_cancels_what_both_share() -> None:
    draw = np.random.default_rng(0)
    hard, luck = draw.random((1, 500, 1)), draw.normal(0, 0.1, (4, 1, 1))
    first, second = hard < 0.7 + luck, hard < 0.68 + luck
    one, two = (seed_means(each, 1000) for each in (first, second))
    (apart,) = two_level_intervals(one)
    difference = SeedMeans(one.measured - two.measured, one.resampled - two.resampled)
    (paired,) = two_level_intervals(difference)
    assert paired.value == pytest.approx(first.mean() - second.mean())
    assert paired.low > 0  # two points, told apart although each interval spans many more
    assert apart.high - apart.low > 5 * (paired.high - paired.low)
