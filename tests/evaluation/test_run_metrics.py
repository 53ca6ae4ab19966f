import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from infopursuit.evaluation.bootstrap import accuracy_interval
from infopursuit.evaluation.files import write_csv, write_json
from infopursuit.evaluation.posteriors import PosteriorSummary, summarize
from infopursuit.evaluation.run_metrics import (
    BudgetCurve,
    budget_curve,
    run_metrics,
    usage_metrics,
)
from infopursuit.evaluation.stopping import stopped
from infopursuit.explanation.stopping import StoppingRule


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


def test_files_read_back_the_same(summary: PosteriorSummary, tmp_path: Path) -> None:
    curve, _ = budget_curve(summary, bins=10, resamples=100)
    write_csv(tmp_path / "a" / "curve.csv", ("t", *BudgetCurve._fields), curve.rows())
    with (tmp_path / "a" / "curve.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["ece"]) for row in rows] == curve.ece.tolist()
    assert [row["t"] for row in rows] == [str(t) for t in range(12)]
    write_json(tmp_path / "m.json", {"b": 1.5, "a": 2})
    text = (tmp_path / "m.json").read_text()
    assert json.loads(text) == {"a": 2, "b": 1.5}
    assert text.index('"a"') < text.index('"b"')
