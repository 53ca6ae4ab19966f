"""The page to explore a run: which one, and what the pipeline knows of it."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import torch

from infopursuit.core.errors import InputError
from infopursuit.core.whole_files import write_text
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.saved import load
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.explorer import payload
from infopursuit.explorer.contents import TRAIN, Chosen, contents
from infopursuit.explorer.described_model import Facts, described
from infopursuit.explorer.origins import origins
from infopursuit.explorer.page import page, room
from infopursuit.explorer.shown_images import AnsweredImages, spread
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.report.chosen_images import load_pictures
from infopursuit.report.methods import CONTROL, explains_in_words

BATCH = 4096


def best_run(
    models: Path, names: Sequence[str], device: torch.device | str
) -> tuple[str, PursuitClassifier]:
    """The run to explore: best in validation, so that the test plays no part.

    Of those whose queries are texts and that are no control, if any; naive Bayes comes first, as
    its page computes everything itself, then networks small enough for a page.

    Args:
        models: folder of the models.
        names: of the runs.
        device: where the model computes.
    """
    found = {name: load(models / name) for name in names}

    def rank(name: str) -> tuple[bool, bool, bool, float]:
        model = found[name]
        known = model.provenance_
        facts = Facts(name, StoppingRule())
        part = described(model.pursuit_, facts)
        plain = known["init"] != CONTROL and explains_in_words(known["settings"])
        alone = part.table is not None or part.networks is not None
        return plain, alone, part.table is not None, known["selected"]["validation_auc"]

    best = max(names, key=rank)  # the first of equals
    return best, load(models / best, device)


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
    """Write the page of a run.

    Args:
        path: the page.
        name: of the run.
        model: its model.
        stop: when its questions end.
        test: the embedded test images, all of which count in accuracies.
        train: the embedded training images.
        source: where their pictures are; there may be none.
        truth: how true the answers are, as the stage `truth` writes it; None where nobody knows.

    Returns:
        How many images are shown.

    Raises:
        InputError: an input is malformed, or the model alone is too large for a page.
    """
    pursuit = model.pursuit_
    sources = model.provenance_.get("sources", {})
    known = None if truth is None else read_truth(truth)
    some = spread(train.labels.numpy())[:TRAIN]
    content = contents(
        [(pursuit, Facts(name, stop, origins(sources), known))],
        _answered(pursuit, test, source),
        _answered(pursuit, train.subset(torch.tensor(sorted(some))), source),
        name,
        chosen=Chosen(limit=room(name)),
    )
    write_text(path, page(content))
    return len(content.images.test) + len(content.images.train)


def read_truth(path: Path) -> dict[str, payload.Truth]:
    """How true the answers to the queries of a dictionary are.

    Raises:
        InputError: it is not what the stage `truth` writes.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {
                row["query"]: payload.Truth(
                    right=float(row["agreement"]) if row["agreement"] else None,
                    answered=float(row["answered"]),
                )
                for row in csv.DictReader(file)
                if row["of"] == "dictionary"
            }
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{path}: not what the stage truth writes ({error})") from error


def _answered(pursuit: Pursuit, images: LabelledImages, source: str | Path) -> AnsweredImages:
    answers = [
        pursuit.answers(block.to(pursuit.device)).cpu() for block in images.embeddings.split(BATCH)
    ]

    def pictures(rows: Sequence[int]) -> list[object]:
        ids = [images.ids[row] for row in rows]
        found = load_pictures(source, images.class_names, ids)
        return [found.get(name) for name in ids]

    return AnsweredImages(images.ids, images.labels.numpy(), [torch.cat(answers)], pictures)
