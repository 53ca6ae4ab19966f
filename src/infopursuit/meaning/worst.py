"""The false answers that did most harm: those that moved the posterior most to a wrong class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from infopursuit.evaluation.agreement import NOT_SURE
from infopursuit.pursuit.rollout import RollOut

MOST = 10


class FalseAnswer(NamedTuple):
    """An answer that is false, and what it did.

    Attributes:
        row: the image.
        number: 1 for its first question.
        query: which of the k.
        yes: whether the answer was yes.
        by: who says that it is false.
        toward: the wrong class whose probability rose most.
        before, after: its probability before and after the answer.
        true_before, true_after: the probability of the true class.
    """

    row: int
    number: int
    query: int
    yes: bool
    by: str
    toward: int
    before: float
    after: float
    true_before: float
    true_after: float


def worst_answers(
    asked: RollOut,
    lengths: Int[np.ndarray, " n"],
    truths: Mapping[str, Float[np.ndarray, "n k"]],
    labels: Int[np.ndarray, " n"],
    most: int = MOST,
) -> list[FalseAnswer]:
    """The false answers that n images gave, those first that moved belief most to a wrong class.

    By how much more than the true class a wrong class rose; an answer that helped the true class
    more is no part of the list.

    Of an image, and of a query and the class that it raised, only the worst one is told, so that
    one mistake does not fill the list.

    Args:
        asked: the questions to each image.
        lengths: how many of them count: those before its questions stopped.
        truths: by who says so, whether each of the k queries is true of each image: 1, 0, or
            anything else where that is not known. Who comes first is asked first.
        labels: the class of each image, 0..c-1.
        most: how many to give at most.
    """
    order, answers = asked.order.cpu().numpy(), asked.answers.cpu().numpy()
    posteriors = asked.posteriors.cpu().numpy().astype(np.float64)
    images, steps = order.shape
    rows = np.arange(images)
    rise = np.diff(posteriors, axis=1)  # n, T, c
    of_true = rise[rows, :, labels]  # n, T
    rise[rows, :, labels] = -np.inf
    toward = rise.argmax(axis=2)  # n, T
    harm = rise.max(axis=2) - of_true
    said = np.full((images, steps), -1)
    true = np.full((images, steps), np.nan)
    for place, truth in enumerate(truths.values()):
        of_asked = truth[rows[:, None], order]
        tells = np.isin(of_asked, (0.0, 1.0)) & (said < 0)
        said[tells], true[tells] = place, of_asked[tells]
    given = np.arange(steps) < np.asarray(lengths)[:, None]
    false = ((answers > NOT_SURE) & (true == 0)) | ((answers < NOT_SURE) & (true == 1))
    found: list[FalseAnswer] = []
    seen: set[tuple[str, int, int]] = set()
    places = np.argwhere(false & given & (harm > 0))
    worst_first = places[np.argsort(-harm[tuple(places.T)], kind="stable")]
    for row, step in worst_first.tolist():
        query, label, wrong = int(order[row, step]), int(labels[row]), int(toward[row, step])
        keys = {("image", row, 0), ("query and class", query, wrong)}
        if len(found) == most or keys & seen:
            continue
        seen |= keys
        before, after = posteriors[row, step], posteriors[row, step + 1]
        found.append(
            FalseAnswer(
                row=row,
                number=step + 1,
                query=query,
                yes=bool(answers[row, step] > NOT_SURE),
                by=list(truths)[said[row, step]],
                toward=wrong,
                before=float(before[wrong]),
                after=float(after[wrong]),
                true_before=float(before[label]),
                true_after=float(after[label]),
            )
        )
    return found


def denied(known: Float[np.ndarray, "c k"]) -> Float[np.ndarray, "c k"]:
    """What a knowledge table denies: 0 where a query is not true of a class, NaN elsewhere.

    What it calls true may be out of view, so that no answer "no" is false by it.
    """
    return np.where(known == 0, 0.0, np.nan)
