"""Texts that mean nearly the same, by the cosine of their embeddings.

Of u texts all pairs count, u^2 / 2 products of d numbers. Most pairs are told apart by less: in a
rotated space whose first k axes hold most of the rows' lengths, the product of two rows is that of
their first k numbers and that of the rest, which is at most the product of the lengths of the rests
(Cauchy-Schwarz). Pairs whose bound stays below the threshold are done; the others are multiplied.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, Float, Float16, Float32, Float64, Int
from tqdm import tqdm

# Rows that are decided at once, and kept rows that they are compared with at a time. A GPU gets
# larger blocks: the kept rows come from the host anew for each.
BLOCK = 1024
GPU_BLOCK = 16384
AGAINST = 8192
# Rows that the axes are fitted to, and others on which their number is chosen.
FITTED = 8192
TRIED = 1024
AXES = (16, 32, 64, 96, 128, 192, 256, 384)
# Time of a pair that is multiplied by itself, in pairs of a product of matrices.
ALONE = 100
PAIRS = 1 << 11
# Keys are rounded to float16, which takes up to 2**-11 of the two rows' lengths off their product,
# and a product of 400 numbers in float32 takes 2.4e-5.
SLACK = 6e-4

Rows = Float32[torch.Tensor, "m d"]
Axes = Float64[torch.Tensor, "d k"]
Near = Bool[torch.Tensor, "m n"]


def distinct_rows(
    matrix: Float[np.ndarray, "u d"],
    protected: Bool[np.ndarray, " u"],
    threshold: float,
    device: torch.device,
) -> Bool[np.ndarray, " u"]:
    """Which rows to keep when each row is dropped that has an earlier kept row nearby.

    A row goes if its inner product with an earlier kept row, rounded to float32, is at least
    `threshold` in float32; protected rows always stay. Exact on every device: what float32 cannot
    decide is multiplied in float64, which holds all digits of a product of rows in float16. Memory
    beside the matrix is blocks, and k + 2 numbers in float16 for each kept row where k of d rotated
    axes tell most pairs apart.

    Args:
        matrix: unit rows; it may be a memory map, of which blocks are read.
        protected: rows that stay whatever they are like.
        threshold: cosine from which two texts count as one.
        device: where to multiply.
    """
    count, limit = len(matrix), float(np.float32(threshold))
    axes = _axes(matrix, limit, device)
    # Pages that are never written take no memory.
    keys = np.empty((count, 0 if axes is None else axes.shape[1] + 2), dtype=np.float16)
    keep = np.zeros(count, dtype=bool)
    size = BLOCK if device.type == "cpu" else GPU_BLOCK
    for start in tqdm(range(0, count, size), "duplicates", disable=not sys.stderr.isatty()):
        given = protected[start : start + size]
        rows = _read(matrix, np.arange(start, start + len(given)), device)
        mine = None if axes is None else _keys(rows, axes)
        near = np.zeros(len(given), dtype=bool)
        earlier = np.flatnonzero(keep[:start])
        for begin in range(0, len(earlier), AGAINST):
            part = earlier[begin : begin + AGAINST]
            waiting = torch.from_numpy(np.flatnonzero(~near & ~given)).to(device)
            possible = torch.ones((len(waiting), len(part)), dtype=torch.bool, device=device)
            if mine is not None:
                theirs = torch.from_numpy(keys[begin : begin + len(part)]).to(device)
                possible = _possible(mine[waiting], theirs, limit)
            found = _near(rows[waiting], _reader(matrix, part, device), possible, limit).any(dim=1)
            near[waiting[found].cpu().numpy()] = True
        left = np.flatnonzero(~near | given)
        at = torch.from_numpy(left).to(device)
        possible = torch.ones((len(at), len(at)), dtype=torch.bool, device=device)
        if mine is not None:
            possible = _possible(mine[at], mine[at], limit)
        found = _near(rows[at], rows[at].__getitem__, possible.tril(-1), limit).cpu().numpy()
        kept = left[_first_come(found, given[left])]
        keep[start + kept] = True
        if mine is not None:
            keys[len(earlier) : len(earlier) + len(kept)] = mine.cpu().numpy()[kept]
    return keep


def _first_come(near: Bool[np.ndarray, "m m"], given: Bool[np.ndarray, " m"]) -> np.ndarray:
    """Which rows stay, in their order; `near` holds the earlier rows near each row."""
    gone = np.zeros(len(near), dtype=bool)
    for row in np.flatnonzero(near.any(axis=0)):
        if given[row] or not gone[row]:
            gone |= near[:, row]
    return given | ~gone


def _near(
    rows: Rows,
    others: Callable[[Int[torch.Tensor, " p"]], Float32[torch.Tensor, "p d"]],
    possible: Near,
    limit: float,
) -> Near:
    """Which of the possible pairs have an inner product of at least `limit`, rounded to float32."""
    count = int(torch.count_nonzero(possible))
    near = torch.zeros_like(possible)
    if not count:
        return near
    if count * ALONE > possible.numel():
        every = others(torch.arange(possible.shape[1], device=rows.device))
        products, margin = rows @ every.T, _margin(rows, every)
        near = possible & (products > limit + margin)
        unsure = (possible & ~near & (products >= limit - margin)).nonzero()
        near[tuple(unsure.T)] = _exactly(rows, every, unsure, limit)
        return near
    pairs = possible.nonzero()
    columns, place = pairs[:, 1].unique(return_inverse=True)
    few = others(columns)
    alone = torch.stack([pairs[:, 0], place], dim=1)
    products = torch.cat([_products(rows, few, part) for part in alone.split(PAIRS)])
    margin = _margin(rows, few)
    decided = products > limit + margin
    unsure = (~decided & (products >= limit - margin)).nonzero()[:, 0]
    decided[unsure] = _exactly(rows, few, alone[unsure], limit)
    near[tuple(pairs.T)] = decided
    return near


def _margin(rows: Rows, others: Float32[torch.Tensor, "n d"]) -> float:
    """What a product of d numbers may be off in float32, summed in any order."""
    lengths = float(rows.norm(dim=1).max() * others.norm(dim=1).max())
    return 2**-23 * rows.shape[1] * lengths


def _products(
    rows: Rows, others: Float32[torch.Tensor, "n d"], pairs: Int[torch.Tensor, "p 2"]
) -> Float32[torch.Tensor, " p"]:
    return torch.linalg.vecdot(rows[pairs[:, 0]], others[pairs[:, 1]])


def _exactly(
    rows: Rows, others: Float32[torch.Tensor, "n d"], pairs: Int[torch.Tensor, "p 2"], limit: float
) -> Bool[torch.Tensor, " p"]:
    parts = [
        torch.linalg.vecdot(rows[part[:, 0]].double(), others[part[:, 1]].double()).float() >= limit
        for part in pairs.split(PAIRS)
    ]
    return torch.cat(parts)


def _keys(rows: Rows, axes: Axes) -> Float16[torch.Tensor, "m k2"]:
    """First k numbers of each rotated row, length of the rest, length of all."""
    exact = rows.double()
    first = exact @ axes
    squares = exact.square().sum(dim=1)
    # What the subtraction rounds off belongs to the rest.
    rest = (squares - first.square().sum(dim=1)).clamp(min=0) + 1e-12 * squares
    return torch.cat([first, rest.sqrt()[:, None], squares.sqrt()[:, None]], dim=1).half()


def _possible(
    keys: Float16[torch.Tensor, "m k2"], others: Float16[torch.Tensor, "n k2"], limit: float
) -> Near:
    """Which pairs can reach `limit`."""
    scaled = keys.float()
    scaled[:, -1] *= 2 * SLACK
    return scaled @ others.float().T >= limit


def _axes(matrix: Float[np.ndarray, "u d"], limit: float, device: torch.device) -> Axes | None:
    """Axes that make most of the pairs' work short, None where all numbers are multiplied sooner.

    Any axes at right angles are right; how many of them is decided by counting, not by the clock.
    """
    count, width = matrix.shape
    if count < 2 * TRIED:
        return None
    fitted = _read(matrix, np.linspace(0, count - 1, min(count, FITTED)).astype(int), device)
    exact = fitted.double()
    axes = torch.linalg.eigh(exact.T @ exact).eigenvectors.flip(1)
    tried = np.linspace(0, count - 1, 2 * TRIED + 1).astype(int)[1::2]
    rows = _read(matrix, tried, device)
    # Of rows that are near each other one goes soon: what counts is pairs multiplied for nothing.
    apart = rows @ rows.T < limit
    best, least = None, width / 2
    for size in AXES:
        chosen = axes[:, :size].contiguous()
        if size >= width:
            break
        keys = _keys(rows, chosen)
        share = (_possible(keys, keys, limit) & apart).sum() / apart.numel()
        work = size + float(share) * ALONE * width
        if work < least:
            best, least = chosen, work
    return best


def _read(
    matrix: Float[np.ndarray, "u d"], indices: Int[np.ndarray, " m"], device: torch.device
) -> Rows:
    return torch.from_numpy(matrix[indices]).to(device).float()


def _reader(
    matrix: Float[np.ndarray, "u d"], part: Int[np.ndarray, " n"], device: torch.device
) -> Callable[[Int[torch.Tensor, " p"]], Rows]:
    return lambda places: _read(matrix, part[places.cpu().numpy()], device)
