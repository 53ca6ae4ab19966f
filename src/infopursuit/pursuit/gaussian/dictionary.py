"""The texts that tell the classes apart best together, from moments of the training images alone.

Forward selection: the next text has the largest ratio of the spread of the classes' means to the
variance within classes, both of what the texts before it leave open. A text has a large ratio only
if it is plainly true of some of the classes, so the dictionary is about the classes.

All is done in the space of the embeddings: the score of a text is linear in the image, and its
means and variances follow from those of images. One text costs two products of a matrix and a
vector.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.pursuit.gaussian.histories import LEAST


def forward_selection(
    directions: Float[Tensor, "u d"],
    within: Float[Tensor, "d d"],
    between: Float[Tensor, "d d"],
    trust: Float[Tensor, " u"],
    own: float,
    weights: Float[Tensor, " u"],
    k: int,
) -> Int[Tensor, " k"]:
    """Return the rows of k texts, the best first.

    Args:
        directions: of the texts, float64.
        within: covariance of the images of a class.
        between: covariance of the means of the classes, weighted as these are frequent.
        trust: of each text, what its class means are multiplied with, relative to the mean of all.
        own: share of the variance of a score that no other score shares.
        weights: by which the ratio of each text is multiplied.
        k: how many texts.
    """
    variance = (directions @ within).mul_(directions).sum(dim=1).clamp_min(torch.finfo().tiny)
    left = variance.clone()
    spread = trust.square() * (directions @ between).mul_(directions).sum(dim=1)
    free, chosen = torch.ones_like(weights, dtype=torch.bool), []
    loadings = directions.new_zeros(k, len(directions))  # of each text on the texts chosen
    columns = directions.T.contiguous()  # products with it read memory in order
    means = directions.new_zeros(k, directions.shape[1])  # what class means give of those
    for t in range(k):
        best = int((weights * spread / left).masked_fill(~free, -torch.inf).argmax())
        chosen.append(best)
        free[best] = False
        deviation, own_loading = left[best].sqrt(), loadings[:t, best]
        mean = (trust[best] * directions[best] - own_loading @ means[:t]) / deviation
        along = between @ mean
        # Both at once, as all directions and loadings are read for each.
        both = torch.stack([within @ directions[best], along]) @ columns
        before = torch.stack([own_loading, means[:t] @ along]) @ loadings[:t]
        shared = (1 - own) * both[0]
        shared[best] = variance[best]
        loading = (shared - before[0]) / deviation
        cross = trust * both[1] - before[1]
        spread = (spread - 2 * loading * cross + loading.square() * (mean @ along)).clamp_min(0)
        left = (left - loading.square()).maximum(LEAST * variance)
        loadings[t], means[t] = loading, mean
    return torch.tensor(chosen, dtype=torch.long)
