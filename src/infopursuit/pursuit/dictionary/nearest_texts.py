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
# The lower half of a float32 is multiplied by this before it is stored as float16, whose precision
# it is: as it is, the half would be among the smallest numbers of float16, or below.
LOWER_SCALE = 2.0**11
# Pairs of theta and text whose closeness is evaluated in float64 at a time.
PAIRS = 512


class Screened(NamedTuple):
    """A block of the universe, compared with all thetas in float32."""

    start: int
    rounded: Float[Tensor, "k b"]
    error: Float64[Tensor, " k"]


@torch.no_grad()
def nearest_texts(
    theta: Float[Tensor, "k d"], universe: Float[Tensor, "u d"], block: int | None = None
) -> Int[Tensor, " k"]:
    """Return the row of the universe nearest to each theta by L2; ties go to the lowest row.

    On a CPU the answer is exact: the greatest closeness as float64 evaluates it. On a GPU
    `DeviceNearestTexts` finds it (universe and theta must both be there).

    Args:
        universe: finite; float16, float32 or float64. It may be a memory map: it is read `block`
            rows at a time, and memory beyond it is (k + d) * block numbers.
    """
    if theta.device.type != "cpu":
        return DeviceNearestTexts(universe, theta.dtype, block or GPU_BLOCK).search(theta)
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


class DeviceNearestTexts:
    """Nearest texts on a GPU, by full search; no call waits for the device.

    Near-ties within the rounding of theta's type are decided in that type, first of equals. Float32
    thetas meet float16 texts as two float16 halves each, whose products tensor cores add up in
    float32: at least as exact as float32 products, and three to five times as fast. Their numbers
    must then be below 65,504.

    Args:
        universe: (u, d), on the device.
        dtype: of the thetas.
        block: texts of one product.
    """

    @torch.no_grad()
    def __init__(
        self, universe: Float[Tensor, "u d"], dtype: torch.dtype, block: int = GPU_BLOCK
    ) -> None:
        self.universe, self.block = universe, block
        types = universe.dtype, dtype
        self.halved = universe.is_cuda and types == (torch.float16, torch.float32)
        lengths = [texts.to(dtype).square().sum(dim=1) for texts in universe.split(block)]
        self.half_squares = torch.cat(lengths) / 2

    @torch.no_grad()
    def search(self, theta: Float[Tensor, "k d"]) -> Int[Tensor, " k"]:
        """Return the row of the universe nearest to each theta by L2; ties go to the lowest row."""
        best = torch.full((len(theta),), -torch.inf, dtype=theta.dtype, device=theta.device)
        nearest = torch.zeros(len(theta), dtype=torch.long, device=theta.device)
        halves = in_halves(theta) if self.halved else theta
        for start in range(0, len(self.universe), self.block):
            part = slice(start, start + self.block)
            closeness = self._products(halves, self.universe[part]).sub_(self.half_squares[part])
            closest, row = closeness.max(dim=1)
            closer = closest > best
            best = torch.where(closer, closest, best)
            nearest = torch.where(closer, row + start, nearest)
        return nearest

    def _products(self, theta: Tensor, texts: Tensor) -> Tensor:
        if not self.halved:
            return theta @ texts.to(theta.dtype).T
        upper, lower = torch.mm(theta, texts.T, out_dtype=torch.float32).chunk(2)
        return torch.add(upper, lower, alpha=1 / LOWER_SCALE)


def in_halves(theta: Float[Tensor, "k d"]) -> Float[Tensor, "2*k d"]:
    """Return the float16 upper halves of k points, then their lower halves times `LOWER_SCALE`.

    An upper half and its lower half, scaled back, sum to theta up to 2^-22 of each number plus
    2^-36.
    """
    upper = theta.half()
    return torch.cat((upper, ((theta - upper) * LOWER_SCALE).half()))


