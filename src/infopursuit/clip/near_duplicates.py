"""Texts that mean nearly the same, by the cosine of their embeddings."""

from __future__ import annotations

import sys

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32
from tqdm import tqdm

# Rows that are decided at once, and kept rows that they are compared with at a time. A GPU gets
# larger blocks, because the kept rows are copied to it again for each.
BLOCK = 1024
GPU_BLOCK = 16384
AGAINST = 8192


def distinct_rows(
    matrix: Float[np.ndarray, "u d"],
    protected: Bool[np.ndarray, " u"],
    threshold: float,
    device: torch.device,
) -> Bool[np.ndarray, " u"]:
    """Return which rows to keep when each row with an earlier kept row nearby is dropped.

    A row is dropped if its inner product with an earlier kept row, rounded to float32, is at least
    `threshold` in float32; protected rows always stay. The result is exact on every device: pairs
    that float32 cannot decide are multiplied in float64, which holds all digits of a product of
    rows in float16. The work is u^2 d / 2 multiplications.
    """
    limit = float(np.float32(threshold))
    keep = np.zeros(len(matrix), dtype=bool)
    size = BLOCK if device.type == "cpu" else GPU_BLOCK

    def read(rows: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(matrix[rows]).to(device).float()

    for start in tqdm(range(0, len(matrix), size), "duplicates", disable=not sys.stderr.isatty()):
        block = np.arange(start, min(start + size, len(matrix)))
        rows, stays = read(block), protected[block]
        earlier = np.flatnonzero(keep[:start])
        dropped = np.zeros(len(block), dtype=bool)
        for first in range(0, len(earlier), AGAINST):
            open_rows = np.flatnonzero(~dropped & ~stays)
            others = read(earlier[first : first + AGAINST])
            dropped[open_rows] = _near(rows[open_rows], others, limit).any(dim=1).cpu().numpy()
        left = np.flatnonzero(~dropped)
        near = _near(rows[left], rows[left], limit).tril(-1).cpu().numpy()
        for place in np.flatnonzero(near.any(axis=0)):
            if not dropped[left[place]]:
                dropped[left[near[:, place] & ~stays[left]]] = True
        keep[block] = ~dropped
    return keep


def _near(
    rows: Float32[torch.Tensor, "m d"], others: Float32[torch.Tensor, "n d"], limit: float
) -> Bool[torch.Tensor, "m n"]:
    """Return which pairs have an inner product of at least `limit`, rounded to float32."""
    products = rows @ others.T
    near = products >= limit
    if products.numel():
        # How far a product of d numbers may be off in float32, summed in any order.
        margin = 2**-23 * rows.shape[1] * float(rows.norm(dim=1).max() * others.norm(dim=1).max())
        unsure = ((products - limit).abs() <= margin).any(dim=1)
        near[unsure] = (rows[unsure].double() @ others.double().T).float() >= limit
    return near
