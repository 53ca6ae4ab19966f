"""Accuracy by the number of training images, on the embedded world, where any number can be drawn.

Set `draw.train_per_class: 5000` in stages/menagerie/params.yaml of a clone of its own, then

    dvc repro embed_universe embed_images@menagerie
    python -m benchmarks.learning_curves --out curves

Each cell is one run of the protocol of the peers (docs/benchmark.md) on the first images of each
class. Cells are kept in `curves/cells.jsonl`: a run that was stopped goes on. `curves/curves.md`
and `curves/curves.svg` are written after each cell.
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

from benchmarks.harness import draw
from infopursuit.benchmark.entries import ENTRIES, Entry, Task, named
from infopursuit.benchmark.protocol import measure_seed
from infopursuit.benchmark.settings import TITLES
from infopursuit.benchmark.tables import table
from infopursuit.core.numbers import share
from infopursuit.datasets.labelled_images import LabelledImages, hold_out, load_images
from infopursuit.peers.pursuits import Ours
from infopursuit.texts.text_table import TextTable

UNIVERSE = "artifacts/universe/embeddings.parquet"
IMAGES = "artifacts/images/menagerie.parquet"
SIZES = (150, 500, 2000, 5000)
K = 48
FITTED, SAME_ANSWERS = "ours_fitted", "same_answers"
PEERS = ("ours", FITTED, "ours_decisive", "vip_fixed", "vip_alternating", "selected_answers",
         "sparse_logistic", SAME_ANSWERS, "probe", "mlp")  # fmt: skip
OTHER_NAMES = {
    FITTED: "ours, fitted rates",
    SAME_ANSWERS: "logistic regression on all answers of ours",
}
NAMES = {peer: OTHER_NAMES.get(peer) or TITLES[peer].title.replace("*", "") for peer in PEERS}
COLUMNS = ("accuracy_at_5", "accuracy_at_10", "accuracy_at_20", "accuracy", "auc")
SHARE = 0.1


def first_of_each_class(images: LabelledImages, count: int) -> LabelledImages:
    """Return the first `count` images of each class, in their order."""
    labels = images.labels.numpy()
    rows = np.sort(np.concatenate([np.flatnonzero(labels == c)[:count] for c in np.unique(labels)]))
    kept = torch.from_numpy(rows)
    ids = tuple(images.ids[row] for row in rows)
    return replace(images, ids=ids, labels=images.labels[kept], embeddings=images.embeddings[kept])


def world() -> Task:
    """Return the task with all images that were drawn."""
    universe = TextTable.from_parquet(UNIVERSE)
    sources = universe.sources_of(universe.texts)
    listed = [text for text in universe.texts if "dictionary/menagerie" in sources[text].split(",")]
    return Task(
        universe.texts,
        torch.from_numpy(universe.embeddings).float().numpy(),
        load_images(IMAGES, "train"),
        load_images(IMAGES, "test"),
        listed=tuple(listed),
    )


def entry_of(peer: str) -> Entry:
    """Return a peer with its tries; ours has K questions, and nothing to choose."""
    if peer not in ("ours", FITTED):
        return replace(ENTRIES[peer], controlled=False)
    rates = "fitted" if peer == FITTED else "counted"
    return Entry(lambda _, texts, rows: Ours(texts, rows, K, rates), controlled=False)


def same_answers(task: Task, seed: int) -> dict[str, float]:
    """Measure a logistic regression on all answers of ours; C by held-out accuracy."""
    train, held_out = hold_out(task.train, SHARE, seed)
    ours = Ours(task.texts, task.embeddings, K, random_state=seed)
    ours.fit(*named(train), validation=named(held_out))

    def answers(images: LabelledImages) -> np.ndarray:
        given = ours.pursuit_.answers(images.embeddings).numpy()
        return np.concatenate([given == 0, given == 1], axis=1).astype(np.float64)

    fitted = [
        LogisticRegression(C=strength, max_iter=300).fit(answers(train), train.labels.numpy())
        for strength in (0.01, 0.1, 1.0, 10.0)
    ]
    best = max(fitted, key=lambda each: each.score(answers(held_out), held_out.labels.numpy()))
    return {"accuracy": float(best.score(answers(task.test), task.test.labels.numpy()))}


def cell(task: Task, peer: str, count: int, seed: int) -> dict[str, Any]:
    """Return the figures of one peer with `count` images a class."""
    some = replace(task, train=first_of_each_class(task.train, count))
    if peer == SAME_ANSWERS:
        metrics: dict[str, Any] = same_answers(some, seed)
    else:
        result = measure_seed(entry_of(peer), some, seed, SHARE)
        assert result is not None
        metrics = {**result.metrics, **result.timings}
    kept = {name: metrics[name] for name in (*COLUMNS, "updates", "fit_seconds") if name in metrics}
    return {"peer": peer, "images": count, "seed": seed, **kept}


def read_cells(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def mean(cells: list[dict[str, Any]], peer: str, count: int, column: str) -> float | None:
    values = [
        each[column]
        for each in cells
        if (each["peer"], each["images"]) == (peer, count) and column in each
    ]
    return float(np.mean(values)) if values else None


def write(out: Path, cells: list[dict[str, Any]]) -> None:
    """Write the table and the picture of the cells so far."""
    sizes = sorted({each["images"] for each in cells})
    peers = [peer for peer in PEERS if any(each["peer"] == peer for each in cells)]
    rows = []
    for peer in peers:
        figures = [[mean(cells, peer, size, column) for column in COLUMNS] for size in sizes]
        rows.append([NAMES[peer], *(" / ".join(map(share, values)) for values in figures)])
    seeds = len({each["seed"] for each in cells})
    note = f"Accuracy after 5 / 10 / 20 / all questions or texts, and AUC. Seeds: {seeds}."
    text = f"{table(['images a class', *map(str, sizes)], rows)}\n\n{note}\n"
    (out / "curves.md").write_text(text, encoding="utf-8")
    panels: list[dict[str, Any]] = []
    for column, title in (("accuracy_at_10", "after 10 questions"), ("accuracy", "after all")):
        lines = []
        for peer in peers:
            points = [(size, mean(cells, peer, size, column)) for size in sizes]
            known = [(size, 100 * value) for size, value in points if value is not None]
            lines.append(
                (NAMES[peer], *zip(*known, strict=True)) if known else (NAMES[peer], (), ())
            )
        panels.append({
            "lines": lines, "title": title, "xlabel": "training images a class", "xticks": sizes,
        })  # fmt: skip
    panels[0]["ylabel"], panels[1]["legend"] = "test accuracy, %", "beside"
    draw(out / "curves.svg", panels, columns=2, figsize=(9.5, 4.2))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--peers", nargs="+", default=PEERS, choices=PEERS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    chosen.out.mkdir(parents=True, exist_ok=True)
    path, task = chosen.out / "cells.jsonl", world()
    for seed in chosen.seeds:
        for count in chosen.sizes:
            for peer in chosen.peers:
                cells = read_cells(path)
                if (peer, count, seed) in {(e["peer"], e["images"], e["seed"]) for e in cells}:
                    continue
                cells.append(cell(task, peer, count, seed))
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(cells[-1]) + "\n")
                write(chosen.out, cells)
                print(json.dumps(cells[-1]), flush=True)


if __name__ == "__main__":
    main()
