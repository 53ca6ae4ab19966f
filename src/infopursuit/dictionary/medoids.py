"""k-medoids of the universe: the k texts with the least sum of distances to all others' nearest.

A small universe is searched by swaps that count every text, until none lowers the deviation (the
optimum that FasterPAM of Schubert and Rousseeuw finds). In a larger one the search goes from a
sample to larger ones and ends on all texts; swaps count the texts around them, and the texts that
are tried are screened. The work is limited by a count, not by a clock, so that a seed always gives
the same medoids.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from tqdm import tqdm

from infopursuit.core.errors import InputError
from infopursuit.core.states import read_state, write_state
from infopursuit.dictionary.medoid_swaps import NearMedoids, Points

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
    """Rows of k distinct medoids under Euclidean distance, ascending.

    Memory beyond the points, which may be a memory map, is some 150 bytes per point and a
    constant.

    Args:
        points: embeddings of the universe; finite.
        search: limits of the search in a large universe.
        device: where distances are computed; a GPU holds the points, as they are stored.
        scratch: where the state of an unfinished search is kept, in a folder named by a hash of
            all that the result depends on. A search that was killed goes on from there; the folder
            is removed when the search has ended. None keeps no state.

    Raises:
        InputError: k is larger than the universe, or the state is damaged.
    """
    if k > len(points):
        raise InputError(f"k is {k}; expected at most {len(points)}, the size of the universe")
    search = search or MedoidSearch()
    run = _Search(torch.from_numpy(points).to(device), k, seed, search)
    folder = None
    if scratch is not None:
        folder = Path(scratch) / _digest(points, k, seed, search, run.points.device.type)
        if (folder / STATE).is_file():
            run.load_state_dict(read_state(folder / STATE))
            logger.info("k-medoids: going on after %d distances", run.computed)
    with run.progress_bar() as bar:
        while run.make_round(bar):
            if folder is not None:
                write_state(run.state_dict(), folder / STATE)
    if folder is not None and folder.is_dir():
        shutil.rmtree(folder)
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
        """All that the next round depends on, but for the arguments."""
        names = ("medoids", "level", "computed", "before")
        return {name: getattr(self, name) for name in names} | {
            "generator": self.generator.get_state()
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on after the round at whose end the state was taken."""
        self.generator.set_state(state.pop("generator"))
        for name, value in state.items():
            setattr(self, name, value)

    def progress_bar(self) -> tqdm:
        """Counts distances, up to the limit if there is one."""
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
    """Sizes of the samples, the smallest first, and of the universe."""
    sizes = [u]
    while u > WHOLE and sizes[0] // GROWTH >= max(PER_MEDOID * k, 2):
        sizes.insert(0, sizes[0] // GROWTH)
    return sizes


def _digest(points: np.ndarray, *settings: object) -> str:
    """16 digits that change with the points or a setting."""
    digest = hashlib.sha256(repr((points.shape, points.dtype.str, *settings)).encode())
    for start in range(0, len(points), 65536):
        digest.update(np.ascontiguousarray(points[start : start + 65536]).data)
    return digest.hexdigest()[:16]
