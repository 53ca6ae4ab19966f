"""Accuracy by the number of training images, on the embedded world, which can draw any number.

In a clone set `draw.train_per_class: 5000` in stages/menagerie/params.yaml, then

    dvc repro embed_universe embed_images@menagerie
    python -m infopursuit_study.experiments.learning_curves --out curves

Each cell is one run of the protocol of the peers (lab/benchmark.md) on the first images of each
class. Cells are kept in `curves/cells.jsonl`: a stopped run continues. `curves/curves.md` and
`curves/curves.svg` are written after each cell.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from infopursuit.core.numbers import share, table
from infopursuit.datasets.labelled_images import LabelledImages, hold_out, load_images
from infopursuit.pipeline import paths
from infopursuit.pipeline.benchmark_settings import TITLES
from infopursuit.texts.text_table import TextTable
from infopursuit_study.comparison.entries import ENTRIES, Entry, Task, named
from infopursuit_study.comparison.protocol import measure_seed
from infopursuit_study.experiments.panels import draw
from infopursuit_study.peers.pursuits import Ours

SIZES = (150, 500, 2000, 5000)
K = 48
FITTED, SAME_ANSWERS = "ours_fitted", "same_answers"
PEERS = ("ours", FITTED, "vip_fixed", "vip_alternating", "selected_answers",
         "sparse_logistic", SAME_ANSWERS, "probe", "mlp")  # fmt: skip
OTHER_NAMES = {
    FITTED: "ours, fitted rates",
    SAME_ANSWERS: "logistic regression on all answers of ours",
}
NAMES = {peer: OTHER_NAMES.get(peer) or TITLES[peer].title.replace("*", "") for peer in PEERS}
COLUMNS = ("accuracy_at_5", "accuracy_at_10", "accuracy_at_20", "accuracy", "auc")
KEPT = (*COLUMNS, "updates", "fit_seconds")
HELD_OUT = 0.1


def first_of_each_class(images: LabelledImages, count: int) -> LabelledImages:
    """Return the first `count` images of each class, in their order."""
    labels = images.labels.numpy()
    rows = np.concatenate([np.flatnonzero(labels == label)[:count] for label in np.unique(labels)])
    return images.subset(torch.from_numpy(np.sort(rows)))


def world() -> Task:
    """Return the task with all images that were drawn."""
    universe = TextTable.from_parquet(paths.UNIVERSE)
    sources = universe.sources_of(universe.texts)
    listed = [text for text in universe.texts if "dictionary/menagerie" in sources[text].split(",")]
    embeddings = torch.from_numpy(universe.embeddings).float().numpy()
    splits = (load_images(paths.images("menagerie"), split) for split in ("train", "test"))
    return Task(universe.texts, embeddings, *splits, listed=tuple(listed))


def entry_of(peer: str) -> Entry:
    """Return a peer with its tries; ours has K questions, and nothing to choose."""
    if peer not in ("ours", FITTED):
        return replace(ENTRIES[peer], controlled=False)
    rates = "fitted" if peer == FITTED else "counted"
    return Entry(lambda _, texts, rows: Ours(texts, rows, K, rates), controlled=False)


def same_answers(task: Task, seed: int) -> dict[str, float]:
    """Measure a logistic regression on all answers of ours; C by held-out accuracy."""
    train, held_out = hold_out(task.train, HELD_OUT, seed)
    ours = Ours(task.texts, task.embeddings, K, random_state=seed)
    ours.fit(*named(train), validation=named(held_out))

    def answers(images: LabelledImages) -> np.ndarray:
        given = ours.pursuit_.answers(images.embeddings).numpy()
        return np.concatenate([given == 0, given == 1], axis=1).astype(np.float64)

    heads = [
        LogisticRegression(C=strength, max_iter=300).fit(answers(train), train.labels.numpy())
        for strength in (0.01, 0.1, 1.0, 10.0)
    ]
    best = max(heads, key=lambda head: head.score(answers(held_out), held_out.labels.numpy()))
    return {"accuracy": float(best.score(answers(task.test), task.test.labels.numpy()))}


def measure(task: Task, peer: str, count: int, seed: int) -> dict[str, Any]:
    """Return the figures of one peer with `count` images a class."""
    fewer = replace(task, train=first_of_each_class(task.train, count))
    if peer == SAME_ANSWERS:
        metrics: dict[str, Any] = same_answers(fewer, seed)
    else:
        result = measure_seed(entry_of(peer), fewer, seed, HELD_OUT)
        assert result is not None
        metrics = {**result.metrics, **result.timings}
    kept = {name: metrics[name] for name in KEPT if name in metrics}
    return {"peer": peer, "images": count, "seed": seed, **kept}


def mean(cells: list[dict[str, Any]], peer: str, count: int, column: str) -> float | None:
    """Return the mean of a figure over the seeds; None if no seed has it."""
    wanted = {"peer": peer, "images": count}
    chosen = [cell for cell in cells if wanted.items() <= cell.items() and column in cell]
    return float(np.mean([cell[column] for cell in chosen])) if chosen else None


def write(out: Path, cells: list[dict[str, Any]]) -> None:
    """Write the table and the picture of the cells so far."""
    sizes = sorted({cell["images"] for cell in cells})
    peers = [peer for peer in PEERS if any(cell["peer"] == peer for cell in cells)]
    rows = []
    for peer in peers:
        figures = [[mean(cells, peer, size, column) for column in COLUMNS] for size in sizes]
        rows.append([NAMES[peer], *(" / ".join(map(share, values)) for values in figures)])
    seeds = len({cell["seed"] for cell in cells})
    note = f"Accuracy after 5 / 10 / 20 / all questions or texts, and AUC. Seeds: {seeds}."
    text = f"{table(['images a class', *map(str, sizes)], rows)}\n\n{note}\n"
    (out / "curves.md").write_text(text, encoding="utf-8")
    panels: list[dict[str, Any]] = []
    for column, title in (("accuracy_at_10", "after 10 questions"), ("accuracy", "after all")):
        lines = []
        for peer in peers:
            means = {size: mean(cells, peer, size, column) for size in sizes}
            percents = {size: 100 * value for size, value in means.items() if value is not None}
            lines.append((NAMES[peer], list(percents), list(percents.values())))
        axes = {"title": title, "xlabel": "training images a class", "xticks": sizes}
        panels.append({"lines": lines, **axes})
    panels[0]["ylabel"], panels[1]["legend"] = "test accuracy, %", "beside"
    draw(out / "curves.svg", panels, columns=2, figsize=(9.5, 4.2))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--peers", nargs="+", default=PEERS, choices=PEERS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.out.mkdir(parents=True, exist_ok=True)
    path, task = given.out / "cells.jsonl", world()
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    cells = [json.loads(line) for line in lines]
    done = {(cell["peer"], cell["images"], cell["seed"]) for cell in cells}
    runs = [(p, size, seed) for seed in given.seeds for size in given.sizes for p in given.peers]
    for run in runs:
        if run in done:
            continue
        cells.append(measure(task, *run))
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(cells[-1]) + "\n")
        write(given.out, cells)
        print(json.dumps(cells[-1]), flush=True)


if __name__ == "__main__":
    main()
