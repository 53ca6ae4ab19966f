"""Measure a trained model on the test images: budget curve, stopping rules, calibration.

python stages/evaluate.py --dataset menagerie --init llm --method alternating --seed 0
"""

from __future__ import annotations

from pathlib import Path

from infopursuit.evaluation.dependence import dependence_metrics
from infopursuit.evaluation.measurement import measure
from infopursuit.evaluation.predictions import write_predictions
from infopursuit.evaluation.run_metrics import (
    BudgetCurve,
    budget_curve,
    run_metrics,
    write_csv,
    write_json,
)
from infopursuit.evaluation.stopping import StoppingPoint, sweep
from infopursuit.params import Params
from infopursuit.pursuit.images import load_images
from infopursuit.pursuit.model import TrainedModel
from infopursuit.stage import Rows, run


def main(params: Params, dataset: str, init: str, method: str, seed: int) -> Rows:
    name = f"{dataset}-{init}-{method}-{seed}"
    folder = Path("artifacts/evaluation") / name
    settings = params.evaluate
    model = TrainedModel.load(Path("artifacts/models") / name, params.compute.torch_device())
    images = load_images(f"artifacts/images/{dataset}.parquet", "test")

    summary, usage = measure(model, images, model.budget)
    curve, auc = budget_curve(summary, settings.calibration_bins, settings.bootstrap_resamples)
    points = sweep(
        summary,
        {
            "max_probability": settings.max_probability,
            "entropy": settings.entropy_nats,
            "stability": settings.stability_steps,
        },
    )
    metrics = run_metrics(summary, usage, curve, auc, model.queries)
    metrics |= dependence_metrics(model, images)
    metrics["selected_on"] = model.settings["recipe"]["select_on"]

    write_csv(folder / "curve.csv", ("t", *BudgetCurve._fields), curve.rows())
    write_csv(folder / "stopping.csv", StoppingPoint._fields, points)
    write_predictions(folder / "predictions.parquet", images.ids, summary.labels, summary.predicted)
    write_json(folder.with_name(f"{name}.json"), metrics)
    return Rows(read=len(images.ids), written=len(images.ids))


if __name__ == "__main__":
    run(main)
