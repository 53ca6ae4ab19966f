"""Accuracy by the number of questions that may be asked, on images held out from training.

In a clone whose data sets are embedded (`dvc repro embed_universe embed_images`):

    python -m infopursuit_study.experiments.dictionary_size caltech101 oxford_pets

    python -m infopursuit_study.experiments.dictionary_size caltech101 --sizes 512 --rates fitted

A fifth of the training images is predicted, a tenth of the others calibrates; the test split is
not read.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from infopursuit.datasets.labelled_images import hold_out, load_images
from infopursuit.pipeline import paths
from infopursuit.texts.text_table import TextTable
from infopursuit_study.comparison.entries import named
from infopursuit_study.peers.pursuits import Ours

SIZES = (64, 128, 256, 512, 1024)
BUDGETS = (5, 10, 20, 30)
# Seeds of the images that are predicted differ from those of the benchmark of peers.
FIRST_SEED = 50


def figures(dataset: str, size: int, seeds: int, rates: str) -> list[float]:
    """Return mean accuracies after BUDGETS and all questions, AUC (1 to 128), seconds of a fit."""
    universe = TextTable.from_parquet(paths.UNIVERSE)
    embeddings = torch.from_numpy(universe.embeddings).float().numpy()
    images = load_images(paths.images(dataset), "train")
    rows = []
    for seed in range(seeds):
        train, predicted = hold_out(images, 0.2, FIRST_SEED + seed)
        train, held_out = hold_out(train, 0.1, seed)
        started = time.process_time()
        model = Ours(universe.texts, embeddings, size, rates, random_state=seed)
        model.fit(*named(train), validation=named(held_out))
        seconds = time.process_time() - started
        X, y = named(predicted)
        curve = model.curve(X, y)
        shares = [*curve[list(BUDGETS)], model.score(X, y), curve[1:].mean()]
        rows.append([*(100 * share for share in shares), seconds])
    return np.mean(rows, axis=0).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rates", choices=("counted", "fitted"), default="counted")
    given = parser.parse_args()
    torch.set_num_threads(1)
    header = ["data set", "k", *(f"at {t}" for t in BUDGETS), "all", "AUC", "fit, s"]
    print("| " + " | ".join(header) + " |", "| --- " * len(header) + "|", sep="\n")
    for dataset in given.datasets:
        for size in given.sizes:
            values = figures(dataset, size, given.seeds, given.rates)
            cells = [dataset, str(size), *(f"{value:.1f}" for value in values)]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
