"""Measure how true the answers of a run are, and how sensible its questions, on the test images.

    python stages/meaning.py --dataset food10 --init informative --method naive_bayes --seed 0

By the judge's table and the strict list of the data set; where there is none, by its knowledge
table. That is no independent source: the file says which one it was.
Writes artifacts/meaning/RUN.json (figures) and the folder RUN (the worst answers, with pictures).
"""

from __future__ import annotations

from infopursuit.core.stage import SCRATCH, Rows, run

import logging

from infopursuit.core.same_space import check_same_space
from infopursuit.core.settings import Positive, Section
from infopursuit.datasets.labelled_images import LabelledImages, load_images, load_training
from infopursuit.datasets.settings import Datasets
from infopursuit.dictionary.universe import load_universe
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.saved import load
from infopursuit.evaluation.files import write_json
from infopursuit.evaluation.measurement import check_classes
from infopursuit.executors.settings import ComputeSettings
from infopursuit.explanation.settings import ExplainSettings
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.meaning.judgements import read_judge, read_strict
from infopursuit.meaning.run_meaning import Judgements, measure_run
from infopursuit.queries.knowledge import read_knowledge
from infopursuit.report.chosen_images import load_pictures
from infopursuit.report.worst_answers import named_answers, write_worst

logger = logging.getLogger("infopursuit")

UNIVERSE = "artifacts/universe/embeddings.parquet"


class Settings(Section):
    """What this stage reads of params.yaml."""

    datasets: Datasets
    explain: ExplainSettings
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str, init: str, method: str, seed: int) -> Rows:
    name = f"{dataset}-{init}-{method}-{seed}"
    images = f"artifacts/images/{dataset}.parquet"
    check_same_space(UNIVERSE, images)
    model, test = load(f"artifacts/models/{name}"), load_images(images, "test", settings.max_images)
    check_classes(model.pursuit_.class_names, test.class_names)
    explain = settings.explain
    stop = StoppingRule(explain.stop_at_probability, explain.max_queries)
    found = measure_run(
        model,
        train_images(model, images, seed, settings.max_images),
        test,
        load_universe(UNIVERSE, SCRATCH / "universe"),
        judgements(dataset, model),
        stop,
        seed,
    )
    for what in ("truth", "sense"):
        by = found.figures[what] and found.figures[what]["by"]
        if by is None:
            logger.info("%s of %s: nobody has said what is true of the classes", what, name)
        elif by == "knowledge":
            logger.info("%s of %s: by the knowledge table, which is not independent", what, name)
    worst = named_answers(
        found.worst, test.ids, test.labels.tolist(), test.class_names, model.pursuit_.queries
    )
    ids = [answer.image for answer in worst]
    pictures = load_pictures(settings.datasets[dataset].images, test.class_names, ids)
    write_json(f"artifacts/meaning/{name}.json", found.figures)
    write_worst(f"artifacts/meaning/{name}", worst, pictures)
    return Rows(read=len(test.ids), written=len(worst))


def train_images(model: PursuitClassifier, path: str, seed: int, most: int) -> LabelledImages:
    """The images that a run was trained on, or a sample of so many of them."""
    held_out = model.provenance_["settings"]["validation_fraction"]
    return load_training(path, held_out, seed, most)[0]


def judgements(dataset: str, model: PursuitClassifier) -> Judgements:
    """All that is said of the classes of a data set."""
    classes, folder = model.pursuit_.class_names, "artifacts/judgements"
    return Judgements(
        read_judge(f"{folder}/{dataset}.judge.jsonl", classes, model.pursuit_.queries),
        read_strict(f"{folder}/{dataset}.strict.jsonl", classes),
        read_knowledge(f"artifacts/knowledge/{dataset}.parquet"),
    )


if __name__ == "__main__":
    run(main)
