"""Train querier, classifier and dictionary on one data set; the best on held-out images is kept.

python stages/train.py --dataset menagerie --init llm --method alternating --seed 0
"""

import csv
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from infopursuit.dictionary.universe import load_universe
from infopursuit.params import Params
from infopursuit.pursuit.checkpoints import Checkpoint
from infopursuit.pursuit.evidence_training import fit_evidence
from infopursuit.pursuit.fingerprints import file_sha256, settings_sha256
from infopursuit.pursuit.images import LabelledImages, hold_out, load_images
from infopursuit.pursuit.model import CLIP_CARD, TrainedModel
from infopursuit.pursuit.processes import Processes, restart_as_group, started_by_torchrun
from infopursuit.pursuit.recipe import Recipe
from infopursuit.pursuit.training import Trained, Trainer
from infopursuit.repeatable import compute_repeatably
from infopursuit.stage import SCRATCH, Rows, run
from infopursuit.tables import check_same_space
from infopursuit.text_lists import read_text_list

UNIVERSE = "artifacts/universe/embeddings.parquet"
CONTROL = "artifacts/universe/control_embeddings.parquet"


def main(params: Params, dataset: str, init: str, method: str, seed: int) -> Rows:
    compute_repeatably()
    name = f"{dataset}-{init}-{method}-{seed}"
    recipe = params.recipe(method, dataset)
    paths = {
        "universe": UNIVERSE,
        "images": f"artifacts/images/{dataset}.parquet",
        "initial": f"artifacts/initial/{dataset}-{init}-{seed}.txt",
    }
    check_same_space(paths["universe"], paths["images"])
    universe = texts = load_universe(paths["universe"], SCRATCH / "universe")
    if init == "words":  # a control: other texts to choose from, all else stays
        paths["control"] = CONTROL
        check_same_space(CONTROL, paths["images"])
        texts = load_universe(CONTROL, SCRATCH / "universe")
    initial = texts.indices(read_text_list(paths["initial"]), paths["initial"])
    train, validation = hold_out(load_images(paths["images"], "train"), recipe.held_out, seed)
    if recipe.select_on == "test":
        validation = load_images(paths["images"], "test")
    budget = params.budget(dataset)
    settings = {
        "dataset": dataset,
        "init": init,
        "method": method,
        "seed": seed,
        "recipe": asdict(recipe),
        "clip": universe.clip,
        "clip_path": params.clip,
        "budget": budget,
        "inputs": {key: file_sha256(path) for key, path in paths.items()},
    }
    images = train, validation
    dictionary = torch.from_numpy(texts.embeddings), torch.from_numpy(initial)
    reference = torch.from_numpy(universe.embeddings)
    if recipe.networks == "evidence":
        trained = fit_evidence(*images, *dictionary, recipe, budget, reference)
    else:
        trained = train_networks(params, settings, recipe, images, dictionary, reference)

    folder = Path("artifacts/models") / name
    TrainedModel(
        trained.querier,
        trained.classifier,
        trained.queries,
        tuple(texts.texts[row] for row in trained.rows["final"].tolist()),
        train.class_names,
        budget,
        {**settings, "selected": trained.selected},
        {
            moment: [texts.texts[row] for row in rows.tolist()]
            for moment, rows in trained.rows.items()
        },
        trained.rule.directions,
        trained.rule.thresholds,
    ).save(folder)
    if Path(params.clip).suffix == ".yaml":  # a card is small: the model can be used without us
        shutil.copyfile(params.clip, folder / CLIP_CARD)
    path = Path("artifacts/training") / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(trained.log[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(trained.log)
    return Rows(read=len(train.ids) + len(validation.ids), written=len(trained.log))


def train_networks(
    params: Params,
    settings: dict[str, Any],
    recipe: Recipe,
    images: tuple[LabelledImages, LabelledImages],
    dictionary: tuple[torch.Tensor, torch.Tensor],
    reference: torch.Tensor,
) -> Trained:
    """Train from the last checkpoint on, in as many processes as asked for."""
    group = Processes(count=params.compute.processes)
    group.part(min(recipe.batch_size, len(images[0].ids)))
    if group.count > 1 and not started_by_torchrun():
        restart_as_group(group.count)  # all inputs have been read: what is wrong is told once
    name = "-".join(str(settings[key]) for key in ("dataset", "init", "method", "seed"))
    device = params.compute.torch_device()
    processes = Processes.join()
    budget, seed = settings["budget"], settings["seed"]
    trainer = Trainer(*images, *dictionary, recipe, budget, seed, device, processes, reference)
    # Devices draw other random numbers: none goes on from the checkpoint of another kind.
    state = settings_sha256({**settings, "device": device})[:16]
    checkpoint = Checkpoint(
        SCRATCH / "train" / f"{name}-{state}.pt", params.compute.checkpoint_seconds
    )
    trained = trainer.train(checkpoint)
    processes.leave()
    if processes.rank > 0:
        sys.exit(0)  # the first process writes
    checkpoint.remove()
    return trained


if __name__ == "__main__":
    run(main)
