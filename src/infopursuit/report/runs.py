"""What the stages measured about each run, read back from their files for the report."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from infopursuit.core.errors import InputError
from infopursuit.core.hashing import table_sha256
from infopursuit.estimators.saved import DESCRIPTION, FORMAT
from infopursuit.evaluation.files import write_csv
from infopursuit.evaluation.stopping import StoppingPoint
from infopursuit.explanation.explanation import ExplainedImage, read_explanations
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.report.meanings import PARTS, RunMeaning, check_meaning, run_meaning
from infopursuit.report.methods import has_updates
from infopursuit.report.truths import check_truth
from infopursuit.report.worst_answers import WorstAnswer, read_worst

CURVE = ("t", "accuracy", "low", "high", "nll", "ece")
TRAINING = ("phase", "updates", "loss", "validation_auc", "distinct_queries")
METRICS = (
    "auc",
    "auc_low",
    "auc_high",
    "accuracy_at_T",
    "ece_at_T",
    "accuracy_at_stop",
    "mean_length_at_stop",
    "budget",
    "test_images",
    *(f"stop_{name}" for name in StoppingRule._fields),
)
# Of a trained model's provenance.
PROVENANCE = ("settings", "selected", "evolution", "inputs")

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


class ShownAnswer(NamedTuple):
    """A false answer, and the file of the picture that gave it; None where there are no pixels."""

    answer: WorstAnswer
    picture: Path | None


@dataclass(frozen=True)
class Run:
    """Everything the report says about one run.

    Attributes:
        key: data set, initial dictionary, method, seed.
        metrics: flat metrics of the evaluation.
        curve: columns of the budget curve, one value for each t = 0..T.
        stopping: all rules at all thresholds.
        training: columns of the training log, one value a validation; empty without updates.
        predictions: the file of test predictions, for paired comparisons.
        class_names: the c classes, in the order of their labels.
        settings: of the method; its name is free.
        selected: phase, updates and validation AUC of the weights that were kept.
        inputs: SHA-256 of each file that the model was trained on, by name.
        clip: the CLIP of the embeddings, by name; None where that is not known.
        evolution: the k texts of the dictionary at `initial`, `midway` and `final`.
        stop: when explanations stop; the metrics are measured with the same rule.
        explanations: of single test images.
        sources: path and SHA-256 of each file read.
        meaning: how true its answers are, and how sensible its questions.
        worst: the false answers that did most harm, the worst first.
        truth: how far answers agree with what is in the pictures; empty where that is not known.
    """

    key: RunKey
    metrics: Mapping[str, Any]
    curve: Mapping[str, list[float]]
    stopping: tuple[StoppingPoint, ...]
    training: Mapping[str, list[Any]]
    predictions: Path
    class_names: tuple[str, ...]
    settings: Mapping[str, Any]
    selected: Mapping[str, Any]
    inputs: Mapping[str, str]
    clip: str | None
    evolution: Mapping[str, list[str]]
    stop: StoppingRule
    explanations: tuple[ExplainedImage, ...]
    sources: Mapping[str, str]
    meaning: RunMeaning = field(default_factory=RunMeaning)
    worst: tuple[ShownAnswer, ...] = ()
    truth: Mapping[str, Any] = field(default_factory=dict)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.class_names)

    @property
    def selected_on_test(self) -> bool:
        """Whether the model was selected on the very images the figures are about."""
        return self.settings["select_on"] == "test"

    @property
    def distinct_queries(self) -> int:
        """How many different texts the final dictionary has."""
        return len(set(self.evolution["final"]))

    @property
    def validation_auc(self) -> float:
        """The AUC on the validation images, which the model was selected by."""
        return self.selected["validation_auc"]


@dataclass(frozen=True)
class DatasetResults:
    """The runs of one data set, and the metrics of the baselines."""

    name: str
    runs: tuple[Run, ...]
    baselines: Mapping[str, Any]


def read_dataset(
    artifacts: Path, dataset: str, keys: Sequence[RunKey], truth: bool = False
) -> DatasetResults:
    """Read all results of one data set; with `truth`, how true its answers are.

    Raises:
        InputError: a file is missing or malformed.
    """
    path = artifacts / "baselines" / f"{dataset}.json"
    runs = tuple(read_run(artifacts, key, truth) for key in keys)
    return DatasetResults(dataset, runs, read_metrics(path, ("mlp_accuracy",)))


def read_run(artifacts: Path, key: RunKey, truth: bool = False) -> Run:
    """Read what the stages train, evaluate, explain and meaning wrote about a run.

    With `truth` also what the stage truth wrote.

    Raises:
        InputError: a file is missing or malformed, or metrics and explanations are of different
            stopping rules.
    """
    evaluation = artifacts / "evaluation"
    metrics = evaluation / f"{key.name}.json"
    curve = evaluation / key.name / "curve.csv"
    stopping = evaluation / key.name / "stopping.csv"
    predictions = evaluation / key.name / "predictions.parquet"
    training = artifacts / "training" / f"{key.name}.csv"
    model = artifacts / "models" / key.name
    explanations = artifacts / "explanations" / key.name
    clip, class_names, provenance = read_model(model / DESCRIPTION)
    settings = provenance["settings"]
    found = read_metrics(metrics, METRICS)
    stop, explained = read_explanations(explanations / "explanations.json")
    measured = StoppingRule(*(found[f"stop_{name}"] for name in StoppingRule._fields))
    if measured != stop:
        raise InputError(
            f"{metrics}: measured with {measured}, but {explanations} were drawn with {stop}; "
            "expected one stopping rule: `dvc repro` makes both anew"
        )
    points = read_columns(stopping, StoppingPoint._fields)
    log = [training] if has_updates(settings) else []
    told = [evaluation / f"{key.name}.truth.json"] if truth else []
    known = read_metrics(told[0], TRUTH) if told else {}
    if told:
        check_truth(told[0], known)
    said = artifacts / "meaning" / f"{key.name}.json"
    meaning = read_metrics(said, tuple(PARTS))
    check_meaning(said, meaning)
    worst = evaluation / f"{key.name}.worst" if truth else artifacts / "meaning" / key.name
    files = [metrics, curve, stopping, predictions, *log, model / DESCRIPTION, said, *told]
    return Run(
        key=key,
        metrics=found,
        curve=read_columns(curve, CURVE),
        stopping=tuple(
            StoppingPoint(*row)
            for row in zip(*(points[name] for name in StoppingPoint._fields), strict=True)
        ),
        training=read_columns(training, TRAINING) if log else {},
        predictions=predictions,
        class_names=class_names,
        settings=settings,
        selected=provenance["selected"],
        inputs=provenance["inputs"],
        clip=clip,
        evolution=provenance["evolution"],
        stop=stop,
        explanations=tuple(
            each._replace(figure=str(explanations / each.figure)) for each in explained
        ),
        sources={path.relative_to(artifacts).as_posix(): sha256(path) for path in files},
        meaning=run_meaning(meaning, known),
        worst=tuple(
            ShownAnswer(answer, None if answer.picture is None else worst / answer.picture)
            for answer in read_worst(worst)
        ),
        truth=known,
    )


def read_model(path: Path) -> tuple[str | None, tuple[str, ...], dict[str, Any]]:
    """The CLIP of a saved model, the names of its classes, and its provenance; no weights.

    Raises:
        InputError: the description is missing, of another format, or lacks a key of a trained run.
    """
    found = read_metrics(path, ("format", "clip", "classes", "provenance"))
    if found["format"] != FORMAT:
        raise InputError(f"{path}: format {found['format']!r}; expected {FORMAT}")
    for name in PROVENANCE:
        if name not in found["provenance"]:
            raise InputError(f"{path}: no key provenance.{name}; expected a model of stage train")
    names = tuple(str(value) for value in found["classes"]["values"])
    return found["clip"]["name"], names, found["provenance"]


def write_curves(path: Path, datasets: Sequence[DatasetResults]) -> None:
    """Write the budget curves of all runs as one table, which `dvc plots` draws together."""
    rows = [
        (run.key.name, int(t), accuracy)
        for results in datasets
        for run in results.runs
        for t, accuracy in zip(run.curve["t"], run.curve["accuracy"], strict=True)
    ]
    write_csv(path, ("run", "t", "accuracy"), rows)


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
    """SHA-256 of a table.

    Raises:
        InputError: the file is missing.
    """
    try:
        return table_sha256(path)
    except FileNotFoundError as error:
        raise _missing(path) from error


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _missing(path: Path) -> InputError:
    return InputError(f"{path}: no such file; `dvc repro` makes it")
