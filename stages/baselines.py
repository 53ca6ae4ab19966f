"""Train classifiers to compare with: the ceiling of what an explained classifier reaches.

python stages/baselines.py --dataset menagerie
"""

from __future__ import annotations

from infopursuit.core.stage import RowCounts, run

from typing import Annotated

import numpy as np
from pydantic import Field

from infopursuit.core.settings import ComputeSettings, Positive, Section
from infopursuit.datasets.labelled_images import load_images, load_training
from infopursuit.pipeline import paths, run_paths
from infopursuit.pipeline.run_settings import EvaluateSettings
from infopursuit_study.evaluation.files import write_json
from infopursuit_study.evaluation.run_metrics import accuracy_metrics
from infopursuit_study.peers.black_boxes import fit_probe, load_class_embeddings

# Of the held-out images.
SEED = 0


class Settings(Section):
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    evaluate: EvaluateSettings
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str) -> RowCounts:
    path = paths.images(dataset)
    train, held_out = load_training(path, settings.validation_fraction, SEED, settings.max_images)
    test = load_images(path, "test", settings.max_images)
    classes = load_class_embeddings(paths.images(dataset, "classes"))
    read = len(train.ids) + len(held_out.ids)

    probe, held_out_accuracy = fit_probe(train, held_out)
    images, labels = test.embeddings, test.labels.numpy()
    correct = {"linear_probe": np.equal(probe.predict(images.numpy()), labels)}
    if classes is not None:  # CLIP's own classifier: the nearest class name
        correct["zero_shot"] = np.equal((images @ classes.T).argmax(dim=1).numpy(), labels)
    metrics: dict[str, float] = {
        "train_images": read,
        "test_images": len(test.ids),
        "linear_probe_held_out_accuracy": held_out_accuracy,
        "linear_probe_inverse_penalty": probe.C,
        **accuracy_metrics(correct, settings.evaluate.bootstrap_resamples),
    }
    write_json(run_paths.baselines(dataset), metrics)
    return RowCounts(read=read + len(test.ids), written=len(correct))


if __name__ == "__main__":
    run(main)
