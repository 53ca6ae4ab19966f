"""The nearest text of each theta in a universe that no single machine holds: exact, shard by shard.

A shard is a range of consecutive rows. Each answers for itself with its nearest row and how close
that is, k pairs of numbers whatever its size, and the closest of these answers is the nearest text
of all: the same row that `nearest_texts` finds in the whole universe, ties included, because equal
pairs of theta and text have bitwise equal closeness wherever it is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from infopursuit.dictionary.nearest_texts import closeness, nearest_texts


class NearestInShard(NamedTuple):
    """What one shard answers: 16 bytes a theta.

    Attributes:
        rows: (k,) the nearest texts of the shard, as rows of the whole universe.
        closeness: (k,) theta.q - ||q||^2 / 2 of each, in float64.
    """

    rows: Int[Tensor, " k"]
    closeness: Float64[Tensor, " k"]


@torch.no_grad()
def nearest_in_shard(
    theta: Float[Tensor, "k d"], shard: Float[Tensor, "s d"], start: int
) -> NearestInShard:
    """The row of a shard nearest to each theta by L2, on a CPU; ties go to the lowest row.

    Args:
        theta: finite; float32 or float64; the same in every shard.
        shard: rows `start` to `start + s` of the universe, at least one; it may be a memory map.
        start: the shard's first row in the universe.

    Raises:
        ValueError: a theta holds NaN or infinity, or the shard has no rows.
    """
    if not len(shard):
        raise ValueError(f"the shard that starts at row {start}: expected rows, found none")
    rows = nearest_texts(theta, shard)
    return NearestInShard(rows + start, closeness(theta.double(), shard[rows]))


def closest_shard(answers: Iterable[NearestInShard]) -> Int[Tensor, " k"]:
    """The nearest row of the universe to each theta, from all shards' answers in any order.

    Raises:
        ValueError: there are no answers.
    """
    best: NearestInShard | None = None
    for answer in answers:
        best = answer if best is None else _closer(best, answer)
    if best is None:
        raise ValueError("expected the answer of at least one shard, found none")
    return best.rows


def _closer(one: NearestInShard, other: NearestInShard) -> NearestInShard:
    tie = (other.closeness == one.closeness) & (other.rows < one.rows)
    takes = (other.closeness > one.closeness) | tie
    return NearestInShard(
        torch.where(takes, other.rows, one.rows),
        torch.where(takes, other.closeness, one.closeness),
    )
