"""A run on all test images: its numbers, its curve over budgets, what stopping rules give."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from infopursuit.core.csv_tables import write_csv
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.pipeline.run_settings import EvaluateSettings
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.rollout import RollOut
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit_study.evaluation.dependence import dependence_metrics
from infopursuit_study.evaluation.files import AT_STOP, write_predictions
from infopursuit_study.evaluation.measurement import FIRST, PosteriorSummary, measure
from infopursuit_study.evaluation.run_metrics import (
    BudgetCurve,
    StoppingPoint,
    budget_curve,
    predicted_at_stop,
    run_metrics,
    sweep,
)


class Evaluation(NamedTuple):
    """What a run is worth on n test images.

    Attributes:
        metrics: its numbers, by name.
        summary: the posteriors at every budget.
        curve: the measures at every budget.
        stops: what conditions of stopping give at several thresholds.
        predicted: the class of each image when its questions stop.
        opening: the first questions of each image.
    """

    metrics: dict[str, Any]
    summary: PosteriorSummary
    curve: BudgetCurve
    stops: list[StoppingPoint]
    predicted: Int[np.ndarray, " n"]
    opening: RollOut


def evaluate(
    pursuit: Pursuit,
    test: LabelledImages,
    budget: int,
    wanted: EvaluateSettings,
    stop: StoppingRule,
) -> Evaluation:
    """Ask every test image at most `budget` questions, and measure."""
    k = len(pursuit.queries)
    count = min(budget, k)
    measured = measure(pursuit, test, max(count, min(k, FIRST), stop.budget(k)))
    summary, usage = measured.summary.up_to(budget), measured.usage[:count]
    curve, auc = budget_curve(summary, wanted.calibration_bins, wanted.bootstrap_resamples)
    thresholds = {
        "max_probability": wanted.max_probability,
        "entropy": wanted.entropy_nats,
        "stability": wanted.stability_steps,
    }
    metrics = run_metrics(summary, usage, curve, auc, pursuit.queries, stop)
    metrics |= dependence_metrics(pursuit, test, measured.opening.order[:, :count])
    return Evaluation(
        metrics,
        summary,
        curve,
        sweep(summary, thresholds),
        predicted_at_stop(measured.summary, stop),
        measured.opening,
    )


def write_evaluation(folder: Path, test: LabelledImages, found: Evaluation) -> None:
    """Write curve, stops and predictions of n test images."""
    write_csv(folder / "curve.csv", ("t", *BudgetCurve._fields), found.curve.rows())
    write_csv(folder / "stopping.csv", StoppingPoint._fields, found.stops)
    summary = found.summary
    write_predictions(folder / "predictions.parquet", test.ids, summary.labels, summary.predicted)
    at_stop = zip(test.ids, test.labels.tolist(), found.predicted.tolist(), strict=True)
    write_csv(folder / AT_STOP, ("id", "label", "predicted"), at_stop)
