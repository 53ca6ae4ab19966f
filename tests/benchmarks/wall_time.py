"""Accuracy against wall time: what sharing and reusing roll-outs is worth to whoever waits.

    python -m tests.benchmarks.wall_time --images IMAGES.parquet --universe TEXTS.parquet \\
        --initial DICTIONARY.txt --seeds 0 1 2 --out wall_time.csv

Trains `alternating` with rollouts per update and per batch, and with several histories per
roll-out, for several numbers of biased updates, and writes one row a run: the AUC on held-out
images and the seconds of training without validation. `--plot` draws the files given to it.
Defaults are the embedded world, after `make repro`.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import torch

from infopursuit.dictionary.universe import load_universe
from infopursuit.pursuit.checkpoints import Checkpoint
from infopursuit.pursuit.images import hold_out, load_images
from infopursuit.pursuit.recipe import Recipe
from infopursuit.pursuit.training import Trainer
from infopursuit.text_lists import read_text_list

RECIPE = Recipe(
    dictionary="alternating",
    hidden=(256, 128),
    random_updates=300,
    learning_rate=1e-3,
    dictionary_learning_rate=3e-3,
    schedule="cosine",
    weight_decay=0.01,
    temperature=(1.0, 0.2),
    held_out=0.25,
    validate_every=10**9,
)
SETTINGS = [
    ("per_update", 1, 400),
    ("per_batch", 1, 400),
    ("per_batch", 4, 400),
    ("per_batch", 1, 100),
    ("per_batch", 4, 100),
    ("per_batch", 2, 400),
    ("per_batch", 8, 400),
    ("per_batch", 2, 100),
    ("per_batch", 8, 100),
    ("per_update", 1, 100),
]


class TimedTrainer(Trainer):
    """Measures how long each validation takes."""

    validating = 0.0

    def _validate(self, stage: str) -> None:
        started = time.perf_counter()
        super()._validate(stage)
        self.validating += time.perf_counter() - started


def measure(given: argparse.Namespace) -> None:
    universe = load_universe(given.universe)
    initial = universe.indices(read_text_list(given.initial), str(given.initial))
    images = load_images(given.images, "train")
    with given.out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["images", "seed", "rollouts", "histories", "updates", "seconds", "auc"])
        for seed in given.seeds:
            train, validation = hold_out(images, RECIPE.held_out, seed)
            for rollouts, histories, updates in SETTINGS:
                recipe = replace(
                    RECIPE,
                    rollouts=rollouts,
                    histories_per_rollout=histories,
                    biased_updates=updates,
                )
                trainer = TimedTrainer(
                    train,
                    validation,
                    torch.from_numpy(universe.embeddings),
                    torch.from_numpy(initial),
                    recipe,
                    min(128, len(initial)),
                    seed,
                )
                started = time.perf_counter()
                trained = trainer.train(Checkpoint(Path("never"), seconds=1e9))
                seconds = time.perf_counter() - started - trainer.validating
                area = trained.log[-1]["validation_auc"]
                row = [given.images.stem, seed, rollouts, histories, updates]
                writer.writerow([*row, f"{seconds:.2f}", f"{area:.4f}"])
                file.flush()
                print(*row, f"{seconds:.1f} s, AUC {100 * area:.1f}", flush=True)


def draw(files: list[Path], out: Path) -> None:
    """Mean AUC over seeds against mean seconds, a panel for each set of images."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    points: dict[str, dict[tuple[str, int], dict[int, list]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for path in files:
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                line = points[row["images"]][row["rollouts"], int(row["histories"])]
                line[int(row["updates"])].append((float(row["seconds"]), float(row["auc"])))
    figure, panels = plt.subplots(
        1, len(points), figsize=(4 * len(points), 3.4), layout="constrained", squeeze=False
    )
    for panel, (name, lines) in zip(panels[0], sorted(points.items()), strict=True):
        most = max(len(runs) for line in lines.values() for runs in line.values())
        for (rollouts, histories), line in sorted(lines.items()):
            ends = [line[updates] for updates in sorted(line) if len(line[updates]) == most]
            if not ends:
                continue  # fewer seeds than others: no mean to set beside theirs
            seconds = [statistics.mean(s for s, _ in runs) for runs in ends]
            area = [100 * statistics.mean(a for _, a in runs) for runs in ends]
            label = rollouts.replace("_", " ") + (f", {histories} histories" * (histories > 1))
            panel.plot(
                seconds, area, marker="o", label=label, ls="--" if "update" in rollouts else "-"
            )
        panel.set_title(name)
        panel.set_xlabel("seconds of training")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_ylabel("AUC on held-out images (%)")
    panels[0, -1].legend(frameon=False, fontsize="small")
    figure.savefig(out, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    artifacts = Path("artifacts")
    parser.add_argument("--images", type=Path, default=artifacts / "images/menagerie.parquet")
    parser.add_argument("--universe", type=Path, default=artifacts / "universe/embeddings.parquet")
    parser.add_argument("--initial", type=Path, default=artifacts / "initial/menagerie-medoids.txt")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=artifacts / "benchmarks/wall_time.csv")
    parser.add_argument("--plot", type=Path, nargs="+", help="draw these files into --out")
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    if given.plot:
        draw(given.plot, given.out)
    else:
        measure(given)


if __name__ == "__main__":
    main()
