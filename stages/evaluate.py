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
from typing import Any

from infopursuit.core.csv_tables import write_csv
from infopursuit.core.errors import InputError
from infopursuit.core.run_name import RunName
from infopursuit.core.settings import ComputeSettings, Positive, Section
from infopursuit.core.tables import check_same_space
from infopursuit.datasets.labelled_images import (
    LabelledImages,
    image_ids,
    load_images,
    load_training,
)
from infopursuit.datasets.settings import Datasets, DatasetSettings
from infopursuit.estimators.base import PursuitClassifier, load_fitted
from infopursuit.estimators.places import why_none
from infopursuit.estimators.provenance import RunProvenance
from infopursuit.estimators.truth_by_people import in_figures, truth_by_people
from infopursuit.pipeline import paths
from infopursuit.pipeline.run_settings import EvaluateSettings, ExplainSettings
from infopursuit.pursuit.answers.rules import ThresholdAnswers
from infopursuit.texts.annotations import Annotations, read_annotations
from infopursuit.texts.knowledge_lists import read_judge, read_strict
from infopursuit.texts.knowledge_tables import read_knowledge
from infopursuit.texts.normalization import normalize
from infopursuit.texts.text_table import TextTable
from infopursuit_study.evaluation.chosen_images import load_pictures, spread_rows
from infopursuit_study.evaluation.dependence import dependence_metrics
from infopursuit_study.evaluation.files import AT_STOP, write_json, write_predictions
from infopursuit_study.evaluation.measurement import FIRST, measure
from infopursuit_study.evaluation.run_metrics import (
    BudgetCurve,
    StoppingPoint,
    budget_curve,
    predicted_at_stop,
    run_metrics,
    sweep,
)
from infopursuit_study.meaning.covering import covering
from infopursuit_study.meaning.measures import Judgements, measure_meaning
from infopursuit_study.meaning.worst_answers import write_worst

logger = logging.getLogger("infopursuit")

# Test pictures in which the places of answers are covered.
COVERED = 64


class Settings(Section):
    """What this stage reads of params.yaml."""

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
    pursuit, budget = model.pursuit_, run_of.budget
    stop = settings.explain.stop

    k = len(pursuit.queries)
    asked = min(budget, k)
    measured = measure(pursuit, test, max(asked, min(k, FIRST), stop.budget(k)))
    summary, usage = measured.summary.up_to(budget), measured.usage[:asked]
    wanted = settings.evaluate
    curve, auc = budget_curve(summary, wanted.calibration_bins, wanted.bootstrap_resamples)
    thresholds = {
        "max_probability": wanted.max_probability,
        "entropy": wanted.entropy_nats,
        "stability": wanted.stability_steps,
    }
    metrics = run_metrics(summary, usage, curve, auc, pursuit.queries, stop)
    metrics |= dependence_metrics(pursuit, test, measured.opening.order[:, :asked])
    metrics["selected_on"] = run_of.select_on
    chosen = settings.datasets[dataset]
    universe = TextTable.from_parquet(paths.UNIVERSE, SCRATCH / "universe")
    meaning = measure_meaning(
        model,
        measured.opening,
        load_training(images, run_of.validation_fraction, seed, most)[0],
        test,
        universe,
        judgements(chosen, dataset, model, universe),
        stop,
        seed,
    )
    for what in ("truth", "sense"):
        by = meaning.figures[what] and meaning.figures[what]["by"]
        if by is None:
            logger.info("%s of %s: there is no table of what is true of the classes", what, name)
        elif by == "knowledge":
            logger.info("%s of %s: by the knowledge table, which is not independent", what, name)
    source = chosen.images
    no_places = why_none(model)
    if no_places is not None:
        logger.info("%s: answers have no places in pictures: %s", name, no_places)

    folder = paths.evaluation(name)
    write_csv(folder / "curve.csv", ("t", *BudgetCurve._fields), curve.rows())
    write_csv(folder / "stopping.csv", StoppingPoint._fields, sweep(summary, thresholds))
    write_predictions(folder / "predictions.parquet", test.ids, summary.labels, summary.predicted)
    predicted = predicted_at_stop(measured.summary, stop)
    at_stop = zip(test.ids, test.labels.tolist(), predicted.tolist(), strict=True)
    write_csv(folder / AT_STOP, ("id", "label", "predicted"), at_stop)
    ids = {"worst": [answer.image for answer in meaning.worst]}
    if no_places is None:
        spread = spread_rows(test.labels.numpy(), predicted, COVERED)
        ids["covered"] = [test.ids[row] for row in spread]
    # Read at once: to find the pictures of a data set takes longer than to read them.
    pictures = load_pictures(source, test.class_names, list(dict.fromkeys(chain(*ids.values()))))
    covered = None
    if pictures and no_places is None:
        some = [pictures[image] for image in ids["covered"]]
        covered = covering(model, some, stop, seed)._asdict()
    said = read_annotations(paths.people(dataset))
    if said.rows:
        said = said.of_pictures(image_ids(images))
    people = by_people(model, test, said)
    figures = {**meaning.figures, "covered": covered, "people": people}
    write_json(paths.meaning(name, ".json"), figures)
    write_worst(paths.meaning(name), meaning.worst, pictures)
    write_json(paths.evaluation(name, ".json"), metrics)
    return RowCounts(read=len(test.ids), written=len(test.ids))


def by_people(
    model: PursuitClassifier, test: LabelledImages, said: Annotations
) -> dict[str, Any] | None:
    """Measure answers by what people say of test images; None if that is not known."""
    if not said.about(test.ids) or not isinstance(model.pursuit_.rule, ThresholdAnswers):
        return None
    of_images, labels = said.of_images(test.ids), test.labels.numpy()
    measured = truth_by_people(model, test.embeddings, labels, of_images)
    pairs, same = said.agreement()
    return {"pairs": pairs, "same": same, "questions": in_figures(measured)}


def judgements(
    chosen: DatasetSettings, dataset: str, model: PursuitClassifier, universe: TextTable
) -> Judgements:
    """Read all that is said of the classes of a data set.

    Raises:
        InputError: a judge or a strict list is about none of the texts of the universe.
    """
    classes = model.pursuit_.class_names
    judge = read_judge(paths.judgements(dataset, "judge"), classes, model.pursuit_.queries)
    strict = read_strict(paths.judgements(dataset, "strict"), classes)
    said = read_judge(paths.judgements(dataset, "judge"), classes).texts
    for what, path, texts in (
        ("judge", chosen.judge, said),
        ("strict", chosen.strict, strict.texts),
    ):
        named = {normalize(text) for text in texts}
        if named and not any(normalize(text) in named for text in universe.texts):
            raise InputError(
                f"datasets.{dataset}.{what}: {path}: none of its texts is in the universe; "
                "expected some, or params/no_knowledge.jsonl"
            )
    known = read_knowledge(paths.knowledge(dataset))
    return Judgements(judge, strict, known)


if __name__ == "__main__":
    run(main)
