"""Accuracies of baselines, with intervals at the largest budget."""

import numpy as np
import pytest

from infopursuit.baselines.zero_shot import ZeroShot
from infopursuit.evaluation.baseline_metrics import (
    accuracy_metrics,
    budgets_up_to,
    correct,
    correct_of_all,
    fixed_order_metrics,
)
from infopursuit.evaluation.bootstrap import accuracy_interval
from tests.baselines.blobs import CENTRES, blobs

IMAGES = blobs(60, 2, noise=0.5)


def test_accuracy_of_each_baseline_with_its_interval() -> None:
    right, wrong = ZeroShot(CENTRES), ZeroShot(CENTRES.roll(1, dims=0))
    hits = correct(right, IMAGES)
    assert 0.6 < hits.mean() < 1
    metrics = accuracy_metrics({"good": right, "bad": wrong}, IMAGES, 200)
    found = [metrics[f"good_accuracy{edge}"] for edge in ("", "_low", "_high")]
    assert found == pytest.approx(list(accuracy_interval(hits, 200)))
    assert metrics["bad_accuracy"] == correct(wrong, IMAGES).mean() < 0.4
    assert correct_of_all([right, wrong], IMAGES).tolist() == [
        hits.tolist(),
        correct(wrong, IMAGES).tolist(),
    ]


def test_budgets_end_at_the_largest() -> None:
    assert budgets_up_to(4) == [4]
    assert budgets_up_to(20) == [5, 10, 20]
    assert budgets_up_to(64) == [5, 10, 20, 50, 64]


def test_metrics_at_each_budget_and_with_intervals_at_the_largest() -> None:
    hits = np.random.default_rng(0).random((5, 400)) < np.linspace(0.5, 0.9, 5)[:, None]
    many = fixed_order_metrics("many", {5: ~hits, 8: hits}, 200)
    one = fixed_order_metrics("one", {5: ~hits[:1], 8: hits[:1]}, 200)
    assert set(many) == {f"many_{at}" for at in ("at_5", "at_T", "at_T_low", "at_T_high")}
    assert many["many_at_5"] == pytest.approx((~hits).mean())
    assert one["one_at_T"] == pytest.approx(hits[0].mean())
    narrow = one["one_at_T_high"] - one["one_at_T_low"]
    wide = many["many_at_T_high"] - many["many_at_T_low"]
    assert 0 < narrow < wide, "orders differ more than images do"
