"""The first questions that pictures are asked, and whether the answers they get are true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.evaluation.agreement import NOT_SURE, claim_measures
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.pursuit.pursuit import Pursuit
from menagerie.truths import CLAIMS

PICTURES, FIRST = 100, 10
ASKED_COLUMNS = ("image", "number", "query", "answer", "attribute", "holds", "true", "right")


class AskedQuestion(NamedTuple):
    """One question to one picture.

    Attributes:
        row: the picture, among those asked.
        number: 1 for the first question to it.
        query: the text.
        answer: in [0, 1].
    """

    row: int
    number: int
    query: str
    answer: float


def spread_sample(labels: Int[np.ndarray, " n"], count: int, seed: int) -> list[int]:
    """`count` rows (all, where there are fewer), of each class as many or one more.

    Args:
        labels: the class of each picture.
        count: how many rows.
        seed: draws the rows of a class, and the classes that give one more.
    """
    draw = np.random.default_rng(seed)
    classes = draw.permutation(np.unique(labels))
    of_class = [draw.permutation(np.flatnonzero(labels == label)).tolist() for label in classes]
    longest = max(map(len, of_class))
    turns = [rows[turn] for turn in range(longest) for rows in of_class if turn < len(rows)]
    return turns[:count]


def first_questions(
    pursuit: Pursuit, images: LabelledImages, stop: StoppingRule, first: int = FIRST
) -> list[AskedQuestion]:
    """The first questions to each image, until the stopping rule ends them."""
    stop = stop.checked()
    answers = pursuit.answers(images.embeddings.to(pursuit.device))
    told = pursuit.explain(answers, stop, images.ids)
    return [
        AskedQuestion(row, number, step.query, step.answer)
        for row, explanation in enumerate(told)
        for number, step in enumerate(explanation.steps[:first], start=1)
    ]


def first_question_measures(
    asked: Sequence[AskedQuestion], queries: Sequence[str], truth: Bool[np.ndarray, "n q"]
) -> dict[str, Any]:
    """Counts and shares over the questions asked, and over those whose truth is known.

    Args:
        asked: the questions to n pictures.
        queries: q texts that claim something, at least all such texts of `asked`.
        truth: whether it is true of each picture.
    """
    known = _truth_of(asked, queries, truth)
    answers = [each.answer for each, true in zip(asked, known, strict=True) if true is not None]
    found = np.array([true for true in known if true is not None], dtype=bool)
    measures = claim_measures(np.array(answers, dtype=float), found)
    counts = {
        "pictures": len(truth),
        "questions": len(asked),
        "no_claim": len(asked) - len(found),
    }
    return {**counts, **measures._asdict()}


def asked_rows(
    asked: Sequence[AskedQuestion],
    ids: Sequence[str],
    queries: Sequence[str],
    truth: Bool[np.ndarray, "n q"],
) -> list[tuple[Any, ...]]:
    """ASKED_COLUMNS of each question; empty where there is nothing to say."""
    rows: list[tuple[Any, ...]] = []
    for each, true in zip(asked, _truth_of(asked, queries, truth), strict=True):
        answer, right = "not sure", ""
        if each.answer != NOT_SURE:
            answer = "yes" if each.answer > NOT_SURE else "no"
            right = "" if true is None else (answer == "yes") == true
        claim = ("", "", "") if true is None else (*CLAIMS[each.query], true)
        rows.append((ids[each.row], each.number, each.query, answer, *claim, right))
    return rows


def _truth_of(
    asked: Sequence[AskedQuestion], queries: Sequence[str], truth: Bool[np.ndarray, "n q"]
) -> list[bool | None]:
    """Whether yes is right, of each question; None where that is not known."""
    column = {query: place for place, query in enumerate(queries)}
    return [
        bool(truth[each.row, column[each.query]]) if each.query in column else None
        for each in asked
    ]
