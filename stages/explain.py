"""Explain chosen test images of one run, and draw them: questions, answers and posteriors.

    python stages/explain.py --dataset menagerie --init llm --method alternating --seed 0

Writes the folder artifacts/explanations/RUN.
"""

from __future__ import annotations

from infopursuit.core.stage import RowCounts, run

import csv
from pathlib import Path

import numpy as np
from PIL import Image

from infopursuit.core.files import atomic_folder
from infopursuit.core.run_name import RunName
from infopursuit.core.settings import ComputeSettings, Positive, Section
from infopursuit.datasets.labelled_images import LabelledImages, load_images
from infopursuit.datasets.settings import Datasets
from infopursuit.estimators.base import DecidingClassifier, PursuitClassifier, load_fitted
from infopursuit.estimators.places import located, mapped, why_none
from infopursuit.pipeline import paths
from infopursuit.pipeline.run_settings import ExplainSettings
from infopursuit.pursuit.explanation import ExplainedImage, write_explanations
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.report.figures import explanation_png, figure_names
from infopursuit_study.evaluation.chosen_images import load_pictures, rows_of, spread_rows
from infopursuit_study.evaluation.files import AT_STOP


class Settings(Section):
    """What this stage reads of params.yaml."""

    datasets: Datasets
    explain: ExplainSettings
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str, init: str, method: str, seed: int) -> RowCounts:
    name = RunName(dataset, init, method, seed)
    images, explain = paths.images(dataset), settings.explain
    model = load_fitted(paths.model(name), device=settings.compute.torch_device())
    test = load_images(images, "test", settings.max_images)
    predicted = predicted_at_stop(paths.evaluation(name) / AT_STOP)
    explained = explanations(model, test, predicted, explain.stop, explain, images)
    ids = [each.explanation.image for each in explained]
    pictures = load_pictures(settings.datasets[dataset].images, test.class_names, ids)
    if pictures and why_none(model) is None:
        explained = with_places(model, explained, pictures)
    with atomic_folder(paths.explanations(name)) as folder:
        for explanation, figure, _ in explained:
            picture = pictures.get(explanation.image)
            drawn = explanation_png(explanation, explain.classes_shown, picture, explain.stop)
            (folder / figure).write_bytes(drawn)
        write_explanations(folder / "explanations.json", explain.stop, explained)
    return RowCounts(read=len(test.ids), written=len(explained))


def predicted_at_stop(path: Path) -> np.ndarray:
    """Return the class (n,) predicted of each test image when its questions stopped."""
    with path.open(encoding="utf-8", newline="") as file:
        return np.array([int(row["predicted"]) for row in csv.DictReader(file)])


def explanations(
    model: PursuitClassifier,
    test: LabelledImages,
    predicted: np.ndarray,
    stop: StoppingRule,
    explain: ExplainSettings,
    path: Path,
) -> list[ExplainedImage]:
    """Explain images that are spread over the classes, and those that params.yaml names."""
    spread = spread_rows(test.labels.numpy(), predicted, explain.images)
    ids = [test.ids[row] for row in spread]
    named = explain.ids.get(path.stem, [])
    ids = list(dict.fromkeys([*ids, *named]))
    # Of a large split `test` is a sample, which may lack an image that is named.
    images = test if set(named) <= set(test.ids) else load_images(path, "test", 1, always=ids)
    rows = rows_of(images, ids)
    pursuit = model.pursuit_
    answers = pursuit.answers(images.embeddings[rows].to(pursuit.device))
    labels = [images.class_names[int(images.labels[row])] for row in rows]
    explained = pursuit.explain(answers, stop, ids, labels)
    short = [None] * len(ids)
    if isinstance(model, DecidingClassifier):
        probability, most = (
            explain.stop_at_probability or 1.0,
            explain.max_queries or answers.shape[1],
        )
        short = model.decided(answers, probability, most, ids, labels, stop=stop)
    return list(map(ExplainedImage, explained, figure_names(ids), short))


def with_places(
    model: PursuitClassifier, explained: list[ExplainedImage], pictures: dict[str, Image.Image]
) -> list[ExplainedImage]:
    """Put the place of each yes into explanations."""
    shown = [pictures[each.explanation.image] for each in explained]
    _, maps = mapped(model, shown)
    long = located(model, [each.explanation for each in explained], maps, shown)
    short = [
        each.short and located(model, [each.short], maps[[row]], [shown[row]])[0]
        for row, each in enumerate(explained)
    ]
    figures = [each.figure for each in explained]
    return list(map(ExplainedImage, long, figures, short))


if __name__ == "__main__":
    run(main)
