"""Train classifiers on the embeddings themselves, and plain ones on answers in a fixed order.

The first are the ceiling of what an explained classifier reaches, the second are what choosing
questions for each image has to beat.

python stages/black_box.py --dataset menagerie
"""

from __future__ import annotations

import torch

from infopursuit.dictionary.universe import load_universe
from infopursuit.evaluation.baselines import linear_probe, load_class_embeddings, zero_shot
from infopursuit.evaluation.black_box import (
    BlackBoxSettings,
    correct_predictions,
    train_black_box,
)
from infopursuit.evaluation.bootstrap import accuracy_interval
from infopursuit.evaluation.plain import plain_baselines, plain_metrics
from infopursuit.evaluation.run_metrics import write_json
from infopursuit.params import Params
from infopursuit.pursuit.images import hold_out, load_images
from infopursuit.stage import SCRATCH, Rows, run
from infopursuit.tables import check_same_space

UNIVERSE = "artifacts/universe/embeddings.parquet"


def main(params: Params, dataset: str) -> Rows:
    images_path = f"artifacts/images/{dataset}.parquet"
    values = params.black_box.model_dump()
    share = values.pop("held_out")
    settings = BlackBoxSettings(**values)
    budget, resamples = params.budget(dataset), params.evaluate.bootstrap_resamples

    universe = torch.from_numpy(load_universe(UNIVERSE, SCRATCH / "universe").embeddings)
    images, test = load_images(images_path, "train"), load_images(images_path, "test")
    check_same_space(UNIVERSE, images_path)
    classes = load_class_embeddings(
        f"artifacts/images/{dataset}.classes.parquet", images_path, images.class_names
    )
    train, held_out = hold_out(images, share, settings.seed)

    network, mlp_held_out = train_black_box(
        train, held_out, settings, params.compute.torch_device()
    )
    probe = linear_probe(train, held_out, test)
    correct = {"mlp": correct_predictions(network, test).numpy(), "linear_probe": probe.correct}
    if classes is not None:
        correct["zero_shot"] = zero_shot(classes, test)
    plain = plain_baselines(universe, train, held_out, test, budget, settings.seed)

    metrics = {
        "train_images": len(images.ids),
        "test_images": len(test.ids),
        "mlp_held_out_accuracy": mlp_held_out,
        "linear_probe_held_out_accuracy": probe.held_out_accuracy,
        "linear_probe_inverse_penalty": probe.strength,
        **plain_metrics(plain, budget, resamples),
    }
    for baseline, hits in correct.items():
        found = accuracy_interval(hits, resamples)
        metrics[f"{baseline}_accuracy"] = found.value
        metrics[f"{baseline}_accuracy_low"] = found.low
        metrics[f"{baseline}_accuracy_high"] = found.high
    write_json(f"artifacts/black_box/{dataset}.json", metrics)
    return Rows(read=len(images.ids) + len(test.ids), written=len(correct) + len(plain))


if __name__ == "__main__":
    run(main)
