"""Where an answer turns to yes: a threshold for each query, of its own.

Of a few thresholds the one is taken whose answer tells most of the class. A query names something,
and most things are absent from most images: at most half of the training images say yes, and of
thresholds that tell almost as much as the best the one with the fewest yes is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.answers.information import binary_entropy

# Shares of the training images that may say yes.
SHARES_OF_YES = tuple(share / 20 for share in range(10, 0, -1))
# What a threshold must tell, as a share of what the most informative one tells.
ALMOST = 0.95
# Queries whose rates in all classes are held at once.
COLUMNS = 1024


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
    weights: Float[Tensor, " n"] | None = None,
    shares: Sequence[float] = SHARES_OF_YES,
) -> Thresholds:
    """The threshold of each of m queries: almost the most informative one, with few yes.

    Args:
        scores: of n training images.
        labels: their classes 0..c-1.
        weights: of the images; None for 1 each.
        shares: of images that say yes, those to choose from, the largest first.
    """
    by_class = labels.argsort(stable=True)
    sizes = torch.bincount(labels).tolist()
    grouped = None if weights is None else weights[by_class].to(scores.dtype)
    parts = [
        _best_thresholds(block[by_class], sizes, grouped, shares)
        for block in scores.split(COLUMNS, dim=1)
    ]
    return Thresholds(*(torch.cat(found) for found in zip(*parts, strict=True)))


def _best_thresholds(
    scores: Tensor, sizes: list[int], weights: Tensor | None, shares: Sequence[float]
) -> Thresholds:
    """The same for some queries; images in the order of their classes, of these sizes."""
    candidates = _quantiles(scores, weights, shares)
    counts = class_sums(torch.ones(len(scores), 1) if weights is None else weights[:, None], sizes)
    prior = (counts / counts.sum()).squeeze(1)
    told = torch.empty_like(candidates)
    for place, values in enumerate(candidates):
        yes = (scores > values).to(scores.dtype)
        if weights is not None:
            yes *= weights.unsqueeze(1)
        # Half an image of each answer is added: a class of few images is never certain.
        rates = (class_sums(yes, sizes) + 0.5) / (counts + 1)
        told[place] = binary_entropy(prior @ rates) - prior @ binary_entropy(rates)
    enough = told >= ALMOST * told.max(dim=0).values
    places = torch.arange(len(shares), device=scores.device).unsqueeze(1)
    last = torch.where(enough, places, -1).max(dim=0, keepdim=True).values
    return Thresholds(candidates.gather(0, last)[0], told.gather(0, last)[0])


def class_sums(values: Float[Tensor, "n m"], sizes: list[int]) -> Float[Tensor, "c m"]:
    """The sum over each class of rows that stand class by class."""
    return torch.stack([rows.sum(dim=0) for rows in values.split(sizes)])


def _quantiles(scores: Tensor, weights: Tensor | None, shares: Sequence[float]) -> Tensor:
    """(s, m): of each column the scores that these shares of the images exceed."""
    if weights is None:
        # 0.7 * 90 is a hair below 63.
        places = [min(int((1 - share) * len(scores) + 1e-6), len(scores) - 1) for share in shares]
        return _sorted(scores)[:, places].T.contiguous()
    order = scores.argsort(dim=0)
    ordered = scores.gather(0, order)
    below = weights[order].cumsum(dim=0) / weights.sum()
    wanted = torch.tensor([1 - share for share in shares], dtype=scores.dtype).unsqueeze(1)
    places = torch.searchsorted(
        below.T.contiguous(), wanted.T.repeat(scores.shape[1], 1), right=True
    )
    return ordered.gather(0, places.T.clamp_max(len(scores) - 1))


def _sorted(scores: Tensor) -> Tensor:
    """(m, n): each column in ascending order, as a row."""
    rows = scores.T.contiguous()
    if scores.device.type != "cpu":
        return rows.sort(dim=1).values
    # Ten times as fast as torch's on a CPU.
    return torch.from_numpy(np.sort(rows.numpy(force=True), axis=1))
