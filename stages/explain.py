"""Explain chosen test images of one run, and draw them: questions, answers and posteriors.

    python stages/explain.py --dataset menagerie --init llm --method alternating --seed 0

Writes the folder artifacts/explanations/RUN.
"""

from __future__ import annotations

from infopursuit.core.stage import RowCounts, run

from infopursuit.core.files import atomic_folder
from infopursuit.core.run_name import RunName
from infopursuit.core.settings import ComputeSettings, Positive, Section
from infopursuit.datasets.labelled_images import load_images
from infopursuit.datasets.settings import Datasets
from infopursuit.estimators.base import load_fitted
from infopursuit.estimators.places import why_none
from infopursuit.pipeline import paths
from infopursuit.pipeline.run_settings import ExplainSettings
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
    explained = explanations(model, test, predicted, explain, images)
    ids = [each.explanation.image for each in explained]
    pictures = load_pictures(settings.datasets[dataset].images, test.class_names, ids)
    if pictures and why_none(model) is None:
        explained = with_places(model, explained, pictures)
    with atomic_folder(paths.explanations(name)) as folder:
        for explanation, figure in explained:
            picture = pictures.get(explanation.image)
            drawn = explanation_png(explanation, explain.classes_shown, picture, explain.stop)
            (folder / figure).write_bytes(drawn)
        write_explanations(folder / "explanations.json", explain.stop, explained)
    return RowCounts(read=len(test.ids), written=len(explained))


if __name__ == "__main__":
    run(main)
