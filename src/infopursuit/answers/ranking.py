"""Whether scores rank the images of which a text is true above the others."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def ranked_pairs(
    scores: Float[np.ndarray, " n"],
    truth: Float[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"] | None = None,
) -> tuple[float, float]:
    """How many pairs are ranked rightly, and how many there are.

    A pair is an image of which a text is true and one of which it is not. It is ranked rightly
    where the first has the larger score; equal scores count half. The share of such pairs is the
    area under the ROC curve.

    Args:
        scores: of n images.
        truth: 1 true, 0 not true, anything else where that is not known.
        weights: of the images, a pair counts their product; None for 1 each.
    """
    weights = np.ones(len(scores)) if weights is None else weights
    true, false = truth == 1, truth == 0
    order = scores[false].argsort(kind="stable")
    ranked = scores[false][order]
    below = np.concatenate([[0.0], weights[false][order].cumsum()])
    left, right = (np.searchsorted(ranked, scores[true], side) for side in ("left", "right"))
    right_pairs = float(weights[true] @ (below[left] + below[right])) / 2
    return right_pairs, float(weights[true].sum() * below[-1])
