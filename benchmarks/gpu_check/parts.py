"""The parts of the check, in order; each runs in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.gpu_check.rows import Row


class Part(NamedTuple):
    """Some rows of the table.

    Attributes:
        title: stands in the table until the rows are there.
        limit: seconds after which it is cut off.
    """

    title: str
    limit: float


PARTS = {
    "checks": Part("the same results as on the CPU", 120),
    "engine": Part("the engine against the naive implementation", 200),
    "schedules": Part("the schedules of CIFAR-10 and CIFAR-100", 180),
    "medoids": Part("k-medoids", 110),
    "naive-bayes": Part("a naive-Bayes model of 1.28 million images", 300),
}
# Less is not enough to start a part.
LEAST_SECONDS = 15.0


def rows_of(name: str, device: str, tiny: bool) -> Iterator[Row]:
    """Compute the rows of a part, one by one."""
    # What a part needs is imported in its own process: a broken import breaks that part alone.
    if name == "checks":
        from benchmarks.gpu_check import checks

        return checks.rows(device)
    if name == "engine":
        from benchmarks.gpu_check import engine

        return engine.rows(device, tiny)
    if name == "schedules":
        from benchmarks.gpu_check import schedules

        return schedules.rows(device, tiny)
    from benchmarks.gpu_check import fits

    return fits.medoids(device, tiny) if name == "medoids" else fits.naive_bayes(device, tiny)
