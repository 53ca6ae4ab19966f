"""Where an answer turns to yes: a threshold for each query, of its own.

Of a few thresholds the one is taken whose answer tells most of the class. A query names something,
and most things are absent from most images: at most half of the training images say yes, and of
thresholds that tell almost as much as the best the one with the fewest yes is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.evidence.information import binary_entropy, class_prior

# Shares of the training images that may say yes.
SHARES_OF_YES = tuple(share / 20 for share in range(10, 0, -1))
# What a threshold must tell, as a share of what the most informative one tells.
ALMOST = 0.95


class Thresholds(NamedTuple):
    """One threshold a query.

    Attributes:
        values: an image answers yes where its score is above.
        information: mutual information of answer and class on the training images, in nats.
    """

    values: Float[Tensor, " m"]
    information: Float[Tensor, " m"]


def fit_thresholds(
    scores: Float[Tensor, "n m"],
    labels: Int[Tensor, " n"],
    shares: tuple[float, ...] = SHARES_OF_YES,
) -> Thresholds:
    """The threshold of each of m queries: almost the most informative one, with few yes.

    Args:
        scores: of n training images.
        labels: their classes 0..c-1.
        shares: of images that say yes, those to choose from, the largest first.
    """
    members = functional.one_hot(labels).to(scores.dtype)
    counts, prior = members.sum(dim=0).unsqueeze(1), class_prior(labels)
    ordered = _sorted(scores)
    candidates = torch.stack(
        [ordered[min(int((1 - share) * len(scores)), len(scores) - 1)] for share in shares]
    )
    told = torch.empty_like(candidates)
    for place, values in enumerate(candidates):
        yes = (scores > values).to(scores.dtype)
        # Half an image of each answer is added: a class of few images is never certain.
        rates = (members.T @ yes + 0.5) / (counts + 1)
        told[place] = binary_entropy(prior @ rates) - prior @ binary_entropy(rates)
    enough = told >= ALMOST * told.max(dim=0).values
    places = torch.arange(len(shares), device=scores.device).unsqueeze(1)
    last = torch.where(enough, places, -1).max(dim=0, keepdim=True).values
    return Thresholds(candidates.gather(0, last)[0], told.gather(0, last)[0])


def _sorted(scores: Tensor) -> Tensor:
    """Each column in ascending order."""
    if scores.device.type != "cpu":
        return scores.sort(dim=0).values
    # Ten times as fast as torch's on a CPU, which walks down one column at a time.
    return torch.from_numpy(np.sort(scores.numpy(force=True), axis=0))
