"""How much of what answers tell of the class follows from the words of their questions."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from infopursuit.answers.table import AnswerTable
from infopursuit.answers.words import ROUNDING, information_of_words
from infopursuit.pursuit.rollout import RollOut


def explained_share(
    asked: RollOut, table: AnswerTable, knowledge: Float[np.ndarray, "c k"]
) -> float | None:
    """The explained information of all questions asked, over all their information.

    None where no answer tells anything of the class.

    Args:
        asked: `model.roll_out(X, 10)`, for the first ten questions.
        table: as above.
        knowledge: as above.
    """
    found = information_of_words(table, knowledge)
    return _share(asked, found.of_words, found.of_class)


def most_explained(
    asked: RollOut, table: AnswerTable, knowledge: Float[np.ndarray, "c k"]
) -> float | None:
    """What `explained_share` could be at most, whatever the answers said of the words.

    Where the words are true of few classes, they say less of the class than the answer tells.
    """
    found = information_of_words(table, knowledge)
    return _share(asked, np.minimum(found.words, found.of_class), found.of_class)


def _share(asked: RollOut, part: np.ndarray, of: np.ndarray) -> float | None:
    order = asked.order.cpu().numpy()
    total = of[order].sum()
    return float(part[order].sum() / total) if total > ROUNDING * order.size else None
