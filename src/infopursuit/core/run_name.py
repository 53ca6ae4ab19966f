"""The name of a run: one data set, initial dictionary, method and seed."""

from __future__ import annotations

from typing import NamedTuple


class RunName(NamedTuple):
    """One cell of the matrix of runs; as a string the name of its files and folders."""

    dataset: str
    init: str
    method: str
    seed: int

    def __str__(self) -> str:
        return "-".join(map(str, self))
