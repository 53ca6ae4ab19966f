"""k-medoids of the universe: the k texts with the least sum of distances to all others' nearest.

A small universe is searched by swaps that count every text, until none lowers the deviation (the
optimum that FasterPAM of Schubert and Rousseeuw finds). In a larger one the search goes from a
sample to larger ones and ends on all texts; swaps count the texts around them, and the texts that
are tried are screened. The work is limited by a count, not by a clock, so that a seed always gives
the same medoids.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Float64, Int, Int64
from torch import Tensor
from tqdm import tqdm

from infopursuit.core.errors import InputError
from infopursuit.core.results import ResultFolder, job_digest

logger = logging.getLogger(__name__)

STATE = "search.pt"
WHOLE = 2000  # a universe of at most this many points is searched without samples, by all swaps
GROWTH = 4  # of a sample over the one before
PER_MEDOID = 20  # points in the smallest sample, at least
# A round that lowers the deviation by less than this share of it is the last on a sample, ...
SETTLED_SAMPLE = 1e-3
SETTLED = 1e-4  # ... on all points.


@dataclass(frozen=True)
class MedoidSearch:
    """How far a search goes in a universe of more than `WHOLE` points.

    Attributes:
        distances: how many distances it may compute, per point; the time is in proportion.
        reach: a swap counts the points that have the candidate's medoid among their `reach`
            nearest. From k on it counts all points.
    """

    distances: int = 5000
    reach: int = 8


def k_medoids(
    points: Float[np.ndarray, "u d"],
    k: int,
    seed: int,
    search: MedoidSearch | None = None,
    device: str = "cpu",
    scratch: str | Path | None = None,
) -> Int[np.ndarray, " k"]:
    """Return the rows of k distinct medoids under Euclidean distance, ascending.

    Memory beyond the points, which may be a memory map, is some 150 bytes per point and a
    constant.

    Args:
        scratch: where the state of an unfinished search is kept, in a folder named by a hash of
            all that the result depends on. A search that was killed goes on from there; the folder
            is removed when the search has ended. None keeps no state.
    """
    if k > len(points):
        raise InputError(f"k is {k}; expected at most {len(points)}, the size of the universe")
    search = search or MedoidSearch()
    run = _Search(torch.from_numpy(points).to(device), k, seed, search)
    results = None
    if scratch is not None:
        job = _digest(points, k, seed, search, run.points.device.type)
        results = ResultFolder(scratch, job)
        state = results.read_state(STATE)
        if state is not None:
            run.load_state_dict(state)
            logger.info("k-medoids: going on after %d distances", run.computed)
    with run.progress_bar() as bar:
        while run.make_round(bar):
            if results is not None:
                results.write_state(STATE, run.state_dict())
    if results is not None:
        results.remove()
    return run.medoids.sort().values.numpy()


class _Search:
    """A search in rounds; between two of them its state is small."""

    def __init__(
        self, stored: Float[Tensor, "u d"], k: int, seed: int, search: MedoidSearch
    ) -> None:
        self.u, self.k, self.device = len(stored), k, stored.device
        self.exhaustive = self.u <= WHOLE
        self.reach = k if self.exhaustive else search.reach
        self.limit = None if self.exhaustive else search.distances * self.u
        self.points = Points(stored)
        self.generator = torch.Generator().manual_seed(seed)
        self.shuffled = torch.randperm(self.u, generator=self.generator)
        self.sizes = _sample_sizes(self.u, k)
        self.medoids = self.shuffled[:k].clone()  # rows of the universe
        self.level = 0  # in `sizes`
        self.computed = 0  # distances
        self.before: float | None = None  # deviation at the start of the level's last round
        self.near: NearMedoids | None = None

    def state_dict(self) -> dict[str, Any]:
        names = ("medoids", "level", "computed", "before")
        return {name: getattr(self, name) for name in names} | {
            "generator": self.generator.get_state()
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.generator.set_state(state.pop("generator"))
        for name, value in state.items():
            setattr(self, name, value)

    def progress_bar(self) -> tqdm:
        return tqdm(
            total=self.limit,
            initial=self.computed,
            desc="k-medoids",
            unit=" distances",
            unit_scale=True,
            disable=None,
        )

    @torch.no_grad()
    def make_round(self, bar: tqdm) -> bool:
        """Try the points around all medoids, or go on to a larger sample; False at the end."""
        rows = self.shuffled[: self.sizes[self.level]].sort().values
        if self.near is None:
            index = torch.searchsorted(rows, self.medoids)
            points = self.points.sample(rows.to(self.device))
            self.near = NearMedoids(points, index.to(self.device), self.reach)
        deviation = self.near.refresh()
        bar.set_postfix(points=len(rows), deviation=f"{deviation:.1f}", refresh=False)
        self._count(bar)
        on_all = len(rows) == self.u
        if self._settled(deviation, on_all):
            if on_all:
                return False
            self.level, self.before, self.near = self.level + 1, None, None
            return True
        self.before = deviation
        for position in torch.randperm(self.k, generator=self.generator).tolist():
            self.near.try_around(position, None if self.exhaustive else self.generator)
            self._count(bar)
            if self._exhausted():
                break
        self.medoids = rows[self.near.medoids.cpu()]
        return True

    def _settled(self, deviation: float, on_all: bool) -> bool:
        if self._exhausted():
            return True
        if self.before is None:
            return False
        share = 0 if self.exhaustive else SETTLED if on_all else SETTLED_SAMPLE
        return self.before - deviation <= share * self.before

    def _exhausted(self) -> bool:
        return self.limit is not None and self.computed >= self.limit

    def _count(self, bar: tqdm) -> None:
        assert self.near is not None
        bar.update(self.near.computed)
        self.computed += self.near.computed
        self.near.computed = 0


def _sample_sizes(u: int, k: int) -> list[int]:
    """Return sizes of the samples, the smallest first, and of the universe."""
    sizes = [u]
    while u > WHOLE and sizes[0] // GROWTH >= max(PER_MEDOID * k, 2):
        sizes.insert(0, sizes[0] // GROWTH)
    return sizes


def _digest(points: np.ndarray, *settings: object) -> str:
    blocks = (points[start : start + 65536] for start in range(0, len(points), 65536))
    return job_digest(chain([repr((points.shape, points.dtype.str, *settings))], blocks))


LISTED = 8  # medoids in each point's list if all points count
ROWS = 4096  # points of one product
COLUMNS = 512  # points whose changes are added up at a time
CANDIDATES = 512  # of one block, at most
CPU_DISTANCES, GPU_DISTANCES = 2**24, 2**28  # of one block of candidates, at most
LANDMARKS = 512  # points around a medoid that screen its candidates
SCREENED = 0.1  # share of the candidates that pass the screen ...
FEWEST, MOST = 32, 256  # ... but at least and at most this many
UNITS = 2**24  # of a distance
ROUNDING = 1e-7  # changes of the deviation below this share of it are taken for rounding


class Points:
    """Rows of a matrix that stays as it is stored; those asked for are copied as float32."""

    def __init__(
        self,
        stored: Float[Tensor, "u d"],
        rows: Int[Tensor, " n"] | None = None,
        squares: Float32[Tensor, " u"] | None = None,
    ) -> None:
        if squares is None:
            squares = torch.cat([s.float().square().sum(dim=1) for s in stored.split(ROWS)])
        self.stored, self.rows, self.squares = stored, rows, squares
        self.device = stored.device

    def __len__(self) -> int:
        return len(self.stored if self.rows is None else self.rows)

    def sample(self, rows: Int[Tensor, " n"]) -> Points:
        """Return some of the rows as points of their own."""
        return Points(self.stored, rows, self.squares)

    def take(
        self, index: Int[Tensor, " m"]
    ) -> tuple[Float32[Tensor, "m d"], Float32[Tensor, " m"]]:
        """Return points and their squared norms."""
        rows = index if self.rows is None else self.rows[index]
        return self.stored[rows].float(), self.squares[rows]


class NearMedoids:
    """k distinct medoids, and for every point the nearest of them, while they are swapped.

    Args:
        reach: how many of its nearest medoids a point lists; it counts where one of these, or a
            candidate around it, is swapped. From k on all points count in every swap.

    Attributes:
        listed: (reach, n) positions in `medoids`, the nearest first; -1 for a gap in a list.
        distances: (reach, n) the distances to them, `far` for a gap in a list.
        losses: (k,) what removing each medoid would add to the deviation, in units of 1 / UNITS:
            the sum of whole numbers does not depend on their order, which no GPU warrants.
        computed: distances computed so far.
    """

    listed: Int[Tensor, "reach n"]
    distances: Float32[Tensor, "reach n"]
    losses: Int64[Tensor, " k"]

    def __init__(self, points: Points, medoids: Int[Tensor, " k"], reach: int) -> None:
        self.points, self.medoids = points, medoids.clone()
        self.n, self.k, self.device = len(points), len(medoids), points.device
        self.whole = reach >= self.k
        self.reach = max(2, min(LISTED, self.k) if self.whole else reach)
        self.far = 4 * float(points.squares.max().sqrt()) + 1
        self.block = CPU_DISTANCES if self.device.type == "cpu" else GPU_DISTANCES
        self.computed = 0

    def refresh(self) -> float:
        """Compare all points with all medoids; returns the total deviation."""
        self.centres, self.squares = self.points.take(self.medoids)
        self.is_medoid = torch.zeros(self.n, dtype=torch.bool, device=self.device)
        self.is_medoid[self.medoids] = True
        shape = self.reach, self.n
        self.listed = torch.empty(shape, dtype=torch.int32, device=self.device)
        self.distances = torch.empty(shape, device=self.device)
        self._compare(torch.arange(self.n, device=self.device))
        self.losses = torch.zeros(self.k, dtype=torch.int64, device=self.device)
        self._count_losses(torch.arange(self.n, device=self.device), 1)
        deviation = float(self.distances[0].sum(dtype=torch.float64))
        self.tolerance = ROUNDING * deviation
        return deviation

    def try_around(self, position: int, generator: torch.Generator | None) -> int:
        """Try the points nearest to a medoid as medoids in its or any other's place."""
        around = self._around(position)
        # Those of one medoid side by side: few medoids then share a block of columns.
        around = around[self.listed[0, around].argsort(stable=True)]
        own = (self.listed[0, around] == position) & ~self.is_medoid[around]
        candidates = around[own]
        if generator is not None:
            candidates = self._screened(candidates, around, generator)
        size = max(1, min(CANDIDATES, self.block // max(1, len(around))))
        return sum(self._try(block, around) for block in candidates.split(size) if len(block))

    def _around(self, position: int) -> Int[Tensor, " m"]:
        """Return the points that count if a candidate of this medoid is tried."""
        if self.whole:
            return torch.arange(self.n, device=self.device)
        return self._listing(position).nonzero().squeeze(1)

    def _listing(self, position: int) -> Bool[Tensor, " n"]:
        """Return which points list a medoid; reducing rows at once takes twice as long."""
        listing = self.listed[0] == position
        for row in self.listed[1:]:
            listing |= row == position
        return listing

    def _screened(
        self, candidates: Int[Tensor, " c"], around: Int[Tensor, " m"], generator: torch.Generator
    ) -> Int[Tensor, " s"]:
        """Return the candidates that look best from a few landmarks, in their order."""
        most = min(MOST, max(FEWEST, int(SCREENED * len(candidates))))
        if len(candidates) <= most or len(around) <= 2 * LANDMARKS:
            return candidates
        drawn = torch.randperm(len(around), generator=generator)[:LANDMARKS]
        landmarks = around[drawn.sort().values.to(self.device)]
        weight = len(around) / len(landmarks)
        changes = [
            self._changes(self._between(block, landmarks), landmarks, weight)[0]
            for block in candidates.split(CANDIDATES)
        ]
        best = torch.cat(changes).topk(most, largest=False).indices
        return candidates[best.sort().values]

    def _try(self, candidates: Int[Tensor, " c"], around: Int[Tensor, " m"]) -> int:
        """Take the best swap of a block of candidates as long as one lowers the deviation."""
        swaps, distances = 0, self._between(candidates, around)
        changes, replaced = self._changes(distances, around)
        while True:
            promising = (changes < -self.tolerance).nonzero().squeeze(1)
            if not len(promising):
                return swaps
            best = promising[changes[promising].argmin()]
            self._swap(int(replaced[best]), candidates[best], around, distances[best])
            swaps += 1
            promising = promising[promising != best]
            candidates, distances = candidates[promising], distances[promising]
            changes, replaced = self._changes(distances, around)

    def _between(
        self, candidates: Int[Tensor, " c"], around: Int[Tensor, " m"]
    ) -> Float32[Tensor, "c m"]:
        points, squares = self.points.take(candidates)
        distances = torch.empty(len(candidates), len(around), device=self.device)
        for start in range(0, len(around), ROWS):
            others = around[start : start + ROWS]
            columns = distances[:, start : start + ROWS]
            columns.copy_(_euclidean(points, squares, *self.points.take(others)))
            columns.masked_fill_(candidates[:, None] == others, 0)
        self.computed += distances.numel()
        return distances

    def _changes(
        self, distances: Float32[Tensor, "c m"], around: Int[Tensor, " m"], weight: float = 1
    ) -> tuple[Float64[Tensor, " c"], Int[Tensor, " c"]]:
        """Return how each candidate's best swap changes the deviation, and what it replaces."""
        # Removing a medoid sends its points to their second nearest, ...
        changes = (self.losses.double() / UNITS)[:, None].repeat(1, len(distances))
        for start in range(0, len(around), COLUMNS):
            part = around[start : start + COLUMNS]
            nearest, second = self.distances[0, part], self.distances[1, part]
            medoids, column = self.listed[0, part].unique(return_inverse=True)
            of_medoid = torch.zeros(len(medoids), len(part), device=self.device)
            of_medoid[column, torch.arange(len(part), device=self.device)] = weight
            # ... or to the candidate if that is nearer; the points of other medoids move to
            # the candidate if it is nearer than their nearest.
            reached = torch.minimum(distances[:, start : start + COLUMNS], second)
            removed = torch.maximum(reached, nearest)
            changes += weight * reached.sub_(removed).sum(dim=1)
            changes[medoids.long()] -= of_medoid @ torch.sub(second, removed, out=removed).T
        least = changes.min(dim=0)
        return least.values, least.indices

    def _swap(
        self,
        position: int,
        candidate: Int[Tensor, ""],
        around: Int[Tensor, " m"],
        distances: Float32[Tensor, " m"],
    ) -> None:
        lost = self._listing(position)
        longest = self.distances[-1, around]
        # A list that loses the medoid has room for any other.
        entering = lost[around] | (distances < longest)
        changed = lost.clone()
        changed[around[entering]] = True
        rows = changed.nonzero().squeeze(1)
        self._count_losses(rows, -1)
        listed, to_listed = self.listed[:, rows], self.distances[:, rows]
        gap = listed == position
        listed, to_listed = listed.masked_fill(gap, -1), to_listed.masked_fill(gap, self.far)
        to_candidate = torch.full((self.n,), self.far, device=self.device)
        to_candidate[around] = distances
        new = to_candidate[rows][None]
        to_listed = torch.cat([to_listed, new])
        listed = torch.cat([listed, torch.where(new < self.far, position, -1).int()])
        to_listed, order = to_listed.sort(dim=0, stable=True)
        self.distances[:, rows] = to_listed[:-1]
        self.listed[:, rows] = listed.gather(0, order)[:-1]
        self.is_medoid[self.medoids[position]] = False
        self.is_medoid[candidate] = True
        self.medoids[position] = candidate
        self.centres[position], self.squares[position] = (
            part.squeeze(0) for part in self.points.take(candidate[None])
        )
        if self.k > 1:
            self._compare(rows[self.listed[1, rows] < 0])
        self._count_losses(rows, 1)

    def _compare(self, index: Int[Tensor, " m"]) -> None:
        listed = min(self.reach, self.k)
        for part in index.split(ROWS):
            points, squares = self.points.take(part)
            distances = _euclidean(points, squares, self.centres, self.squares)
            own = self.is_medoid[part].nonzero().squeeze(1)
            if len(own):  # a medoid is at no distance from itself
                distances[own] = distances[own].masked_fill(part[own, None] == self.medoids, 0)
            nearest, positions = distances.topk(listed, dim=1, largest=False)
            self.distances[:, part], self.listed[:, part] = self.far, -1
            self.distances[:listed, part] = nearest.T
            self.listed[:listed, part] = positions.T.int()
            self.computed += distances.numel()

    def _count_losses(self, index: Int[Tensor, " m"], sign: int) -> None:
        nearest, second = self.distances[0, index], self.distances[1, index]
        units = ((second - nearest).double() * (sign * UNITS)).long()
        self.losses.index_add_(0, self.listed[0, index].long(), units)


def _euclidean(
    first: Float32[Tensor, "n d"],
    first_squares: Float32[Tensor, " n"],
    second: Float32[Tensor, "m d"],
    second_squares: Float32[Tensor, " m"],
) -> Float32[Tensor, "n m"]:
    products = torch.addmm(second_squares[None], first, second.T, alpha=-2)
    return products.add_(first_squares[:, None]).clamp_min_(0).sqrt_()
