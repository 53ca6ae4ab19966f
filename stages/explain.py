"""Explain chosen test images of one run: questions, answers and posteriors, as figures and data.

python stages/explain.py --dataset menagerie --init llm --method alternating --seed 0
"""

from __future__ import annotations

from infopursuit.core.stage import Rows, run

import shutil
from pathlib import Path

from infopursuit.core.settings import Positive, Section
from infopursuit.core.whole_files import whole_file
from infopursuit.datasets.labelled_images import load_images
from infopursuit.datasets.settings import Datasets
from infopursuit.estimators.deciding import DecidingClassifier
from infopursuit.estimators.saved import load
from infopursuit.evaluation.measurement import check_classes
from infopursuit.executors.settings import ComputeSettings
from infopursuit.explanation.explanation import ExplainedImage, Explanation, write_explanations
from infopursuit.explanation.figure import explanation_png
from infopursuit.explanation.settings import ExplainSettings
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.report.chosen_images import (
    figure_names,
    load_pictures,
    predictions_at_stop,
    rows_of,
    spread_rows,
)


class Settings(Section):
    """What this stage reads of params.yaml."""

    datasets: Datasets
    explain: ExplainSettings
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str, init: str, method: str, seed: int) -> Rows:
    name = f"{dataset}-{init}-{method}-{seed}"
    explain = settings.explain
    model = load(Path("artifacts/models") / name, settings.compute.torch_device())
    pursuit = model.pursuit_
    named = explain.ids.get(dataset, [])
    images = load_images(
        f"artifacts/images/{dataset}.parquet", "test", settings.max_images, always=named
    )
    check_classes(pursuit.class_names, images.class_names)
    stop = StoppingRule(explain.stop_at_probability, explain.max_queries)

    predicted = predictions_at_stop(pursuit, images, stop)
    spread = spread_rows(images.labels.numpy(), predicted, explain.images)
    wanted = rows_of(images, named)
    rows = list(dict.fromkeys([*spread, *wanted]))
    ids = [images.ids[row] for row in rows]
    answers = pursuit.answers(images.embeddings[rows].to(pursuit.device))
    labels = [images.class_names[int(images.labels[row])] for row in rows]
    told = pursuit.explain(answers, stop, ids, labels)
    short: list[Explanation | None] = [None] * len(rows)
    if isinstance(model, DecidingClassifier):
        probability, most = explain.stop_at_probability, explain.max_queries
        short = [*model.decided(answers, probability, most, ids, labels)]
    pictures = load_pictures(settings.datasets[dataset].images, images.class_names, ids)

    folder = Path("artifacts/explanations") / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    figures = figure_names(ids)
    for explanation, figure in zip(told, figures, strict=True):
        picture = pictures.get(explanation.image)
        shown = explanation_png(explanation, explain.classes_shown, picture, stop)
        with whole_file(folder / figure) as partial:
            partial.write_bytes(shown)
    explained = list(map(ExplainedImage, told, figures, short))
    write_explanations(folder / "explanations.json", stop, explained)
    return Rows(read=len(images.ids), written=len(told))


if __name__ == "__main__":
    run(main)
