"""Let a vision-language model look at test pictures of one run, and measure what its answers win.

    python stages/second_opinion.py --dataset menagerie --init llm --method naive_bayes --seed 0

Writes artifacts/meaning/RUN.second_opinion: figures.json (CLIP alone and with the second opinion;
whether the model looks at the picture) and explanations.json, of a few images. Answers are kept in
.scratch/answers, by picture and question, so that a stopped run goes on where it was and other
settings ask only what is new.
"""

from __future__ import annotations

from infopursuit.core.stage import SCRATCH, RowCounts, run

from dataclasses import replace
from typing import Any

import numpy as np

from infopursuit.answerers.second_opinion import PER_CLASS, SecondOpinion
from infopursuit.core.files import atomic_folder
from infopursuit.core.run_name import RunName
from infopursuit.core.settings import ComputeSettings, Positive, Section
from infopursuit.datasets.labelled_images import load_images
from infopursuit.datasets.open_images import check_pictures
from infopursuit.datasets.settings import Datasets
from infopursuit.estimators.base import load_fitted
from infopursuit.pipeline import paths
from infopursuit.pipeline.run_settings import ExplainSettings
from infopursuit.queries.language_models import open_language_model
from infopursuit.queries.settings import SecondOpinionSettings
from infopursuit_study.evaluation.chosen_images import load_pictures, spread_rows
from infopursuit_study.evaluation.explained_images import ExplainedImage, write_explanations
from infopursuit_study.evaluation.files import write_json
from infopursuit_study.meaning.judgements import read_people, read_strict_or_knowledge
from infopursuit_study.meaning.second_opinion import (
    truth_of_images,
    use_of_pictures,
    with_and_without,
)


class Settings(Section):
    """What this stage reads of params.yaml."""

    datasets: Datasets
    second_opinion: SecondOpinionSettings
    explain: ExplainSettings
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str, init: str, method: str, seed: int) -> RowCounts:
    name = RunName(dataset, init, method, seed)
    wanted, stop = settings.second_opinion, settings.explain.stop
    source = settings.datasets[dataset].images
    check_pictures(dataset, source)
    model = load_fitted(paths.model(name), device=settings.compute.torch_device())
    test = load_images(paths.images(dataset), "test", wanted.images)
    shown = list(load_pictures(source, test.class_names, test.ids).values())
    opinion = SecondOpinion(
        open_language_model(wanted.model),
        wanted.calls,
        images=training_pictures(settings, dataset),
        per_class=wanted.per_class or PER_CLASS,
        kept_in=SCRATCH / "answers",
    )

    said, by = read_strict_or_knowledge(dataset, test.class_names)
    truth = truth_of_images(said, read_people(dataset), test, model.pursuit_)
    compared, explained = with_and_without(opinion, model, test, shown, stop, truth)
    figures = {"model": opinion.name, "images": len(shown), "by": by, **compared}
    control = wanted.control and use_of_pictures(opinion, model, shown[: wanted.control])
    figures["control"] = control and control._asdict()
    # What it costs now depends on what was asked before; the figures have what it costs in all.
    few = spread_rows(test.labels.numpy(), test.labels.numpy(), settings.explain.images)
    few = [ExplainedImage(replace(explained[row], second_opinion=None), "") for row in few]
    with atomic_folder(paths.meaning(name, ".second_opinion")) as folder:
        write_json(folder / "figures.json", figures)
        write_explanations(folder / "explanations.json", stop, few)
    return RowCounts(read=len(shown), written=len(shown))


def training_pictures(settings: Settings, dataset: str) -> tuple[list[Any], list[str]] | None:
    """Return pictures that rates are estimated from, and their classes; None for no pictures."""
    most = settings.second_opinion.per_class
    if most is None:
        return None
    images = paths.images(dataset)
    train = load_images(images, "train", settings.max_images)
    rows = np.concatenate([
        np.flatnonzero(train.labels.numpy() == label)[:most]
        for label in range(len(train.class_names))
    ])  # fmt: skip
    source, ids = settings.datasets[dataset].images, [train.ids[row] for row in rows]
    pictures = load_pictures(source, train.class_names, ids)
    return list(pictures.values()), [train.class_names[train.labels[row]] for row in rows]


if __name__ == "__main__":
    run(main)
