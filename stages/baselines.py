"""Train classifiers to compare with: on the embeddings, and on answers in a fixed order.

The first are the ceiling of what an explained classifier reaches. The second are what choosing
questions for each image has to beat.

python stages/baselines.py --dataset menagerie
"""

from __future__ import annotations

from infopursuit.core.stage import SCRATCH, RowCounts, run

from typing import Annotated

import numpy as np
import torch
from pydantic import Field
from tqdm import tqdm

from infopursuit.core.settings import ComputeSettings, Positive, Section
from infopursuit.core.tables import check_same_space
from infopursuit.datasets.labelled_images import load_images, load_training
from infopursuit.datasets.settings import Datasets
from infopursuit.pipeline import paths
from infopursuit.pipeline.benchmark_settings import MLPSettings
from infopursuit.pipeline.run_settings import EvaluateSettings
from infopursuit.texts.text_table import TextTable
from infopursuit_study.evaluation.files import write_json
from infopursuit_study.evaluation.run_metrics import (
    accuracy_metrics,
    budgets_up_to,
    fixed_order_metrics,
)
from infopursuit_study.peers.black_boxes import MLP, LinearProbe, load_class_embeddings
from infopursuit_study.peers.fixed_order import FixedOrder, text_orders


class Settings(Section):
    """What this stage reads of params.yaml."""

    datasets: Datasets
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    baselines: MLPSettings
    evaluate: EvaluateSettings
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str) -> RowCounts:
    images_path = paths.images(dataset)
    seed = settings.baselines.seed
    budget = settings.datasets[dataset].largest_budget
    resamples = settings.evaluate.bootstrap_resamples

    universe = torch.from_numpy(
        TextTable.from_parquet(paths.UNIVERSE, SCRATCH / "universe").embeddings
    )
    train, held_out = load_training(
        images_path, settings.validation_fraction, seed, settings.max_images
    )
    test = load_images(images_path, "test", settings.max_images)
    check_same_space(paths.UNIVERSE, images_path)
    classes = load_class_embeddings(paths.images(dataset, "classes"))
    read = len(train.ids) + len(held_out.ids)

    mlp = MLP(settings.baselines, settings.compute.torch_device()).fit(train, held_out)
    probe = LinearProbe().fit(train, held_out)
    images, labels = test.embeddings, test.labels.numpy()
    correct = {
        "mlp": mlp.predict(images) == labels,
        "linear_probe": probe.predict(images) == labels,
    }
    if classes is not None:  # CLIP's own classifier: the nearest class name
        correct["zero_shot"] = (images @ classes.T).argmax(dim=1).numpy() == labels
    metrics: dict[str, float] = {
        "train_images": read,
        "test_images": len(test.ids),
        "mlp_held_out_accuracy": mlp.held_out_accuracy_,
        "linear_probe_held_out_accuracy": probe.held_out_accuracy_,
        "linear_probe_inverse_penalty": probe.strength_,
        **accuracy_metrics(correct, resamples),
    }
    orders = text_orders(universe, train, budget, seed)
    for name, directions in orders.items():
        correct_at = {}
        for t in tqdm(budgets_up_to(budget), desc=name.replace("_", " "), disable=None):
            asked = [FixedOrder(texts[:t]).fit(train, held_out) for texts in directions]
            correct_at[t] = np.stack([each.predict(images) == labels for each in asked])
        metrics |= fixed_order_metrics(name, correct_at, resamples)
    write_json(paths.baselines(dataset), metrics)
    return RowCounts(read=read + len(test.ids), written=len(correct) + len(orders))


if __name__ == "__main__":
    run(main)
