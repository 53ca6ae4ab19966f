"""Measure a trained model on the test images: budget curve, stopping rules, calibration.

python stages/evaluate.py --dataset menagerie --init llm --method alternating --seed 0
"""

from __future__ import annotations

from infopursuit.core.stage import Rows, run

from pathlib import Path

from infopursuit.core.settings import Positive, Section
from infopursuit.datasets.labelled_images import load_images
from infopursuit.estimators.saved import load
from infopursuit.evaluation.dependence import dependence_metrics
from infopursuit.evaluation.files import write_csv, write_json
from infopursuit.evaluation.measurement import measure
from infopursuit.evaluation.predictions import write_predictions
from infopursuit.evaluation.run_metrics import BudgetCurve, budget_curve, run_metrics
from infopursuit.evaluation.settings import EvaluateSettings
from infopursuit.evaluation.stopping import StoppingPoint, sweep
from infopursuit.executors.settings import ComputeSettings
from infopursuit.explanation.settings import ExplainSettings
from infopursuit.explanation.stopping import StoppingRule


class Settings(Section):
    """What this stage reads of params.yaml."""

    evaluate: EvaluateSettings
    explain: ExplainSettings
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str, init: str, method: str, seed: int) -> Rows:
    name = f"{dataset}-{init}-{method}-{seed}"
    folder = Path("artifacts/evaluation") / name
    wanted, explain = settings.evaluate, settings.explain
    stop = StoppingRule(explain.stop_at_probability, explain.max_queries)
    model = load(Path("artifacts/models") / name, settings.compute.torch_device())
    pursuit, budget = model.pursuit_, model.provenance_["budget"]
    images = load_images(f"artifacts/images/{dataset}.parquet", "test", settings.max_images)

    asked = min(budget, len(pursuit.queries))
    summary, usage = measure(pursuit, images, asked)
    summary = summary.up_to(budget)
    curve, auc = budget_curve(summary, wanted.calibration_bins, wanted.bootstrap_resamples)
    points = sweep(
        summary,
        {
            "max_probability": wanted.max_probability,
            "entropy": wanted.entropy_nats,
            "stability": wanted.stability_steps,
        },
    )
    metrics = run_metrics(summary, usage, curve, auc, pursuit.queries, stop)
    metrics |= dependence_metrics(pursuit, images, asked)
    metrics["selected_on"] = model.provenance_["settings"]["select_on"]

    write_csv(folder / "curve.csv", ("t", *BudgetCurve._fields), curve.rows())
    write_csv(folder / "stopping.csv", StoppingPoint._fields, points)
    write_predictions(folder / "predictions.parquet", images.ids, summary.labels, summary.predicted)
    write_json(folder.with_name(f"{name}.json"), metrics)
    return Rows(read=len(images.ids), written=len(images.ids))


if __name__ == "__main__":
    run(main)
