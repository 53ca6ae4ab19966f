"""Whether stated probabilities are right on all test images, and how much is asked.

    python -m infopursuit_study.experiments.calibration

Takes all training images, of which a tenth that is drawn calibrates. The stopping rule is the
default. Needs ../shared/data, which is not part of the repository; a task without its files is
skipped. Accuracy, the mean probability stated, and the expected calibration error are in percent;
the error is of ten intervals: a mean over runs, and of the predictions of all runs together. `gap`
is the largest difference of accuracy and stated probability in a run. `by length` is the largest
difference of the two when every image is asked t questions, over t = 1, 2, 4, ... k. `decided` is
after how many questions the leading class is that of all answers for good.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from infopursuit import InformationPursuitClassifier
from infopursuit.core.numbers import table
from infopursuit.datasets.labelled_images import hold_out, load_images
from infopursuit.pursuit.stopping import DEFAULT_STOP
from infopursuit.texts.text_table import TextTable
from infopursuit_study.comparison.entries import named
from infopursuit_study.evaluation.run_metrics import expected_calibration_error
from infopursuit_study.experiments.meaning import ROOT, TASKS

BINS = 10
# The share of the training images that calibrates, as by default.
CALIBRATING = 0.1
COUNTS = ("asked", "shown", "decided")
Figures = dict[str, Any]


def figures(model: InformationPursuitClassifier, X: Any, y: np.ndarray) -> Figures:
    """Return the figures of a fitted model on test images."""
    explained = model.explain(X)
    stated = np.array([each.probability for each in explained])
    right = np.array([each.predicted_class for each in explained]) == y
    posteriors = model.roll_out(X).posteriors
    right_at = posteriors.argmax(dim=2).numpy() == np.searchsorted(model.classes_, y)[:, None]
    lengths = [t for t in (2**power for power in range(8)) if t < posteriors.shape[1]]
    gaps = (posteriors.amax(dim=2).double().numpy() - right_at).mean(axis=0)[lengths]
    asked = np.array([len(each.steps) for each in explained])
    leading = posteriors.argmax(dim=2)
    other = (leading != leading[:, -1:]).numpy()
    return {
        "at stop": right.mean(),
        "stated": stated.mean(),
        "ECE": calibration_error(stated, right),
        "ECE of all": np.stack([stated, right]),
        "after all": right_at[:, -1].mean(),
        "by length": np.abs(gaps).max(),
        "asked": asked.mean(),
        "shown": np.mean([sum(len(run) == 1 for run in each.folded()) for each in explained]),
        # After the last belief in another class than all answers give; row 0 is before any answer.
        "decided": (other * np.arange(1, other.shape[1] + 1)).max(axis=1).mean(),
        "asked all": (asked == len(model.queries_)).mean(),
    }


def of_images(name: str, data: Path, seed: int) -> Figures:
    """Return the figures of a task; and those of a regression."""
    folder, task, _ = TASKS[name]
    texts = TextTable.from_parquet(data / folder / "texts.parquet")
    images = data / folder / f"{task}.parquet"
    train, test = load_images(images, "train"), load_images(images, "test")
    train, drawn = hold_out(train, CALIBRATING, seed)
    embeddings = torch.from_numpy(texts.embeddings).float().numpy()
    model = InformationPursuitClassifier(texts.texts, embeddings, random_state=seed)
    X, y = named(train)
    model.fit(X, y, validation=named(drawn))
    X_test, y_test = named(test)
    head = LogisticRegression(C=100.0, max_iter=1000).fit(X, y)
    return {**figures(model, X_test, y_test), "regression": head.score(X_test, y_test)}


def calibration_error(stated: np.ndarray, right: np.ndarray) -> float:
    """Return the expected calibration error of n predictions."""
    return float(expected_calibration_error(stated[:, None], right[:, None], BINS)[0])


def row(title: str, runs: list[Figures]) -> list[str]:
    """Return a line of the table: means, and of shares the percent."""
    pooled = np.concatenate([run["ECE of all"] for run in runs], axis=1)
    gaps = [abs(run["stated"] - run["at stop"]) for run in runs]
    means = {key: float(np.mean([np.mean(run[key]) for run in runs])) for key in runs[0]}
    means["ECE of all"] = calibration_error(pooled[0], pooled[1] > 0)
    means["gap"] = max(gaps)
    shares = [f"{100 * value:.1f}" for key, value in means.items() if key not in COUNTS]
    return [title, str(len(runs)), *shares, *(f"{means[key]:.1f}" for key in COUNTS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{DEFAULT_STOP}", flush=True)
    rows, header = [], ["", "runs"]
    for name in given.tasks:
        try:
            runs = [of_images(name, given.data, seed) for seed in range(given.seeds)]
        except FileNotFoundError as error:
            print(f"{name}: skipped, since {error.filename} is missing", flush=True)
            continue
        rows.append(row(name, runs))
        header[2:] = [*(key for key in runs[0] if key not in COUNTS), "gap", *COUNTS]
        print(" | ".join(rows[-1]), flush=True)
    print(table(header, rows))


if __name__ == "__main__":
    main()
