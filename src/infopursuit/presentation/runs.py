"""What the stages measured about each run, read back from their files for the report."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from infopursuit.errors import InputError
from infopursuit.evaluation.stopping import StoppingPoint
from infopursuit.presentation.trajectories import Stop, Trajectory, read_trajectories
from infopursuit.pursuit.model import DESCRIPTION, TrainedModel

CURVE = ("t", "accuracy", "low", "high", "nll", "ece")
TRAINING = ("stage", "updates", "loss", "validation_auc", "distinct_queries")
METRICS = (
    "auc",
    "auc_low",
    "auc_high",
    "accuracy_at_T",
    "ece_at_T",
    "budget",
    "test_images",
)

# Of the comparison with what is in the pictures, where a data set knows that.
TRUTH = ("dictionary_queries", "phrases_queries", "phrases_agreement", "phrases_share_true")


class RunKey(NamedTuple):
    """One cell of the matrix of runs."""

    dataset: str
    init: str
    method: str
    seed: int

    @property
    def name(self) -> str:
        """The name of the run's files."""
        return f"{self.dataset}-{self.init}-{self.method}-{self.seed}"


class Explanation(NamedTuple):
    """One explained image and its figure."""

    trajectory: Trajectory
    figure: Path


@dataclass(frozen=True)
class Run:
    """Everything the report says about one run.

    Attributes:
        key: data set, initial dictionary, method, seed.
        metrics: flat metrics of the evaluation.
        curve: columns of the budget curve, one value for each t = 0..T.
        stopping: all rules at all thresholds.
        training: columns of the training log, one value a validation.
        predictions: the file of test predictions, for paired comparisons.
        classes: how many there are.
        settings: of the trained model: recipe, hashes of inputs, CLIP.
        evolution: the k texts of the dictionary at `initial`, `midway` and `final`.
        stop: when the explanations stop.
        explanations: of single test images.
        sources: path and SHA-256 of each file read.
        truth: how far answers agree with what is in the pictures; empty where that is not known.
    """

    key: RunKey
    metrics: Mapping[str, Any]
    curve: Mapping[str, list[float]]
    stopping: tuple[StoppingPoint, ...]
    training: Mapping[str, list[Any]]
    predictions: Path
    classes: int
    settings: Mapping[str, Any]
    evolution: Mapping[str, list[str]]
    stop: Stop
    explanations: tuple[Explanation, ...]
    sources: Mapping[str, str]
    truth: Mapping[str, Any] = field(default_factory=dict)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """How it was trained; what a method is, for its name is free."""
        return self.settings["recipe"]

    @property
    def selected_on_test(self) -> bool:
        """Whether the weights were selected on the very images the figures are about."""
        return self.recipe["select_on"] == "test"

    @property
    def distinct_queries(self) -> int:
        """How many different texts the final dictionary has."""
        return len(set(self.evolution["final"]))

    @property
    def validation_auc(self) -> float:
        """The AUC that the weights were selected by."""
        return self.settings["selected"]["validation_auc"]


@dataclass(frozen=True)
class DatasetResults:
    """The runs of one data set and what classifiers that see the whole embedding reach."""

    name: str
    runs: tuple[Run, ...]
    black_box: Mapping[str, Any]


def read_dataset(
    artifacts: Path, dataset: str, keys: Sequence[RunKey], truths: bool = False
) -> DatasetResults:
    """Read all results of one data set; with `truths`, how true its answers are.

    Raises:
        InputError: a file is missing or malformed.
    """
    path = artifacts / "black_box" / f"{dataset}.json"
    runs = tuple(read_run(artifacts, key, truths) for key in keys)
    return DatasetResults(dataset, runs, read_metrics(path, ("mlp_accuracy",)))


def read_run(artifacts: Path, key: RunKey, truths: bool = False) -> Run:
    """Read what the stages train, evaluate and explain wrote about a run, and with `truths` truth.

    Raises:
        InputError: a file is missing or malformed.
    """
    evaluation = artifacts / "evaluation"
    metrics = evaluation / f"{key.name}.json"
    curve = evaluation / key.name / "curve.csv"
    stopping = evaluation / key.name / "stopping.csv"
    predictions = evaluation / key.name / "predictions.parquet"
    training = artifacts / "training" / f"{key.name}.csv"
    model = artifacts / "models" / key.name
    explanations = artifacts / "explanations" / key.name
    loaded = TrainedModel.load(model)
    stop, explained = read_trajectories(explanations / "trajectories.json")
    points = read_columns(stopping, StoppingPoint._fields)
    truth = [evaluation / f"{key.name}.truth.json"] if truths else []
    files = [metrics, curve, stopping, predictions, training, model / DESCRIPTION, *truth]
    return Run(
        key=key,
        metrics=read_metrics(metrics, METRICS),
        curve=read_columns(curve, CURVE),
        stopping=tuple(
            StoppingPoint(*row)
            for row in zip(*(points[name] for name in StoppingPoint._fields), strict=True)
        ),
        training=read_columns(training, TRAINING),
        predictions=predictions,
        classes=len(loaded.class_names),
        settings=loaded.settings,
        evolution=loaded.evolution,
        stop=stop,
        explanations=tuple(
            Explanation(trajectory, explanations / figure) for trajectory, figure in explained
        ),
        sources={path.relative_to(artifacts).as_posix(): sha256(path) for path in files},
        truth=read_metrics(truth[0], TRUTH) if truth else {},
    )


def write_curves(path: Path, datasets: Sequence[DatasetResults]) -> None:
    """Write the budget curves of all runs as one table, which `dvc plots` draws together."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("run", "t", "accuracy"))
        for results in datasets:
            for run in results.runs:
                for t, accuracy in zip(run.curve["t"], run.curve["accuracy"], strict=True):
                    writer.writerow((run.key.name, int(t), accuracy))


def read_metrics(path: Path, needed: Sequence[str]) -> dict[str, Any]:
    """Read a flat JSON of metrics.

    Raises:
        InputError: the file is missing, is no JSON object, or lacks one of the `needed` keys.
    """
    try:
        metrics = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise _missing(path) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid JSON ({error})") from error
    absent = [name for name in needed if not isinstance(metrics, dict) or name not in metrics]
    if absent:
        raise InputError(f"{path}: no key {absent[0]!r}; expected {', '.join(needed)}")
    return metrics


def read_columns(path: Path, needed: Sequence[str]) -> dict[str, list[Any]]:
    """Read a CSV as columns; numbers become floats, other values stay texts.

    Raises:
        InputError: the file is missing, has no rows, lacks a column, or a row has another length.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            names, *rows = csv.reader(file)
    except FileNotFoundError as error:
        raise _missing(path) from error
    except ValueError as error:
        raise InputError(f"{path}: not a CSV with a header ({error})") from error
    absent = [name for name in needed if name not in names]
    if absent:
        raise InputError(
            f"{path}: no column {absent[0]!r}; expected {', '.join(needed)}, "
            f"found {', '.join(names)}"
        )
    if not rows:
        raise InputError(f"{path}: no rows; expected at least one")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise InputError(f"{path}: line {number} has {len(row)} values; expected {len(names)}")
    return {name: [_value(row[column]) for row in rows] for column, name in enumerate(names)}


def sha256(path: Path) -> str:
    """SHA-256 of a file.

    Raises:
        InputError: the file is missing.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise _missing(path) from error


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _missing(path: Path) -> InputError:
    return InputError(f"{path}: no such file; `dvc repro` makes it")
