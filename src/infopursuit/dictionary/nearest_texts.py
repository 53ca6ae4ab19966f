"""The nearest text of each theta: the argmin of eq. (nearest_neighbor), by exhaustive search."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor


@torch.no_grad()
def nearest_texts(
    theta: Float[Tensor, "k d"], universe: Float[Tensor, "u d"], block: int = 65536
) -> Int[Tensor, " k"]:
    """Row of the universe nearest to each theta by L2; ties go to the lowest row.

    The universe may be float16; it is compared in theta's type, `block` rows at a time, so that
    memory beyond the universe itself is k * block numbers.
    """
    best = torch.full((len(theta),), -torch.inf, dtype=theta.dtype, device=theta.device)
    nearest = torch.zeros(len(theta), dtype=torch.long, device=theta.device)
    for start in range(0, len(universe), block):
        rows = universe[start : start + block].to(theta.device, theta.dtype)
        # ||theta - q||^2 = ||theta||^2 - (2 theta.q - ||q||^2): the first term never matters.
        closeness = 2 * theta @ rows.T - rows.square().sum(dim=1)
        closest, row = closeness.max(dim=1)
        closer = closest > best
        best = torch.where(closer, closest, best)
        nearest = torch.where(closer, row + start, nearest)
    return nearest
