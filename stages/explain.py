"""Explain chosen test images by each run, and draw them: questions, answers and posteriors.

    python stages/explain.py --dataset menagerie

Writes the folder artifacts/explanations/DATASET, with a folder for each run.
"""

from __future__ import annotations

from infopursuit.core.stage import RowCounts, run

from itertools import product
from pathlib import Path

from infopursuit.core.files import atomic_folder
from infopursuit.core.run_name import RunName
from infopursuit.core.settings import ComputeSettings, Positive, Section
from infopursuit.datasets.labelled_images import LabelledImages, load_images
from infopursuit.datasets.settings import Datasets
from infopursuit.estimators.base import load_fitted
from infopursuit.estimators.places import why_none
from infopursuit.pipeline import paths, run_paths
from infopursuit.pipeline.run_settings import ExplainSettings, RunSettings
from infopursuit.report.figures import explanation_png
from infopursuit_study.evaluation.chosen_images import load_pictures
from infopursuit_study.evaluation.explained_images import (
    explanations,
    predicted_at_stop,
    with_places,
    write_explanations,
)
from infopursuit_study.evaluation.files import AT_STOP


class Settings(Section):
    run: RunSettings
    datasets: Datasets
    explain: ExplainSettings
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str) -> RowCounts:
    runs = settings.run
    test = load_images(paths.images(dataset), "test", settings.max_images)
    count = 0
    with atomic_folder(run_paths.explanations(dataset)) as folder:
        for key in product(runs.inits, runs.methods, runs.seeds):
            count += explain(settings, RunName(dataset, *key), test, folder)
    return RowCounts(read=len(test.ids), written=count)


def explain(settings: Settings, name: RunName, test: LabelledImages, folder: Path) -> int:
    """Explain by one run; return how many images."""
    chosen = settings.explain
    model = load_fitted(run_paths.model(name), device=settings.compute.torch_device())
    predicted = predicted_at_stop(run_paths.evaluation(name) / AT_STOP)
    named = chosen.ids.get(name.dataset, [])
    explained = explanations(model, test, predicted, chosen, named, paths.images(name.dataset))
    ids = [each.explanation.image for each in explained]
    pictures = load_pictures(settings.datasets[name.dataset].images, test.class_names, ids)
    if pictures and why_none(model) is None:
        explained = with_places(model, explained, pictures)
    home = folder / str(name)
    home.mkdir()
    for explanation, figure in explained:
        picture = pictures.get(explanation.image)
        drawn = explanation_png(explanation, chosen.classes_shown, picture, chosen.stop)
        (home / figure).write_bytes(drawn)
    write_explanations(home / "explanations.json", chosen.stop, explained)
    return len(explained)


if __name__ == "__main__":
    run(main)
