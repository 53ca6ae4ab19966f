"""Whether stated probabilities are right, with few images and with all, and how much is asked.

    python -m infopursuit_study.experiments.calibration few
    python -m infopursuit_study.experiments.calibration few --tasks pets --sizes 1 3 --seeds 1
    python -m infopursuit_study.experiments.calibration few --held-out --spread 0
    python -m infopursuit_study.experiments.calibration all
    python -m infopursuit_study.experiments.calibration columns

`few` draws images of each training class, and asks 500 test images, as many of each class; `all`
takes all training images, of which a tenth that is drawn calibrates, and asks all test images. The
stopping rule is the default. Both need ../shared/data, which is not part of the repository; a task
without its files is skipped. With `--held-out` no test image is read: training images that the fit
did not see are asked instead, and `--spread` is the number that the spread of the tempering is
computed with (`SPREAD` of `infopursuit.pursuit.naive_bayes.fit`). `columns` is ten-fold cross-
validation on tables of scikit-learn. Accuracy, the mean probability stated, and the expected
calibration error are in percent; the error is of ten intervals: a mean over runs, and of the
predictions of all runs together (with 500 images a perfect model has 2 to 4 by chance in one run).
`gap` is the largest difference of accuracy and stated probability in a run. `by length` is the
largest difference of the two when every image is asked t questions, over t = 1, 2, 4, ... k.
`decided` is after how many questions the leading class is that of all answers for good.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from infopursuit import InformationPursuitClassifier
from infopursuit.core.numbers import table
from infopursuit.datasets.labelled_images import even_sample, hold_out, load_images
from infopursuit.pursuit.naive_bayes import fit as naive_bayes_fit
from infopursuit.pursuit.stopping import DEFAULT_STOP
from infopursuit.texts.text_table import TextTable
from infopursuit_study.evaluation.run_metrics import expected_calibration_error
from infopursuit_study.experiments.meaning import ROOT, TASKS

TESTED, BINS = 500, 10
# The share of the training images that is asked in place of test images.
HELD_OUT = 0.25
# The share of the training images that calibrates, as by default.
CALIBRATING = 0.1
SIZES = (1, 3, 5, 10, 16)
COUNTS = ("asked", "shown", "decided")
TABLES = {"breast cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}
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


def of_images(
    name: str, data: Path, size: int | None, seed: int, held_out: bool = False
) -> Figures:
    """Return the figures with `size` images of each class, or all; and those of a regression."""
    folder, task, _ = TASKS[name]
    texts = TextTable.from_parquet(data / folder / "texts.parquet")
    images = data / folder / f"{task}.parquet"
    train = load_images(images, "train")
    train, test = (
        hold_out(train, HELD_OUT, seed) if held_out else (train, load_images(images, "test"))
    )
    generator, calibrating = torch.Generator().manual_seed(seed), None
    if size is None:
        train, drawn = hold_out(train, CALIBRATING, seed)
        calibrating = drawn.embeddings.numpy(), np.array(train.class_names)[drawn.labels.numpy()]
    else:
        test = test.subset(even_sample(test.labels, TESTED, generator))
        order = torch.randperm(len(train.labels), generator=generator)
        drawn = [order[train.labels[order] == label][:size] for label in train.labels.unique()]
        train = train.subset(torch.cat(drawn))
    X, y = train.embeddings.numpy(), np.array(train.class_names)[train.labels.numpy()]
    embeddings = torch.from_numpy(texts.embeddings).float().numpy()
    model = InformationPursuitClassifier(texts.texts, embeddings, random_state=seed)
    model.fit(X, y, validation=calibrating)
    X_test, y_test = test.embeddings.numpy(), np.array(test.class_names)[test.labels.numpy()]
    head = LogisticRegression(C=100.0, max_iter=1000).fit(X, y)
    regression = {"regression": head.score(X_test, y_test)}
    return {**figures(model, X_test, y_test), **regression}


def of_columns(name: str, seed: int) -> Iterator[Figures]:
    """Yield the figures of each of ten folds of a table."""
    X, y = TABLES[name](return_X_y=True)
    for rest, held in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
        model = InformationPursuitClassifier(random_state=seed).fit(X[rest], y[rest])
        scaler = StandardScaler().fit(X[rest])
        head = LogisticRegression().fit(scaler.transform(X[rest]), y[rest])
        regression = {"regression": head.score(scaler.transform(X[held]), y[held])}
        yield {**figures(model, X[held], y[held]), **regression}


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
    parser.add_argument("what", choices=("few", "all", "columns"))
    parser.add_argument("--tasks", nargs="+", choices=(*TASKS, *TABLES))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--spread", type=float, default=naive_bayes_fit.SPREAD)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    given = parser.parse_args()
    if given.what == "columns" and (given.held_out or given.spread != naive_bayes_fit.SPREAD):
        parser.error("--held-out and --spread are for images; expected few or all")
    naive_bayes_fit.SPREAD = given.spread
    torch.set_num_threads(1)
    print(f"{DEFAULT_STOP}", flush=True)
    rows, header = [], ["", "runs"]
    for name in given.tasks or (TABLES if given.what == "columns" else TASKS):
        for size in given.sizes if given.what == "few" else (None,):
            try:
                if given.what == "columns":
                    runs = [run for s in range(given.seeds) for run in of_columns(name, s)]
                else:
                    runs = [
                        of_images(name, given.data, size, seed, given.held_out)
                        for seed in range(given.seeds)
                    ]
            except FileNotFoundError as error:
                print(f"{name}: skipped, since {error.filename} is missing", flush=True)
                break
            rows.append(row(f"{name}, {size or 'all'}", runs))
            header[2:] = [*(key for key in runs[0] if key not in COUNTS), "gap", *COUNTS]
            print(" | ".join(rows[-1]), flush=True)
    print(table(header, rows))


if __name__ == "__main__":
    main()