def screen(
    theta: Float64[Tensor, "k d"], universe: Float[Tensor, "u d"], block: int
) -> Iterator[Screened]:
    """Yield the closeness of all texts to all thetas, rounded, `block` rows at a time."""
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
    """Return a bound of |rounded closeness - closeness| for these norms, texts up to `length`.

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
    """Return gamma_n: the relative error of n roundings in a row, at most."""
    rounded = n * torch.finfo(dtype).eps / 2
    return rounded / (1 - rounded)


def closeness(theta: Float64[Tensor, "n d"], texts: Float[Tensor, "n d"]) -> Float64[Tensor, " n"]:
    """Return theta.q - ||q||^2 / 2 of n pairs; equal pairs have bitwise equal closeness."""
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
    """Return best closeness and nearest row after p pairs more, points[i] with rows[i]."""
    values = torch.cat(
        [
            closeness(theta[some], universe[texts])
            for some, texts in zip(points.split(PAIRS), rows.split(PAIRS), strict=True)
        ]
    )
    greatest = best.scatter_reduce(0, points, values, "amax")
    ahead = values == greatest[points]
    # The earlier row stays in the running if it is as close.
    earlier = torch.where(best == greatest, nearest, torch.iinfo(torch.long).max)
    return greatest, earlier.scatter_reduce(0, points[ahead], rows[ahead], "amin")


def require_finite(theta: Float[Tensor, "k d"]) -> None:
    """Refuse NaN and infinity, which are nearest to nothing."""
    finite = theta.isfinite().all(dim=1)
    if not finite.all():
        row = int(finite.long().argmin())
        raise ValueError(
            f"theta {row}: expected finite numbers, found {theta[row][~theta[row].isfinite()][0]}"
            f" ({int((~finite).sum())} of {len(theta)} thetas are not finite: training diverged)"
        )


# Evaluating one candidate takes as long as about this many texts of a full search.
TEXTS_PER_CANDIDATE = 64
MOST_CANDIDATES = 64
# A full search of a few thetas reads the universe just as one of a single theta does, so those
# that will need one soonest come along.
TOGETHER = 16


class LazyNearestTexts:
    """Nearest texts of k thetas that move; on a CPU, exact at every call.

    The full search of theta at a reference point r keeps its m closest texts, the candidates. For
    each of them, and for all other texts together, it leaves an upper bound B of the closeness
    c_r(q) = r.q - ||q||^2 / 2, and with it the lower bound D^2 = ||r||^2 - 2 B of ||r - q||^2.
    Two bounds follow at theta = r + delta. With mu the mean of the universe and rho the largest
    ||q - mu|| (Cauchy-Schwarz):

        c_theta(q) = c_r(q) + delta.mu + delta.(q - mu) <= B + delta.mu + ||delta|| rho,

    and as ||theta - q|| >= ||r - q|| - ||delta|| (the triangle inequality):

        c_theta(q) = (||theta||^2 - ||theta - q||^2) / 2
                  <= (||theta||^2 - max(D - ||delta||, 0)^2) / 2.

    Let best be the closeness at theta of some text, here of the one that was nearest before. A text
    whose lesser bound is below best is not the nearest. So only candidates whose bound reaches best
    are evaluated, which raises best to the greatest closeness of all candidates. If best is then
    strictly greater than the bound of the other texts, none of them is as close: the closest
    candidate, of equals the lowest row, is the nearest text. Otherwise the universe is searched in
    full for this theta, and theta becomes its reference.

    The second bound alone contains the familiar rule "the nearest is a candidate while ||delta|| is
    less than (d_{m+1} - d_1) / 2", d_i the distances from r in order. The first is the sharper one
    once theta is farther from all texts than they are from their mean: moving along mu, which they
    share, brings none of them ahead of the others.

    Args:
        candidates: m; more make full searches rarer, and take k * m numbers each. None takes what
            pays: u / 64, at most 64. A universe of at most 4 * m texts is always searched in full.

    Attributes:
        searches: how many thetas were asked for.
        full_searches: for how many of them the whole universe was searched.
    """

    def __init__(
        self,
        universe: Float[Tensor, "u d"],
        candidates: int | None = None,
        block: int = CPU_BLOCK,
    ) -> None:
        self.universe, self.block = universe, block
        affordable = min(len(universe) // TEXTS_PER_CANDIDATE, MOST_CANDIDATES)
        self.candidates = affordable if candidates is None else candidates
        self.searches = self.full_searches = 0
        self.mean, self.radius, self.longest = _ball(universe)
        self._forget(0)

    @torch.no_grad()
    def search(self, theta: Float[Tensor, "k d"]) -> Int[Tensor, " k"]:
        """Return the row of the universe nearest to each theta by L2; ties go to the lowest row.

        The i-th theta is taken for the i-th of the last call, moved; another k starts afresh.
        """
        require_finite(theta)
        k, theta = len(theta), theta.double()
        self.searches += k
        if len(self.universe) <= 4 * self.candidates or self.candidates == 0:
            self.full_searches += k
            return nearest_texts(theta, self.universe, self.block)
        if len(self.reference) == k:
            margins = self._among_candidates(theta, torch.arange(k))
            unsure = int((margins <= 0).sum())
            which = margins.argsort()[: max(unsure, TOGETHER) if unsure else 0]
        else:
            self._forget(k)
            which = torch.arange(k)
        if len(which):
            self.full_searches += len(which)
            self._refer(theta, which)
            # Unsure even here: more than m texts are as close as float32 can tell.
            tied = which[self._among_candidates(theta, which) <= 0]
            if len(tied):
                self.nearest[tied] = nearest_texts(theta[tied], self.universe, self.block)
        return self.nearest.clone()

    def _among_candidates(
        self, theta: Float64[Tensor, "k d"], which: Int[Tensor, " w"]
    ) -> Float64[Tensor, " w"]:
        """Set the closest candidates of some thetas; by how much they beat all other texts."""
        theta = theta[which]
        moved = theta - self.reference[which]
        distances = torch.linalg.vector_norm(moved, dim=1)[:, None]
        norms = torch.linalg.vector_norm(theta, dim=1)[:, None]
        around_mean = self.bounds[which] + (moved @ self.mean)[:, None] + distances * self.radius
        nearer = (self.distances[which] - distances).clamp(min=0)
        around_reference = (norms.square() - nearer.square()) / 2
        bounds = torch.minimum(around_mean, around_reference) + self._slack(norms + distances)
        nearest = self.nearest[which]
        best = closeness(theta, self.universe[nearest])
        points, place = (bounds[:, :-1] >= best[:, None]).nonzero().unbind(1)
        rows = self.rows[which[points], place]
        best, self.nearest[which] = closest_pairs(theta, self.universe, points, rows, best, nearest)
        return best - bounds[:, -1]

    def _refer(self, theta: Float64[Tensor, "k d"], which: Int[Tensor, " w"]) -> None:
        """Search the universe for the candidates of some thetas, which become references."""
        theta, m = theta[which], self.candidates
        best = torch.full((len(theta), m + 1), -torch.inf, dtype=torch.float64)
        rows = torch.zeros(len(theta), m + 1, dtype=torch.long)
        worst = torch.zeros(len(theta), 1, dtype=torch.float64)
        for start, rounded, error in screen(theta, self.universe, self.block):
            worst = torch.maximum(worst, error[:, None])
            # Few thetas meet a closer text in a block once some blocks are behind.
            some = (rounded.amax(dim=1) > best[:, -1]).nonzero().squeeze(1)
            if len(some):
                closest, place = rounded[some].topk(min(m + 1, rounded.shape[1]), dim=1)
                best[some], order = torch.cat([best[some], closest.double()], 1).topk(m + 1, dim=1)
                rows[some] = torch.cat([rows[some], place + start], 1).gather(1, order)
        # Where the error knows no bound, sums may have overflowed and even be NaN.
        bounds = (best + worst).masked_fill(worst.isinf(), torch.inf)
        norms = torch.linalg.vector_norm(theta, dim=1)[:, None]
        squares = norms.square() - 2 * bounds - self._slack(norms)
        self.reference[which], self.bounds[which] = theta, bounds
        self.distances[which] = squares.clamp(min=0).sqrt()
        self.rows[which], self.nearest[which] = rows[:, :m], rows[:, 0]

    def _slack(self, norms: Float64[Tensor, "w 1"]) -> Float64[Tensor, "w 1"]:
        """Return more than all float64 roundings of a bound and a closeness at these norms."""
        d = len(self.mean)
        return 64 * gamma(d + 8, torch.float64) * (norms + self.longest).square()

    def _forget(self, k: int) -> None:
        """Make room for k thetas, of which nothing is known: their bounds are infinite."""
        m, d = self.candidates, len(self.mean)
        self.reference = torch.zeros(k, d, dtype=torch.float64)
        self.bounds = torch.full((k, m + 1), torch.inf, dtype=torch.float64)
        self.distances = torch.zeros(k, m + 1, dtype=torch.float64)
        self.rows = torch.zeros(k, m, dtype=torch.long)
        self.nearest = torch.zeros(k, dtype=torch.long)


def _ball(universe: Tensor) -> tuple[Tensor, float, float]:
    """Return mean mu of the texts, largest ||q - mu|| and largest ||q||, both rounded up."""
    u, d = universe.shape
    blocks = [slice(start, start + 512) for start in range(0, u, 512)]
    total = torch.zeros(d, dtype=torch.float64)
    for block in blocks:
        total += universe[block].double().sum(dim=0)
    if not total.isfinite().all():
        raise ValueError("the universe holds NaN or infinity; expected finite embeddings")
    mean, radius, longest = total / u, 0.0, 0.0
    for block in blocks:
        texts = universe[block].double()
        longest = max(longest, float(torch.linalg.vector_norm(texts, dim=1).max()))
        radius = max(radius, float(torch.linalg.vector_norm(texts - mean, dim=1).max()))
    up = 1 + gamma(d + 8, torch.float64)
    return mean, radius * up, longest * up
