"""Swaps of medoids in a universe whose distance matrix would not fit: distances are recomputed.

The change of the total deviation when a candidate replaces a medoid needs three things of a point:
its distance to the candidate, and those to its nearest and second nearest medoid (FasterPAM, by
Schubert and Rousseeuw). The last two are kept, with a few medoids more, in a short list for every
point. The first is a product of a block of candidates with the points around them: those that have
the candidate's medoid in their list. All other points are taken to stay where they are, so that
what is reported is an upper bound: a swap that is taken lowers the deviation by that much or more.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Float32, Float64, Int, Int64
from torch import Tensor

LISTED = 8  # medoids in each point's list where all points count
ROWS = 4096  # points of one product
COLUMNS = 512  # points whose changes are added up at a time
CANDIDATES = 512  # of one block, at most
CPU_DISTANCES, GPU_DISTANCES = 2**24, 2**28  # of one block of candidates, at most
LANDMARKS = 512  # points around a medoid that screen its candidates
SCREENED = 0.1  # share of the candidates that pass the screen ...
FEWEST, MOST = 32, 256  # ... but at least and at most so many
UNITS = 2**24  # of a distance
ROUNDING = 1e-7  # changes of the deviation below this share of it are taken for rounding


class Points:
    """Rows of a matrix that stays as it is stored; those asked for are copied as float32.

    Args:
        stored: (u, d), any float type; on a CPU it may be a memory map.
        rows: the points, in ascending order, if they are not all rows.
        squares: squared norms of all rows, if they are known.
    """

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
        """Some of the rows as points of their own."""
        return Points(self.stored, rows, self.squares)

    def take(
        self, index: Int[Tensor, " m"]
    ) -> tuple[Float32[Tensor, "m d"], Float32[Tensor, " m"]]:
        """Points and their squared norms."""
        rows = index if self.rows is None else self.rows[index]
        return self.stored[rows].float(), self.squares[rows]


class NearMedoids:
    """k distinct medoids, and for every point the nearest of them, while they are swapped.

    Args:
        points: n points.
        medoids: (k,) their indices.
        reach: how many of its nearest medoids a point lists; it counts where one of these, or a
            candidate around it, is swapped. From k on all points count in every swap.

    Attributes:
        listed: (reach, n) positions in `medoids`, the nearest first; -1 where a list has a gap.
        distances: (reach, n) the distances to them, `far` where a list has a gap.
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
        """Try the points nearest to a medoid as medoids in its or any other's place.

        Args:
            position: of the medoid.
            generator: draws the landmarks that screen the points; None tries them all.

        Returns:
            The swaps made.
        """
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
        """The points that count where a candidate of this medoid is tried."""
        if self.whole:
            return torch.arange(self.n, device=self.device)
        return self._listing(position).nonzero().squeeze(1)

    def _listing(self, position: int) -> Bool[Tensor, " n"]:
        """Which points list a medoid. By rows: reducing them at once takes twice as long."""
        listing = self.listed[0] == position
        for row in self.listed[1:]:
            listing |= row == position
        return listing

    def _screened(
        self, candidates: Int[Tensor, " c"], around: Int[Tensor, " m"], generator: torch.Generator
    ) -> Int[Tensor, " s"]:
        """The candidates that look best from a few landmarks, in their order."""
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
        """Distances of candidates to points, exactly 0 to itself."""
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
        """The change of the deviation by each candidate's best swap, and the medoid it replaces.

        Args:
            weight: how many points each of those around stands for.
        """
        # Removing a medoid sends its points to their second nearest, ...
        changes = (self.losses.double() / UNITS)[:, None].repeat(1, len(distances))
        for start in range(0, len(around), COLUMNS):
            part = around[start : start + COLUMNS]
            nearest, second = self.distances[0, part], self.distances[1, part]
            medoids, column = self.listed[0, part].unique(return_inverse=True)
            of_medoid = torch.zeros(len(medoids), len(part), device=self.device)
            of_medoid[column, torch.arange(len(part), device=self.device)] = weight
            # ... or to the candidate where that is nearer; the points of other medoids move to
            # the candidate where it is nearer than their nearest.
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
        """Put a point in the place of a medoid."""
        lost = self._listing(position)
        longest = self.distances[-1, around]
        # A list that loses the medoid has room for any other.
        entering = lost[around] | (distances < longest)
        changed = lost.clone()
        changed[around[entering]] = True
        rows = changed.nonzero().squeeze(1)
        self._count_losses(rows, -1)
        listed, kept = self.listed[:, rows], self.distances[:, rows]
        gap = listed == position
        listed, kept = listed.masked_fill(gap, -1), kept.masked_fill(gap, self.far)
        to_candidate = torch.full((self.n,), self.far, device=self.device)
        to_candidate[around] = distances
        new = to_candidate[rows][None]
        kept = torch.cat([kept, new])
        listed = torch.cat([listed, torch.where(new < self.far, position, -1).int()])
        kept, order = kept.sort(dim=0, stable=True)
        self.distances[:, rows] = kept[:-1]
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
        """List the nearest medoids of some points anew."""
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
