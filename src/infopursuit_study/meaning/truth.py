"""How true answers are, if the class of an image says what is true of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from infopursuit_study.evaluation.agreement import count_answers


class TruthOfAnswers(NamedTuple):
    """Means over the texts; None if there is nothing to count for any text.

    Attributes:
        precision_of_yes: share of the yes that are true; of texts that get a yes at all.
        recall_of_yes: share of the images of which a text is true that say yes.
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
    answers: Float[np.ndarray, "n q"],
    table: Float[np.ndarray, "c q"],
    labels: Int[np.ndarray, " n"],
) -> TruthOfAnswers:
    """Compare the answers of n images to q texts with what is true of their classes.

    Each text counts the images of which its truth is known, and all texts count alike. Texts that
    are known to be true of none of the images, or of all, are left out. `table` has 1 where a text
    is true of every image of a class, 0 where of none, else where the class does not tell.
    """
    truth = table[labels]
    counts = count_answers(answers, truth == 1, np.isin(truth, (0.0, 1.0)))
    tells = (counts.of_true > 0) & (counts.of_true < counts.all)
    shares = {name: share[tells] for name, share in counts.shares.items()}
    return TruthOfAnswers(
        *(_mean(shares[name]) for name in TruthOfAnswers._fields[:5]),
        texts=int(tells.sum()),
        without_yes=int(np.isnan(shares["precision_of_yes"]).sum()),
    )


def _mean(values: Float[np.ndarray, " q"]) -> float | None:
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if len(counted) else None
