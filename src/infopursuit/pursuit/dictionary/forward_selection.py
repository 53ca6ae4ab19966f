"""Forward selection: texts whose answers together predict the class, chosen one by one.

Orthogonal matching pursuit: the next column is the one that, with those before, leaves the least
squared error of a linear prediction of the one-hot labels.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

# Columns with less of their variance left are combinations of those chosen.
NOTHING_NEW = 1e-3
# All products of m columns take as long as m / GEMM products with one column each.
GEMM = 16
# Columns of which all products with the columns after them are computed at once.
BLOCK = 256


def forward_selection(
    answers: Float[Tensor, "n m"],
    labels: Int[Tensor, " n"],
    count: int,
    weights: Float[Tensor, " n"] | None = None,
    query_weights: Float[Tensor, " m"] | None = None,
) -> list[int]:
    """Choose `count` of m columns, the most useful first; fewer if the rest adds nothing.

    Costs O(count n m): correlations with the residual are updated, never computed again. The
    one-hot labels (n, c) are never made: only sums over classes of what they multiply.

    Args:
        query_weights: factors on the gain of each column; None for 1 each.
    """
    if weights is None:
        root = answers.new_ones(len(answers), 1)
        columns = answers - answers.mean(dim=0)
    else:
        share = (weights / weights.sum()).to(answers.dtype).unsqueeze(1)
        root = weights.to(answers.dtype).sqrt().unsqueeze(1)
        columns = (answers - (share * answers).sum(dim=0)) * root

    def sums(values: Float[Tensor, "n m"]) -> Float[Tensor, "c m"]:
        return values.new_zeros(classes, values.shape[1]).index_add_(0, labels, values)

    classes = int(labels.max()) + 1
    # One-hot labels, each scaled to the norm one; columns are centred, so that these need not be.
    scale = sums(root.square()).rsqrt()
    left = columns.square().sum(dim=0)  # squared norm of each column beyond those chosen
    enough = NOTHING_NEW * left
    correlation = (sums(columns * root) * scale).T.contiguous()
    most = min(count, len(columns))
    # All products at once, if that is less work than the products with each column chosen.
    all_products = _products(columns) if GEMM * most > len(left) else None
    chosen: list[int] = []
    shares = columns.new_zeros(most, len(left))  # of each column, along each direction so far
    while len(chosen) < most:
        usable = (left > enough) & (left > 0)
        usable[chosen] = False
        if not usable.any():
            break
        gain = torch.linalg.vector_norm(correlation, dim=1).square() / left
        if query_weights is not None:
            gain = gain * query_weights.to(gain.dtype)
        gain = gain.masked_fill(~usable, -torch.inf)
        if gain.max() <= 0:
            break
        best = int((gain == gain.max()).int().argmax())  # the first of equals
        # The direction is what the best column adds to those chosen; it is never computed itself.
        products = columns.T @ columns[:, best] if all_products is None else all_products[best]
        before = shares[: len(chosen)]
        share = products - before.T @ before[:, best]
        norm = share[best].sqrt()
        share /= norm
        shares[len(chosen)] = share
        chosen.append(best)
        left = (left - share.square()).clamp_min(0)
        correlation.addr_(share, correlation[best] / norm, alpha=-1)
    return chosen


def _products(columns: Float[Tensor, "n m"]) -> Float[Tensor, "m m"]:
    """Return the product of each column with each: half are computed, the others are the same."""
    count = columns.shape[1]
    products = columns.new_empty(count, count)
    for start in range(0, count, BLOCK):
        rest = slice(start + BLOCK, None)
        block = slice(start, start + BLOCK)
        torch.matmul(columns[:, block].T, columns[:, start:], out=products[block, start:])
        products[rest, block] = products[block, rest].T
    return products
