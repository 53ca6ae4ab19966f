"""Measure a trained model on the test images: accuracy, truth of answers, question quality.

    python stages/evaluate.py --dataset menagerie --init llm --method alternating --seed 0

Every test image is asked once. Truth and question quality are measured by the reference labels of
the data set; without them by its knowledge table. That is not an independent source: the file says
which one it was. In the embedded world it is known, too, what is in each picture. Writes the folder
artifacts/evaluation/RUN.
"""

from __future__ import annotations

from infopursuit.core.stage import SCRATCH, RowCounts, run

import logging

from infopursuit.core.run_name import RunName
from infopursuit.core.settings import ComputeSettings, Positive, Section
from infopursuit.core.tables import check_same_space
from infopursuit.datasets.labelled_images import load_images, load_training
from infopursuit.estimators.base import load_fitted
from infopursuit.estimators.provenance import RunProvenance
from infopursuit.pipeline import paths, run_paths
from infopursuit.pipeline.run_settings import EvaluateSettings, ExplainSettings, RunSettings
from infopursuit.texts.text_table import TextTable
from infopursuit_study.evaluation.accuracy import evaluate, write_evaluation
from infopursuit_study.evaluation.files import MEANING, METRICS, write_json
from infopursuit_study.meaning.measures import measure_meaning
from infopursuit_study.meaning.reference_labels import by_people, read_people, read_reference_labels
from menagerie.picture_truth import measure_picture_truth

logger = logging.getLogger("infopursuit")


class Settings(Section):
    """What this stage reads of params.yaml."""

    run: RunSettings
    evaluate: EvaluateSettings
    explain: ExplainSettings
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str, init: str, method: str, seed: int) -> RowCounts:
    name = RunName(dataset, init, method, seed)
    images, most = paths.images(dataset), settings.max_images
    check_same_space(paths.UNIVERSE, images)
    model = load_fitted(run_paths.model(name), device=settings.compute.torch_device())
    test = load_images(images, "test", most)
    run_of = RunProvenance.of(model.provenance_)
    stop = settings.explain.stop

    found = evaluate(model.pursuit_, test, run_of.budget, settings.evaluate, stop)
    metrics = {**found.metrics, "selected_on": run_of.select_on}
    universe = TextTable.from_parquet(paths.UNIVERSE, SCRATCH / "universe")
    train, _ = load_training(images, run_of.validation_fraction, seed, most)
    figures = measure_meaning(
        model,
        found.opening,
        train,
        test,
        universe,
        read_reference_labels(dataset, universe),
        seed,
    )
    for what in ("truth", "question_quality"):
        by = figures[what] and figures[what]["by"]
        if by is None:
            logger.info("%s of %s: there is no table of what is true of the classes", what, name)
        elif by == "knowledge":
            logger.info("%s of %s: by the knowledge table, which is not independent", what, name)

    folder = run_paths.evaluation(name)
    write_evaluation(folder, test, found)
    people = by_people(model, test, read_people(dataset))
    write_json(folder / MEANING, {**figures, "people": people})
    write_json(folder / METRICS, metrics)
    if dataset in settings.run.truth:
        files = paths.UNIVERSE, paths.knowledge(dataset) if run_of.knows else None
        measure_picture_truth(model.pursuit_, train, test, files, stop, seed).write(folder)
    return RowCounts(read=len(test.ids), written=len(test.ids))


if __name__ == "__main__":
    run(main)
