"""How an image answers queries: scores (cosines) to soft answers to hard answers.

Implements eqs. (soft query answers) and (hard answer) of the paper.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor


def minmax_answers(scores: Float[Tensor, "b k"], hard: bool = True) -> Float[Tensor, "b k"]:
    """Answers by the paper's rule: scores min-max normalised per image over the k queries.

    Args:
        scores: cosines of images and queries.
        hard: answers in {0, 1}, yes where the soft answer exceeds 0.5, with the gradient of the
            soft answer (straight-through); False returns the soft answers in [0, 1].

    An image whose scores are all equal answers 0 to everything, never NaN.
    """
    lowest, highest = scores.amin(dim=1, keepdim=True), scores.amax(dim=1, keepdim=True)
    spread = highest - lowest
    flat = spread == 0
    soft = (scores - lowest) / spread.masked_fill(flat, 1)
    if not hard:
        return soft
    return (soft > 0.5).to(soft.dtype) + (soft - soft.detach())
