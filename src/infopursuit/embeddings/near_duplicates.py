"""Texts that mean nearly the same, by the cosine of their embeddings."""

from __future__ import annotations

import sys

import numpy as np
import torch
from jaxtyping import Bool, Float
from tqdm import tqdm

BLOCK = 1024
AGAINST = 32768


def distinct_rows(
    matrix: Float[np.ndarray, "u d"],
    protected: Bool[np.ndarray, " u"],
    threshold: float,
    device: torch.device,
) -> Bool[np.ndarray, " u"]:
    """Which rows to keep when each row is dropped that has an earlier kept row nearby.

    A row goes if its inner product, in float32, with an earlier kept row is at least `threshold`;
    protected rows always stay. Exact, by blocks: memory beside the matrix is a block of products.

    Args:
        matrix: unit rows.
        protected: rows that stay whatever they are like.
        threshold: cosine from which two texts count as one.
        device: where to multiply.
    """
    count = len(matrix)
    rows = torch.from_numpy(matrix).to(device)
    near = np.zeros(count, dtype=bool)
    keep = np.zeros(count, dtype=bool)
    for start in tqdm(range(0, count, BLOCK), "duplicates", disable=not sys.stderr.isatty()):
        stop = min(start + BLOCK, count)
        block = rows[start:stop].float()
        earlier = torch.from_numpy(np.flatnonzero(keep[:start])).to(device)
        for part in earlier.split(AGAINST):
            found = (block @ rows[part].float().T >= threshold).any(dim=1)
            near[start:stop] |= found.cpu().numpy()
        within = (block @ block.T >= threshold).cpu().numpy()
        for row in range(start, stop):
            keep[row] = protected[row] or not near[row]
            if keep[row]:
                near[row + 1 : stop] |= within[row - start, row - start + 1 :]
    return keep
