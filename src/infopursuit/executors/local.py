"""Shards done by this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

S = TypeVar("S")
R = TypeVar("R")


def run_locally(
    start: Callable[[], Callable[[S], R]], shards: Iterable[tuple[int, S]]
) -> Generator[tuple[int, R], None, None]:
    """The results in the order of the shards; see `run_shards`."""
    work: Callable[[S], R] | None = None
    for index, shard in shards:
        if work is None:
            work = start()
        yield index, work(shard)
