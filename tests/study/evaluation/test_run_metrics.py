"""Stopping rules on summaries of posteriors, the same as on the posteriors themselves."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.pursuit.rollout import roll_out
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.pursuit.vip import early_stopping
from infopursuit.pursuit.vip.early_stopping import mean_accuracy_by_budget
from infopursuit.pursuit.vip.networks import HistoryNetwork
from infopursuit_study.evaluation.bootstrap import accuracy_interval
from infopursuit_study.evaluation.measurement import PosteriorSummary, summarize
from infopursuit_study.evaluation.run_metrics import (
    StoppingPoint,
    area_under_curve,
    budget_curve,
    expected_calibration_error,
    run_metrics,
    stopped,
    sweep,
    usage_metrics,
)


def test_area_is_the_one_that_training_selects_by(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    querier, classifier = HistoryNetwork(6, 6, (8, 4)).eval(), HistoryNetwork(6, 3, (8, 4)).eval()
    answers = torch.randint(0, 2, (40, 6)).float()
    labels = torch.randint(0, 3, (40,))
    posteriors = roll_out(querier, classifier, answers, 5).posteriors
    correct = (posteriors.argmax(dim=2) == labels[:, None]).numpy()
    for at_once in (1024, 7):
        monkeypatch.setattr(early_stopping, "images_at_once", lambda *_, count=at_once: count)
        expected = mean_accuracy_by_budget(querier, classifier, answers, labels, 5, 3)
        area = float(area_under_curve(correct.mean(axis=0)))
        assert area == pytest.approx(expected, abs=1e-12)


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


def random_posteriors(
    seed: int, n: int = 20, budgets: int = 9
) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, budgets, 4, generator=generator).cumsum(dim=1)
    return logits.softmax(dim=2), torch.randint(0, 4, (n,), generator=generator)


RULES = st.builds(
    StoppingRule,
    st.none() | st.floats(0.3, 1.0),
    st.none() | st.integers(0, 12),
    st.none() | st.floats(0.0, 1.4),
    st.none() | st.integers(1, 4),
)


@given(st.integers(0, 10_000), RULES)
def test_a_rule_stops_a_summary_where_it_stops_the_posteriors(
    seed: int, rule: StoppingRule
) -> None:
    posteriors, labels = random_posteriors(seed)
    steps, held = rule.steps(posteriors)
    predicted = posteriors.argmax(dim=2)[torch.arange(len(steps)), steps]
    found = stopped(summarize(posteriors, labels), rule)
    assert found.mean_length == steps.double().mean().item()
    assert found.accuracy == (predicted == labels).double().mean().item()
    assert found.confident == torch.isin(held, torch.tensor([1, 2])).double().mean().item()


def test_sweep_of_two_images_by_hand() -> None:
    """Image 0 is sure after one query and wrong later; image 1 never gets sure."""
    sure = [[[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.6, 0.4], [0.4, 0.6]]]
    summary = summarize(torch.tensor(sure), torch.tensor([0, 1]))
    thresholds = {"max_probability": [0.85, 1.0], "entropy": [0.4], "stability": [1]}
    assert sweep(summary, thresholds) == [
        StoppingPoint("max_probability", 0.85, 1.5, 1.0),
        StoppingPoint("max_probability", 1.0, 2.0, 0.5),
        StoppingPoint("entropy", 0.4, 1.5, 1.0),
        StoppingPoint("stability", 1.0, 1.0, 0.5),
    ]
    assert stopped(summary, StoppingRule(0.85)).confident == 0.5


@pytest.fixture
def summary() -> PosteriorSummary:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 3, (60,), generator=generator)
    logits = torch.randn(60, 12, 3, generator=generator)
    logits += torch.arange(12)[:, None] / 6 * torch.nn.functional.one_hot(labels, 3)[:, None]
    return summarize(logits.softmax(dim=2), labels)


def test_curve_has_every_budget_with_its_interval(summary: PosteriorSummary) -> None:
    curve, auc = budget_curve(summary, bins=10, resamples=200)
    assert len(curve.rows()) == 12
    assert (curve.low <= curve.accuracy).all()
    assert (curve.accuracy <= curve.high).all()
    alone = accuracy_interval(summary.correct[:, 7], 200)
    assert (curve.accuracy[7], curve.low[7], curve.high[7]) == pytest.approx(alone)
    assert auc.value == pytest.approx(curve.accuracy[1:].mean())
    assert auc.low < auc.value < auc.high
    assert curve.nll[3] == pytest.approx(summary.nll[:, 3].mean(), rel=1e-5)


def test_metrics_agree_with_curve_and_stopping(summary: PosteriorSummary) -> None:
    curve, auc = budget_curve(summary, bins=10, resamples=200)
    usage = np.full((11, 15), 4)
    rule = StoppingRule(0.7, 6)
    metrics = run_metrics(summary, usage, curve, auc, ["a", "b", "a"], rule)
    assert metrics["accuracy_at_5"] == curve.accuracy[5]
    assert metrics["accuracy_at_10"] == curve.accuracy[10]
    assert "accuracy_at_20" not in metrics  # T is 11
    assert metrics["accuracy_at_T"] == curve.accuracy[11]
    assert (metrics["ece_at_10"], metrics["nll_at_10"]) == (curve.ece[10], curve.nll[10])
    assert "ece_at_20" not in metrics
    assert (metrics["budget"], metrics["test_images"]) == (11, 60)
    assert (metrics["queries"], metrics["distinct_queries"]) == (3, 2)
    stop = stopped(summary, rule)
    assert 0 < stop.mean_length < 6
    assert metrics["mean_length_at_stop"] == stop.mean_length
    assert metrics["accuracy_at_stop"] == stop.accuracy
    assert metrics["share_confident_at_stop"] == stop.confident
    assert StoppingRule(*(metrics[f"stop_{name}"] for name in StoppingRule._fields)) == rule


def test_usage_of_one_query_of_two_and_of_all() -> None:
    usage = np.zeros((12, 4), dtype=np.int64)
    usage[:10, 0] = 5
    usage[10:, 1:3] = 5
    assert usage_metrics(usage) == {
        "share_of_queries_ever_asked": 0.75,
        "share_of_queries_in_first_10": 0.25,
        "usage_entropy": pytest.approx(-(5 * np.log(5 / 7) + 2 * np.log(1 / 7)) / 7),
        "usage_entropy_in_first_10": 0.0,
        "usage_perplexity": pytest.approx((7 / 5) ** (5 / 7) * 7 ** (2 / 7)),
        "usage_perplexity_in_first_10": 1.0,
    }
    spread = usage_metrics(np.ones((3, 4), dtype=np.int64))
    assert spread["usage_entropy_in_first_10"] == pytest.approx(np.log(4))
    assert spread["usage_perplexity"] == pytest.approx(4)
