"""What the stages measured about each run, read back from their files for the report.

The project wrote these files itself, so they are not validated again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyarrow import csv

from infopursuit.core.csv_tables import write_csv
from infopursuit.core.errors import InputError
from infopursuit.core.files import atomic_folder, table_sha256
from infopursuit.core.run_name import RunName
from infopursuit.estimators.persistence import DESCRIPTION
from infopursuit.estimators.provenance import images_held_out, words_run_out
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit_study.evaluation.explained_images import ExplainedImage, read_explanations
from infopursuit_study.evaluation.files import MEANING, METRICS, TRUTH
from infopursuit_study.evaluation.run_metrics import StoppingPoint
from infopursuit_study.run_report.methods import WORDS, has_updates

MEANING_FIGURES = WORDS["figures"]
# The log of its training, in the folder of a model.
TRAINING = "training.csv"


@dataclass(frozen=True)
class Run:
    """Everything the report says about one run.

    Attributes:
        curve: columns of the budget curve, one value for each t = 0..T.
        training: columns of the training log, one value a validation; empty without updates.
        predictions: the file of test predictions, for paired comparisons.
        selected: phase, updates and validation AUC of the weights that were kept.
        inputs: SHA-256 of each file that the model was trained on, by name.
        clip: the CLIP of the embeddings, by name; None if that is not known.
        evolution: the k texts of the dictionary at `initial`, `midway` and `final`.
        stop: when explanations stop; the metrics are measured with the same rule.
        sources: path and SHA-256 of each file read.
        meaning: MEANING_FIGURES by name; None if it is not known what is true.
        truth: how far answers agree with what is in the pictures; empty if that is not known.
        words_run_out: that its questions are odd ones, in a sentence; None if they are not.
        held_out: how many validation images there are; 0 if that is not known.
    """

    name: RunName
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
    meaning: Mapping[str, Any]
    truth: Mapping[str, Any]
    words_run_out: str | None = None
    held_out: int = 0

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
    artifacts: Path, dataset: str, names: Sequence[RunName], truth: bool = False
) -> DatasetResults:
    """Read all results of one data set; with `truth`, how true its answers are."""
    try:
        baselines = _read_json(artifacts / "baselines" / f"{dataset}.json")
        runs = tuple(read_run(artifacts, name, truth) for name in names)
    except FileNotFoundError as error:
        raise InputError(f"{error.filename}: no such file; `dvc repro` makes it") from error
    return DatasetResults(dataset, runs, baselines)


def read_run(artifacts: Path, name: RunName, truth: bool = False) -> Run:
    """Read what the stages wrote about a run; with `truth` also of what is in pictures."""
    evaluation = artifacts / "evaluation" / str(name)
    explanations = artifacts / "explanations" / name.dataset / str(name)
    description = artifacts / "models" / str(name)
    of_metrics, meaning, of_truth = (evaluation / each for each in (METRICS, MEANING, TRUTH))
    of_training = description / TRAINING
    saved = _read_json(description / DESCRIPTION)
    trained, metrics = saved["provenance"], _read_json(of_metrics)
    log = [of_training] if has_updates(trained["settings"]) else []
    facts = _read_json(of_truth) if truth else {}
    stop, explained = read_explanations(explanations / "explanations.json")
    measured = StoppingRule(*(metrics[f"stop_{field}"] for field in StoppingRule._fields))
    if measured != stop:
        raise InputError(
            f"{of_metrics}: measured with {measured}, but {explanations} were drawn with {stop}; "
            "expected one stopping rule: `dvc repro` makes both again"
        )
    measures = ("curve.csv", "stopping.csv", "predictions.parquet")
    files = [of_metrics, *(evaluation / each for each in measures), *log, description / DESCRIPTION,
             meaning, *([of_truth] if truth else [])]  # fmt: skip
    points = _read_columns(evaluation / "stopping.csv")
    return Run(
        name=name,
        metrics=metrics,
        curve=_read_columns(evaluation / "curve.csv"),
        stopping=tuple(
            StoppingPoint(*row)
            for row in zip(*(points[each] for each in StoppingPoint._fields), strict=True)
        ),
        training=_read_columns(of_training) if log else {},
        predictions=evaluation / "predictions.parquet",
        class_names=tuple(map(str, saved["classes"]["values"])),
        settings=trained["settings"],
        selected=trained["selected"],
        inputs=trained["inputs"],
        clip=saved["clip"]["name"],
        evolution=trained["evolution"],
        stop=stop,
        explanations=tuple(
            each._replace(figure=str(explanations / each.figure)) for each in explained
        ),
        sources={path.relative_to(artifacts).as_posix(): table_sha256(path) for path in files},
        meaning=_meaning_figures(_read_json(meaning), facts),
        truth=facts,
        words_run_out=words_run_out(trained),
        held_out=images_held_out(trained),
    )


def write_curves(
    folder: Path, datasets: Sequence[DatasetResults], of: str, columns: tuple[str, str]
) -> None:
    """Replace a folder of two columns of `curve` or `training` of runs, for `dvc plots diff`."""
    with atomic_folder(folder) as partial:
        for run in (run for results in datasets for run in results.runs):
            values: Mapping[str, list[Any]] = getattr(run, of)
            if values:
                rows = zip(map(int, values[columns[0]]), values[columns[1]], strict=True)
                write_csv(partial / f"{run.name}.csv", columns, rows)


def _meaning_figures(measured: dict[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the figures of a run; what pictures show comes before what is said of classes."""
    if "answers" in facts:
        chance = {"by": "pictures", "shuffled_precision_of_yes": facts["phrases_share_true"]}
        measured = measured | {"truth": facts["answers"]["phrases"] | chance}
    return {
        name: (measured.get(part) or {}).get(figure)
        for name, (part, figure) in MEANING_FIGURES.items()
    } | {"people": measured.get("people")}


def _read_json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _read_columns(path: Path) -> dict[str, list[Any]]:
    with path.open("rb") as file:
        return csv.read_csv(file).to_pydict()
