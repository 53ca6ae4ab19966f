"""Whether the questions that images are asked make sense, by a table of what fits which class.

The table is a judge's: (c, k), 1 where a query is true of a class, 0.5 where it often is, 0 where
it is not. NaN counts as 0.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from infopursuit.pursuit.rollout import RollOut

# A query fits a class from this value on.
FITS = 0.5


def plausible_questions(asked: RollOut, judged: Float[np.ndarray, "c k"]) -> float:
    """Return the share of the questions asked that fit at least one class.

    Args:
        asked: `model.roll_out(X, 10)`, for the first ten questions.
        judged: of the classes and the k queries of the model.
    """
    fits_some = np.any(judged >= FITS, axis=0)
    return float(fits_some[asked.order.cpu().numpy()].mean())


def supported_yes(asked: RollOut, judged: Float[np.ndarray, "c k"]) -> float | None:
    """Return the share of yes that fit the class predicted at the end; None without a yes.

    Args:
        asked: as above.
        judged: as above.
    """
    order = asked.order.cpu().numpy()
    predicted = asked.posteriors[:, -1].argmax(dim=1).cpu().numpy()
    yes = asked.answers.cpu().numpy() == 1
    fits = (judged >= FITS)[predicted[:, None], order]
    return float(fits[yes].mean()) if yes.any() else None
