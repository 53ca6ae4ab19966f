"""How true answers are, where the class of an image says what is true of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from infopursuit.evaluation.agreement import claim_measures


class TruthOfAnswers(NamedTuple):
    """Means over the texts; None where there is nothing to count for any text.

    Attributes:
        precision_of_yes: share of the yes that are true; of texts that get a yes at all.
        recall_of_yes: share of the images of which a text is true that say yes; "not sure" misses.
        right: share of the answered images whose answer is true.
        answered: share of the images that say yes or no.
        balanced: mean of the shares of right answers among answered images of which the text is
            true and of which it is not; 0.5 for answers that know nothing.
        texts: how many texts are true of some images, and known not to be of others.
        without_yes: how many of them never get a yes, so that they have no precision.
    """

    precision_of_yes: float | None
    recall_of_yes: float | None
    right: float | None
    answered: float | None
    balanced: float | None
    texts: int
    without_yes: int


def truth_of_answers(
    answers: Int[np.ndarray, "n q"],
    table: Float[np.ndarray, "c q"],
    labels: Int[np.ndarray, " n"],
) -> TruthOfAnswers:
    """Compare the answers of n images to q texts with what is true of their classes.

    Each text counts the images of which its truth is known, and all texts count alike. Texts that
    are known to be true of none of the images, or of all, are left out.

    Args:
        answers: as `model.answer(X)` gives them: -1 no, 0 not sure, 1 yes.
        table: 1 where a text is true of every image of a class, 0 where of none; anything else
            (0.5, NaN) where the class does not tell.
        labels: the class of each image, 0..c-1.
    """
    truth = table[labels]
    known = np.isin(truth, (0.0, 1.0))
    found = []
    for column in range(answers.shape[1]):
        rows = known[:, column]
        true = truth[rows, column] == 1
        if true.any() and not true.all():
            found.append(claim_measures((answers[rows, column] + 1) / 2, true))
    return TruthOfAnswers(
        *(_mean([getattr(each, name) for each in found]) for name in TruthOfAnswers._fields[:5]),
        texts=len(found),
        without_yes=sum(each.precision_of_yes is None for each in found),
    )


def _mean(values: list[float | None]) -> float | None:
    counted = [value for value in values if value is not None]
    return float(np.mean(counted)) if counted else None
