"""The nearest text of each theta: the argmin of eq. (nearest_neighbor), by exhaustive search.

The nearest text by L2 is the one of greatest closeness,

    ||theta - q||^2 = ||theta||^2 - 2 c(q),    c(q) = theta.q - ||q||^2 / 2,

evaluated in float64 from the numbers as they are stored; of equally close texts the lowest row
counts. A float32 product of all thetas with all texts is many times cheaper, so it screens: it
leaves the few texts whose closeness may be the greatest once its rounding error is allowed for,
and float64 decides among those.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

# Rows of one product. On a CPU a block stays near the cache, on a GPU it fills the device.
CPU_BLOCK = 2048
GPU_BLOCK = 65536
# Pairs of theta and text whose closeness is evaluated in float64 at a time.
PAIRS = 512


class Screened(NamedTuple):
    """A block of the universe, compared with all thetas in float32.

    Attributes:
        start: first row of the block.
        rounded: (k, b) closeness as rounded; overwritten when the next block is asked for.
        error: (k,) no rounded closeness is farther than this from its evaluation in float64.
    """

    start: int
    rounded: Float[Tensor, "k b"]
    error: Float64[Tensor, " k"]


@torch.no_grad()
def nearest_texts(
    theta: Float[Tensor, "k d"], universe: Float[Tensor, "u d"], block: int | None = None
) -> Int[Tensor, " k"]:
    """Row of the universe nearest to each theta by L2; ties go to the lowest row.

    On a CPU the answer is exact: the greatest closeness as float64 evaluates it. On a GPU near-ties
    within the rounding of theta's type are decided in that type, first of equals, and nothing
    waits for the device (universe and theta must both be there).

    Args:
        theta: finite; float32 or float64.
        universe: finite; float16, float32 or float64. It may be a memory map: it is read `block`
            rows at a time, and memory beyond it is (k + d) * block numbers.
        block: rows of one product; None takes one that suits the device.

    Raises:
        ValueError: a theta holds NaN or infinity (not looked for on a GPU).
    """
    if theta.device.type != "cpu":
        return _nearest_as_rounded(theta, universe, block or GPU_BLOCK)
    require_finite(theta)
    theta = theta.double()
    best = torch.full((len(theta),), -torch.inf, dtype=torch.float64)
    nearest = torch.full((len(theta),), torch.iinfo(torch.long).max)
    floor = best  # the greatest closeness is at least this
    for start, rounded, error in screen(theta, universe, block or CPU_BLOCK):
        greatest = rounded.amax(dim=1).double()
        floor = torch.maximum(floor, greatest - error)
        cutoff = floor - error
        # Negated, so that NaN from an overflow counts as "may be the nearest".
        some = (~(greatest < cutoff)).nonzero().squeeze(1)
        points, rows = (~(rounded[some] < cutoff[some, None])).nonzero().unbind(1)
        best, nearest = closest_pairs(theta, universe, some[points], rows + start, best, nearest)
    return nearest


def _nearest_as_rounded(theta: Tensor, universe: Tensor, block: int) -> Tensor:
    """The search without a branch on a computed value, so that a GPU never has to report one."""
    best = torch.full((len(theta),), -torch.inf, dtype=theta.dtype, device=theta.device)
    nearest = torch.zeros(len(theta), dtype=torch.long, device=theta.device)
    for start in range(0, len(universe), block):
        texts = universe[start : start + block].to(theta.device, theta.dtype)
        closest, row = (theta @ texts.T - texts.square().sum(dim=1) / 2).max(dim=1)
        closer = closest > best
        best = torch.where(closer, closest, best)
        nearest = torch.where(closer, row + start, nearest)
    return nearest


def screen(
    theta: Float64[Tensor, "k d"], universe: Float[Tensor, "u d"], block: int
) -> Iterator[Screened]:
    """The closeness of all texts to all thetas, rounded, `block` rows of the universe at a time."""
    # `torch.set_float32_matmul_precision` may allow products to round more than float32 does.
    precision = torch.backends.mkldnn.matmul.fp32_precision  # pyright: ignore[reportAttributeAccessIssue]
    dtype = torch.float32 if precision in ("none", "ieee") else torch.float64
    (k, d), norms = theta.shape, torch.linalg.vector_norm(theta, dim=1)
    points, block = theta.to(dtype), min(block, len(universe))
    # Buffers that live as long as the search: fresh memory for each block costs page faults.
    copied, products = torch.empty(block, d, dtype=dtype), torch.empty(k * block, dtype=dtype)
    for start in range(0, len(universe), block):
        texts = universe[start : start + block]
        if texts.dtype != dtype:
            texts = copied[: len(texts)].copy_(texts)
        lengths = torch.linalg.vector_norm(texts, dim=1)
        rounded = products[: k * len(texts)].view(k, len(texts))
        torch.mm(points, texts.T, out=rounded).sub_(lengths.square() / 2)
        yield Screened(start, rounded, _rounding(norms, lengths.max().double(), d, dtype))


def _rounding(norms: Tensor, length: Tensor, d: int, dtype: torch.dtype) -> Tensor:
    """Bound of |rounded closeness - closeness| for thetas of these norms, texts up to `length`.

    A sum of d products is within gamma_d ||x|| ||y|| of x.y in whatever order it is added up,
    gamma_n = n e / (1 - n e) with e half the machine epsilon. Storing x and y in this type, the
    root, the squares and the difference add a few roundings, the evaluation in float64 its own.
    """
    finfo = torch.finfo(dtype)
    length = length * (1 + gamma(d + 4, dtype)) + (d * finfo.tiny) ** 0.5
    size = norms * length + length.square() / 2
    error = size * (gamma(d + 10, dtype) + gamma(d + 10, torch.float64))
    error = error + d * finfo.tiny * (4 + norms + length)  # of products that underflow
    return error.masked_fill(~(4 * size < finfo.max), torch.inf)  # sums may have overflowed


def gamma(n: int, dtype: torch.dtype) -> float:
    """gamma_n: the relative error of n roundings in a row, at most."""
    rounded = n * torch.finfo(dtype).eps / 2
    return rounded / (1 - rounded)


def closeness(theta: Float64[Tensor, "n d"], texts: Float[Tensor, "n d"]) -> Float64[Tensor, " n"]:
    """theta.q - ||q||^2 / 2 of n pairs in float64; equal pairs have bitwise equal closeness."""
    # Sums over the contiguous last axis: the order of additions then depends on d alone.
    texts = texts.double()
    products = (theta * texts).sum(dim=1)
    return products - texts.square().sum(dim=1) / 2


def closest_pairs(
    theta: Float64[Tensor, "k d"],
    universe: Float[Tensor, "u d"],
    points: Int[Tensor, " p"],
    rows: Int[Tensor, " p"],
    best: Float64[Tensor, " k"],
    nearest: Int[Tensor, " k"],
) -> tuple[Float64[Tensor, " k"], Int[Tensor, " k"]]:
    """Best closeness and nearest row after p pairs more, theta points[i] with text rows[i]."""
    values = torch.cat(
        [
            closeness(theta[some], universe[texts])
            for some, texts in zip(points.split(PAIRS), rows.split(PAIRS), strict=True)
        ]
    )
    greatest = best.scatter_reduce(0, points, values, "amax")
    ahead = values == greatest[points]
    # The earlier row stays in the running where it is as close.
    kept = torch.where(best == greatest, nearest, torch.iinfo(torch.long).max)
    return greatest, kept.scatter_reduce(0, points[ahead], rows[ahead], "amin")


def require_finite(theta: Float[Tensor, "k d"]) -> None:
    """Refuse NaN and infinity, which are nearest to nothing.

    Raises:
        ValueError: naming the first theta that holds one.
    """
    finite = theta.isfinite().all(dim=1)
    if not finite.all():
        row = int(finite.long().argmin())
        raise ValueError(
            f"theta {row}: expected finite numbers, found {theta[row][~theta[row].isfinite()][0]}"
            f" ({int((~finite).sum())} of {len(theta)} thetas are not finite: training diverged)"
        )
