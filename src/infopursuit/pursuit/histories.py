"""Histories: which queries of the dictionary have been asked, as a mask (b, k) of zeros and ones.

The answers are kept apart, (b, k) for all queries; a history is the pair answers * mask, mask
(appendix "Representing and Updating Query-Answer Histories").
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor


def sample_sizes(
    batch: int, k: int, max_history: int, generator: torch.Generator
) -> Int[Tensor, " b"]:
    """History sizes, uniform on {0, ..., min(max_history, k) - 1}: one query is left to ask."""
    return torch.randint(min(max_history, k), (batch,), generator=generator)


def random_masks(
    sizes: Int[Tensor, " b"], k: int, generator: torch.Generator
) -> Float[Tensor, "b k"]:
    """Uniformly random subsets of the given sizes (random stage)."""
    order = torch.rand(len(sizes), k, generator=generator).argsort(dim=1)
    return prefix_masks(order, sizes, k)


def prefix_masks(
    orders: Int[Tensor, "b length"], sizes: Int[Tensor, " b"], k: int
) -> Float[Tensor, "b k"]:
    """The first sizes[i] queries of orders[i] (biased stage: prefixes of one roll-out nest)."""
    asked = torch.arange(orders.shape[1], device=orders.device) < sizes.unsqueeze(1)
    # What is beyond a size goes to a spare column: writes never collide with different values.
    columns = torch.where(asked, orders, k)
    return torch.zeros(len(orders), k + 1, device=orders.device).scatter_(1, columns, 1.0)[:, :k]
