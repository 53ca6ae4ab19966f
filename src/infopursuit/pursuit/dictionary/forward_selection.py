"""Forward selection: texts whose answers together predict the class, chosen one by one.

Orthogonal matching pursuit: the next column is the one that, with those before, leaves the least
squared error of a linear prediction of the one-hot labels.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

# Columns with less of their variance left are combinations of those chosen.
NOTHING_NEW = 1e-3


def forward_selection(
    answers: Float[Tensor, "n m"],
    labels: Int[Tensor, " n"],
    count: int,
    weights: Float[Tensor, " n"] | None = None,
    ties: float = 0.0,
    query_weights: Float[Tensor, " m"] | None = None,
) -> list[int]:
    """Choose `count` of m columns, the most useful first; fewer if the rest adds nothing.

    Costs O(count n m): correlations with the residual are updated, never computed again.

    Args:
        ties: columns whose gains differ by no more than this share are equal, and the first of
            equals is chosen.
        query_weights: factors on the gain of each column; None for 1 each.
    """
    members = functional.one_hot(labels).to(answers.dtype)
    if weights is None:
        columns = answers - answers.mean(dim=0)
        target = members / members.sum(dim=0).sqrt()
        target = target - target.mean(dim=0)
    else:
        share = (weights / weights.sum()).to(answers.dtype).unsqueeze(1)
        root = weights.to(answers.dtype).sqrt().unsqueeze(1)
        columns = (answers - (share * answers).sum(dim=0)) * root
        target = members / (root.square() * members).sum(dim=0).sqrt()
        target = (target - (share * target).sum(dim=0)) * root
    left = columns.square().sum(dim=0)  # squared norm of each column beyond those chosen
    enough = NOTHING_NEW * left
    correlation = columns.T @ target
    least = ties * target.square().sum()
    chosen: list[int] = []
    basis = columns.new_zeros(min(count, len(columns)), len(columns))
    while len(chosen) < min(count, len(columns)):
        usable = (left > enough) & (left > 0)
        usable[chosen] = False
        if not usable.any():
            break
        gain = correlation.square().sum(dim=1) / left
        if query_weights is not None:
            gain = gain * query_weights.to(gain.dtype)
        gain = gain.masked_fill(~usable, -torch.inf)
        if gain.max() <= least:
            break
        best = int((gain >= gain.max() * (1 - ties)).int().argmax())
        direction = columns[:, best] - basis.T @ (basis @ columns[:, best])
        direction = direction / direction.norm()
        basis[len(chosen)] = direction
        chosen.append(best)
        share = columns.T @ direction
        left = (left - share.square()).clamp_min(0)
        correlation -= torch.outer(share, direction @ target)
    return chosen
