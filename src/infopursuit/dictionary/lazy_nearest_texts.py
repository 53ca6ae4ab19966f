"""The nearest text of each theta again and again, while theta moves a little at a time.

Exact like `nearest_texts`, but most thetas need no search: what an earlier search of the whole
universe found bounds how close any other text can have come since.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from infopursuit.dictionary.nearest_texts import (
    CPU_BLOCK,
    closeness,
    closest_pairs,
    gamma,
    nearest_texts,
    require_finite,
    screen,
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
        universe: (u, d) finite, float16, float32 or float64, perhaps a memory map; never copied.
        candidates: m; more make full searches rarer, and take k * m numbers each. None takes what
            pays: u / 64, at most 64. A universe of at most 4 * m texts is always searched in full.
        block: rows of the universe in one product of a full search.

    Attributes:
        searches: how many thetas were asked for.
        full_searches: for how many of them the whole universe was searched.

    Raises:
        ValueError: the universe holds NaN or infinity.
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
        """Row of the universe nearest to each theta by L2; ties go to the lowest row.

        The i-th theta is taken for the i-th of the last call, moved; with another k all start anew.

        Raises:
            ValueError: a theta holds NaN or infinity.
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
                found, place = rounded[some].topk(min(m + 1, rounded.shape[1]), dim=1)
                best[some], order = torch.cat([best[some], found.double()], 1).topk(m + 1, dim=1)
                rows[some] = torch.cat([rows[some], place + start], 1).gather(1, order)
        # Where the error knows no bound, sums may have overflowed and even be NaN.
        bounds = (best + worst).masked_fill(worst.isinf(), torch.inf)
        norms = torch.linalg.vector_norm(theta, dim=1)[:, None]
        squares = norms.square() - 2 * bounds - self._slack(norms)
        self.reference[which], self.bounds[which] = theta, bounds
        self.distances[which] = squares.clamp(min=0).sqrt()
        self.rows[which], self.nearest[which] = rows[:, :m], rows[:, 0]

    def _slack(self, norms: Float64[Tensor, "w 1"]) -> Float64[Tensor, "w 1"]:
        """More than all float64 roundings of a bound and a closeness at points of these norms."""
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
    """Mean mu of the texts, largest ||q - mu|| and largest ||q||, both rounded up."""
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
