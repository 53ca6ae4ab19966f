"""Where an answer turns to yes: each query has a threshold of its own.

Of a few thresholds the one is taken whose answer tells most of the class. A query names something,
and most things are absent from most images: at most half of the training images say yes, and of
thresholds that tell almost as much as the best, the one with the fewest yes is taken.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.pursuit.answers.gain import binary_entropy

# Shares of the training images that may say yes.
SHARES_OF_YES = tuple(share / 20 for share in range(10, 0, -1))
# What a threshold must tell, as a share of what the most informative one tells.
ALMOST = 0.95
# Of more images than these, thresholds are fitted on a sample of this size.
THRESHOLD_IMAGES = 32768
# Queries that are fitted at once: few enough that their scores stay in the cache.
COLUMNS = 256


def fit_thresholds(scores: Float[Tensor, "n m"], labels: Int[Tensor, " n"]) -> Float[Tensor, " m"]:
    """Return the threshold of each of m queries: almost the most informative one, with few yes.

    Args:
        scores: of n training images.
        labels: their classes 0..c-1.
    """
    counts = torch.bincount(labels).to(scores.dtype).unsqueeze(1)
    return torch.cat([_thresholds(some, labels, counts) for some in scores.split(COLUMNS, dim=1)])


def _thresholds(scores: Tensor, labels: Tensor, counts: Tensor) -> Float[Tensor, " m"]:
    shares = torch.tensor(SHARES_OF_YES, dtype=torch.float64)
    # 0.7 * 90 is a hair below 63.
    places = ((1 - shares) * len(scores) + 1e-6).long().clamp(0, len(scores) - 1)
    values = _sorted(scores)[:, places.to(scores.device)].T.contiguous()
    prior = (counts / counts.sum()).squeeze(1)
    information = torch.empty_like(values)
    for place, threshold in enumerate(values):
        above = torch.zeros(len(counts), scores.shape[1]).to(scores)
        above.index_add_(0, labels, (scores > threshold).to(scores.dtype))
        # Half an image of each answer is added: a class of few images is never certain.
        rates = (above + 0.5).div_(counts + 1)
        gained = binary_entropy(prior @ rates) - prior @ binary_entropy(rates)
        information[place] = gained.clamp_min(0)  # rounding goes below
    good = information >= ALMOST * information.amax(dim=0)
    rows = torch.arange(len(good), device=good.device).unsqueeze(1)
    last = torch.where(good, rows, -1).amax(dim=0)  # the fewest yes; each column has one
    return values.gather(0, last.unsqueeze(0))[0]


def _sorted(scores: Tensor) -> Tensor:
    rows = scores.T.contiguous()
    if scores.device.type != "cpu":
        return rows.sort(dim=1).values
    # Ten times as fast as torch's on a CPU.
    return torch.from_numpy(np.sort(rows.numpy(force=True), axis=1))
