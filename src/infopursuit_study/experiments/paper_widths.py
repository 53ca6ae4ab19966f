"""The paper's networks at the paper's widths, on real embeddings: accuracy, and seconds of a run.

    python -m infopursuit_study.experiments.paper_widths --device cuda
    python -m infopursuit_study.experiments.paper_widths --tasks food10 --seeds 1

What `params/paper-widths.yaml` trains in the pipeline (`alternating` from the listed dictionary,
7,200 updates), without the pipeline. It needs ../shared/data, which is not part of the repository;
a task without its files is skipped. Accuracy on the test images is in percent; AUC is its mean
after 1 to 128 questions, with all of them asked.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks.harness import machine
from infopursuit.core.numbers import table
from infopursuit.core.repeatable import compute_repeatably
from infopursuit.core.settings import read_yaml
from infopursuit.datasets.labelled_images import load_images
from infopursuit.estimators.variational import VariationalInformationPursuit
from infopursuit.texts.text_table import TextTable
from infopursuit_study.experiments.meaning import ROOT, TASKS

DICTIONARIES = ROOT / "params/precomputed/dictionaries"
SETTINGS = ROOT / "params/paper-widths.yaml"
BUDGET = 128


def trained(name: str, data: Path, seed: int, device: str) -> tuple[np.ndarray, float]:
    """Return the accuracy on test images after 0..128 questions, and the seconds of the fit."""
    folder, task, _ = TASKS[name]
    texts = TextTable.from_parquet(data / folder / "texts.parquet")
    listed = DICTIONARIES / f"{folder.removeprefix('clip_')}-{task}.txt"
    train, test = (load_images(data / folder / f"{task}.parquet", s) for s in ("train", "test"))
    model = VariationalInformationPursuit(
        texts.texts,
        texts.embeddings,
        queries=listed.read_text(encoding="utf-8").splitlines(),
        **read_yaml(SETTINGS)["methods"]["fixed"],
        device=device,
        random_state=seed,
    )
    started = time.perf_counter()
    model.fit(train.embeddings.numpy(), train.labels.numpy())
    took = time.perf_counter() - started
    right = model.accuracy_by_budget(test.embeddings.numpy(), test.labels.numpy(), BUDGET)
    return np.asarray(right), took


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    given = parser.parse_args()
    compute_repeatably()
    print(machine(), flush=True)
    rows = []
    for seed in range(given.seeds):
        for name in given.tasks:
            try:
                right, took = trained(name, given.data, seed, given.device)
            except FileNotFoundError as error:
                print(f"{name}: skipped, since {error.filename} is missing", flush=True)
                continue
            shares = (right[1:].mean(), right[10], right[-1])
            figures = [*(f"{100 * share:.1f}" for share in shares), f"{took:.0f}"]
            rows.append([name, str(seed), *figures])
            print(" | ".join(rows[-1]), flush=True)
    print(table(["task", "seed", "AUC", "after 10", "after all", "seconds"], rows))


if __name__ == "__main__":
    main()
