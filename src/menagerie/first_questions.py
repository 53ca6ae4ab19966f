"""The first questions that pictures are asked, and whether the answers they get are true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit_study.evaluation.agreement import NOT_SURE, claim_measures, claimed, count_answers
from infopursuit_study.evaluation.measurement import FIRST
from menagerie.truths import CLAIMS

PICTURES = 100
ASKED_COLUMNS = ("image", "number", "query", "answer", "attribute", "holds", "true", "right")


class AskedQuestion(NamedTuple):
    """One question to one picture.

    Attributes:
        row: the picture, among those asked.
        number: 1 for the first question to it.
        query: the text.
        answer: what it claims: 1 for yes, 0 for no, NOT_SURE for neither.
    """

    row: int
    number: int
    query: str
    answer: float


def spread_sample(labels: Int[np.ndarray, " n"], count: int, seed: int) -> list[int]:
    """Draw `count` rows (all, if there are fewer), of each class as many or one more."""
    draw = np.random.default_rng(seed)
    classes = draw.permutation(np.unique(labels))
    of_class = [draw.permutation(np.flatnonzero(labels == label)).tolist() for label in classes]
    longest = max(map(len, of_class))
    turns = [rows[turn] for turn in range(longest) for rows in of_class if turn < len(rows)]
    return turns[:count]


def first_questions(
    pursuit: Pursuit, images: LabelledImages, stop: StoppingRule, first: int = FIRST
) -> list[AskedQuestion]:
    """Ask each image its first questions, until the stopping rule ends them."""
    stop = stop.checked()
    answers = pursuit.answers(images.embeddings.to(pursuit.device))
    explanations = pursuit.explain(answers, stop, images.ids)
    claims = claimed(pursuit.rule, answers)
    return [
        AskedQuestion(row, number, step.query, float(claims[row, pursuit.number(step.query)]))
        for row, explanation in enumerate(explanations)
        for number, step in enumerate(explanation.steps[:first], start=1)
    ]


def first_question_measures(
    asked: Sequence[AskedQuestion], queries: Sequence[str], truth: Bool[np.ndarray, "n q"]
) -> dict[str, Any]:
    """Return counts and shares over the questions asked, and over those whose truth is known.

    Args:
        asked: the questions to n pictures.
        queries: q texts that claim something, at least all such texts of `asked`.
        truth: whether it is true of each picture.
    """
    facts = _truth_of(asked, queries, truth)
    answers = np.array([each.answer for each in asked], dtype=float)[:, None]
    known = np.array([fact is not None for fact in facts], dtype=bool)[:, None]
    true = np.array([fact is True for fact in facts], dtype=bool)[:, None]
    counts = {
        "pictures": len(truth),
        "questions": len(asked),
        "no_claim": int((~known).sum()),
    }
    return {**counts, **claim_measures(count_answers(answers, true, known))}


def asked_rows(
    asked: Sequence[AskedQuestion],
    ids: Sequence[str],
    queries: Sequence[str],
    truth: Bool[np.ndarray, "n q"],
) -> list[tuple[Any, ...]]:
    """Return ASKED_COLUMNS of each question; empty if there is nothing to say."""
    rows: list[tuple[Any, ...]] = []
    for each, true in zip(asked, _truth_of(asked, queries, truth), strict=True):
        answer, right = "neither", ""
        if each.answer != NOT_SURE:
            answer = "yes" if each.answer > NOT_SURE else "no"
            right = "" if true is None else (answer == "yes") == true
        claim = ("", "", "") if true is None else (*CLAIMS[each.query], true)
        rows.append((ids[each.row], each.number, each.query, answer, *claim, right))
    return rows


def _truth_of(
    asked: Sequence[AskedQuestion], queries: Sequence[str], truth: Bool[np.ndarray, "n q"]
) -> list[bool | None]:
    column = {query: place for place, query in enumerate(queries)}
    return [
        bool(truth[each.row, column[each.query]]) if each.query in column else None
        for each in asked
    ]
