"""Measure a trained model on the test images: accuracy, truth of answers, sense of questions.

    python stages/evaluate.py --dataset menagerie --init llm --method alternating --seed 0

Every test image is asked once. Truth and sense are measured by the judge's table and the strict
list of the data set; without them by its knowledge table. That is not an independent source: the
file says which one it was. Writes artifacts/evaluation/RUN.json and the folder RUN (curves,
predictions), artifacts/meaning/RUN.json and the folder RUN (the worst answers, with pictures).
"""

from __future__ import annotations

from infopursuit.core.stage import SCRATCH, RowCounts, run

import logging
from itertools import chain

from infopursuit.core.run_name import RunName
from infopursuit.core.settings import ComputeSettings, Positive, Section
from infopursuit.core.tables import check_same_space
from infopursuit.datasets.labelled_images import load_images, load_training
from infopursuit.datasets.settings import Datasets
from infopursuit.estimators.base import load_fitted
from infopursuit.estimators.places import why_none
from infopursuit.estimators.provenance import RunProvenance
from infopursuit.pipeline import paths
from infopursuit.pipeline.run_settings import EvaluateSettings, ExplainSettings
from infopursuit.texts.text_table import TextTable
from infopursuit_study.evaluation.accuracy import evaluate, write_evaluation
from infopursuit_study.evaluation.chosen_images import load_pictures, spread_rows
from infopursuit_study.evaluation.files import write_json
from infopursuit_study.meaning.covering import covering
from infopursuit_study.meaning.judgements import by_people, read_judgements, read_people
from infopursuit_study.meaning.measures import measure_meaning
from infopursuit_study.meaning.worst_answers import write_worst

logger = logging.getLogger("infopursuit")

# Test pictures in which the places of answers are covered.
COVERED = 64


class Settings(Section):
    datasets: Datasets
    evaluate: EvaluateSettings
    explain: ExplainSettings
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str, init: str, method: str, seed: int) -> RowCounts:
    name = RunName(dataset, init, method, seed)
    images, most = paths.images(dataset), settings.max_images
    check_same_space(paths.UNIVERSE, images)
    model = load_fitted(paths.model(name), device=settings.compute.torch_device())
    test = load_images(images, "test", most)
    run_of = RunProvenance.of(model.provenance_)
    stop = settings.explain.stop

    found = evaluate(model.pursuit_, test, run_of.budget, settings.evaluate, stop)
    metrics = {**found.metrics, "selected_on": run_of.select_on}
    chosen = settings.datasets[dataset]
    universe = TextTable.from_parquet(paths.UNIVERSE, SCRATCH / "universe")
    meaning = measure_meaning(
        model,
        found.opening,
        load_training(images, run_of.validation_fraction, seed, most)[0],
        test,
        universe,
        read_judgements(chosen, dataset, model, universe),
        stop,
        seed,
    )
    for what in ("truth", "sense"):
        by = meaning.figures[what] and meaning.figures[what]["by"]
        if by is None:
            logger.info("%s of %s: there is no table of what is true of the classes", what, name)
        elif by == "knowledge":
            logger.info("%s of %s: by the knowledge table, which is not independent", what, name)
    no_places = why_none(model)
    if no_places is not None:
        logger.info("%s: answers have no places in pictures: %s", name, no_places)

    write_evaluation(paths.evaluation(name), test, found)
    ids = {"worst": [answer.image for answer in meaning.worst]}
    if no_places is None:
        spread = spread_rows(test.labels.numpy(), found.predicted, COVERED)
        ids["covered"] = [test.ids[row] for row in spread]
    # Read at once: to find the pictures of a data set takes longer than to read them.
    pictures = load_pictures(
        chosen.images, test.class_names, list(dict.fromkeys(chain(*ids.values())))
    )
    covered = None
    if pictures and no_places is None:
        some = [pictures[image] for image in ids["covered"]]
        covered = covering(model, some, stop, seed)._asdict()
    people = by_people(model, test, read_people(dataset))
    figures = {**meaning.figures, "covered": covered, "people": people}
    write_json(paths.meaning(name, ".json"), figures)
    write_worst(paths.meaning(name), meaning.worst, pictures)
    write_json(paths.evaluation(name, ".json"), metrics)
    return RowCounts(read=len(test.ids), written=len(test.ids))


if __name__ == "__main__":
    run(main)
