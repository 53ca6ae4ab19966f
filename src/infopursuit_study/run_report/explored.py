"""The page to explore a run: which one, and what the pipeline knows of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import torch

from infopursuit.core.csv_tables import read_csv_table
from infopursuit.core.files import write_text
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.estimators.base import PursuitClassifier, load_fitted
from infopursuit.estimators.persistence import DESCRIPTION
from infopursuit.estimators.places import mapper
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
from infopursuit_study.run_report.methods import CONTROL, explains_in_words, has_updates

BATCH = 4096


def best_run(
    models: Path, names: Sequence[str], device: torch.device | str
) -> tuple[str, PursuitClassifier]:
    """Load the run to explore: best in validation, so that the test plays no part.

    Of those whose queries are texts and that are not the control, if any; ours comes first,
    as its page computes everything itself, then networks small enough for a page. Only descriptions
    are read to rank the runs; a model is loaded when its turn comes.
    """
    known = {
        name: json.loads((models / name / DESCRIPTION).read_text(encoding="utf-8"))["provenance"]
        for name in names
    }

    def rank(name: str) -> tuple[bool, bool, float]:
        settings, selected = known[name]["settings"], known[name]["selected"]
        plain = known[name]["init"] != CONTROL and explains_in_words(settings)
        return plain, not has_updates(settings), selected["validation_auc"]

    ranked = sorted(names, key=rank, reverse=True)  # stable: the first of equals
    plain = [name for name in ranked if rank(name)[0] == rank(ranked[0])[0]]
    for name in plain:
        model = load_fitted(models / name, device=device)
        part = described(model.pursuit_, Facts(name, DEFAULT_STOP))
        if part.scores is not None or part.networks is not None:
            return name, model
    return plain[0], load_fitted(models / plain[0], device=device)


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
