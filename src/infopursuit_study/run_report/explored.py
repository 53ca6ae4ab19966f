"""The page to explore a run: which one, and what the pipeline knows of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import torch

from infopursuit.core.csv_tables import read_csv_table
from infopursuit.core.files import write_text
from infopursuit.core.run_name import RunName
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.estimators.base import PursuitClassifier, load_fitted
from infopursuit.estimators.persistence import DESCRIPTION
from infopursuit.estimators.places import mapper
from infopursuit.estimators.provenance import images_held_out
from infopursuit.explorer import payload
from infopursuit.explorer.contents import (
    TRAIN,
    AnsweredImages,
    Chosen,
    Facts,
    contents,
    described,
    origins,
    spread,
)
from infopursuit.explorer.page import page, room
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import DEFAULT_STOP, StoppingRule
from infopursuit_study.evaluation.chosen_images import load_pictures
from infopursuit_study.run_report.methods import (
    CONTROL,
    explains_in_words,
    first_of_best,
    has_updates,
)

BATCH = 4096


def best_run(
    models: Path, names: Sequence[RunName], device: torch.device | str
) -> tuple[str, PursuitClassifier]:
    """Load the run to explore: best in validation, so that the test plays no part.

    Of those whose queries are texts and that are not the control, if any; ours comes first,
    as its page computes everything itself, then networks small enough for a page. Seeds count by
    their mean (`first_of_best`). Only descriptions are read to rank the runs; a model is loaded
    when its turn comes.
    """
    known = {
        run: json.loads((models / str(run) / DESCRIPTION).read_text(encoding="utf-8"))["provenance"]
        for run in names
    }

    def kind(run: RunName) -> tuple[bool, bool]:
        settings = known[run]["settings"]
        return run.init != CONTROL and explains_in_words(settings), not has_updates(settings)

    measured = {
        run: (facts["selected"]["validation_auc"], images_held_out(facts))
        for run, facts in known.items()
    }
    plain = max(map(kind, names))[0]
    ranked: list[str] = []
    for of_kind in sorted({kind(run) for run in names if kind(run)[0] == plain}, reverse=True):
        alike = [run for run in names if kind(run) == of_kind]
        groups = [[*runs] for _, runs in groupby(alike, key=lambda run: run[:3])]
        while groups:
            areas = [[measured[run] for run in group] for group in groups]
            ranked += map(str, groups.pop(first_of_best(areas)))
    for name in ranked:
        model = load_fitted(models / name, device=device)
        part = described(model.pursuit_, Facts(name, DEFAULT_STOP))
        if part.scores is not None or part.networks is not None:
            return name, model
    return ranked[0], load_fitted(models / ranked[0], device=device)


def write_explorer(
    path: Path,
    name: str,
    model: PursuitClassifier,
    stop: StoppingRule,
    test: LabelledImages,
    train: LabelledImages,
    source: str | Path,
    truth: Path | None,
) -> int:
    """Write the page of a run, and return how many images it shows."""
    pursuit = model.pursuit_
    sources = model.provenance_.get("sources", {})
    known = None if truth is None else read_truth(truth)
    shown = {"maps": mapper(model), "knowledge": model.knowledge_}
    facts = Facts(name, stop, origins(sources), known, **shown)
    some = spread(train.labels.numpy())[:TRAIN]
    content = contents(
        (pursuit, facts),
        _answered(pursuit, test, source),
        _answered(pursuit, train.subset(torch.tensor(sorted(some))), source),
        name,
        chosen=Chosen(limit=room(name)),
    )
    write_text(path, page(content))
    return len(content.images.test) + len(content.images.train)


def read_truth(path: Path) -> dict[str, payload.Truth]:
    """Read how true the answers to the queries of a dictionary are."""
    table = read_csv_table(path)
    columns = map(table.column, ("of", "query", "agreement", "answered"))
    return {
        query: payload.Truth(
            right=float(agreement) if agreement else None, answered=float(answered)
        )
        for of, query, agreement, answered in zip(*columns, strict=True)
        if of == "dictionary"
    }


def _answered(pursuit: Pursuit, images: LabelledImages, source: str | Path) -> AnsweredImages:
    answers = [
        pursuit.answers(block.to(pursuit.device)).cpu() for block in images.embeddings.split(BATCH)
    ]

    def pictures(rows: Sequence[int]) -> list[object]:
        ids = [images.ids[row] for row in rows]
        by_id = load_pictures(source, images.class_names, ids)
        return [by_id.get(name) for name in ids]

    return AnsweredImages(images.ids, images.labels.numpy(), torch.cat(answers), pictures)
