"""Draws many pictures in several processes; the result does not depend on their number."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")
CHUNK = 64


def draw_all(draw: Callable[[int], T], count: int, workers: int, what: str) -> list[T]:
    """`draw(0)` to `draw(count - 1)`, in order; with several workers `draw` must be picklable."""
    if workers == 1:
        return list(tqdm(map(draw, range(count)), total=count, desc=what, disable=None))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        drawn = pool.map(draw, range(count), chunksize=CHUNK)
        return list(tqdm(drawn, total=count, desc=what, disable=None))
