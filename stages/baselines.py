"""Train classifiers to compare with: on the embeddings, and on answers in a fixed order.

The first are the ceiling of what an explained classifier reaches. The second are what choosing
questions for each image has to beat.

python stages/baselines.py --dataset menagerie
"""

from __future__ import annotations

from infopursuit.core.stage import SCRATCH, Rows, run

from typing import Annotated

import torch
from pydantic import Field
from tqdm import tqdm

from infopursuit.baselines.baseline import Baseline
from infopursuit.baselines.fixed_order import FixedOrder, text_orders
from infopursuit.baselines.linear import LinearProbe
from infopursuit.baselines.mlp import MLP, MLPSettings
from infopursuit.baselines.settings import BaselinesSettings
from infopursuit.baselines.zero_shot import ZeroShot, load_class_embeddings
from infopursuit.core.same_space import check_same_space
from infopursuit.core.settings import Positive, Section
from infopursuit.datasets.labelled_images import load_images, load_training
from infopursuit.datasets.settings import Datasets
from infopursuit.dictionary.universe import load_universe
from infopursuit.evaluation.baseline_metrics import (
    accuracy_metrics,
    budgets_up_to,
    correct_of_all,
    fixed_order_metrics,
)
from infopursuit.evaluation.files import write_json
from infopursuit.evaluation.settings import EvaluateSettings
from infopursuit.executors.settings import ComputeSettings

UNIVERSE = "artifacts/universe/embeddings.parquet"


class Settings(Section):
    """What this stage reads of params.yaml."""

    datasets: Datasets
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    baselines: BaselinesSettings
    evaluate: EvaluateSettings
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str) -> Rows:
    images_path = f"artifacts/images/{dataset}.parquet"
    of_mlp = MLPSettings(**settings.baselines.model_dump())
    budget = settings.datasets[dataset].largest_budget
    resamples = settings.evaluate.bootstrap_resamples

    universe = torch.from_numpy(load_universe(UNIVERSE, SCRATCH / "universe").embeddings)
    train, held_out = load_training(
        images_path, settings.validation_fraction, of_mlp.seed, settings.max_images
    )
    test = load_images(images_path, "test", settings.max_images)
    check_same_space(UNIVERSE, images_path)
    classes = load_class_embeddings(
        f"artifacts/images/{dataset}.classes.parquet", images_path, train.class_names
    )
    read = len(train.ids) + len(held_out.ids)

    mlp = MLP(of_mlp, settings.compute.torch_device()).fit(train, held_out)
    probe = LinearProbe().fit(train, held_out)
    fitted: dict[str, Baseline] = {"mlp": mlp, "linear_probe": probe}
    if classes is not None:
        fitted["zero_shot"] = ZeroShot(classes)
    metrics: dict[str, float] = {
        "train_images": read,
        "test_images": len(test.ids),
        "mlp_held_out_accuracy": mlp.held_out_accuracy_,
        "linear_probe_held_out_accuracy": probe.held_out_accuracy_,
        "linear_probe_inverse_penalty": probe.strength_,
        **accuracy_metrics(fitted, test, resamples),
    }
    orders = text_orders(universe, train, budget, of_mlp.seed)
    for name, directions in orders.items():
        asked = {
            t: [FixedOrder(texts[:t]).fit(train, held_out) for texts in directions]
            for t in tqdm(budgets_up_to(budget), desc=name.replace("_", " "), disable=None)
        }
        hits = {t: correct_of_all(baselines, test) for t, baselines in asked.items()}
        metrics |= fixed_order_metrics(name, hits, resamples)
    write_json(f"artifacts/baselines/{dataset}.json", metrics)
    return Rows(read=read + len(test.ids), written=len(fitted) + len(orders))


if __name__ == "__main__":
    run(main)
