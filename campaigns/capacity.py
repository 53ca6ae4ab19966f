"""The memory of a fit on shards does not grow with the number of images.

    python -m campaigns.capacity        a minute of a core

Fits naive Bayes on more and more made-up images, one size after the other in this process, and
records the largest memory so far. Exits 1 if it grows from the smallest size to the largest by more
than a quarter of the images between them as float32: a fit that holds them would grow by all of it,
and labels and what the allocator keeps take some 60 MB on a busy machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.harness import memory_watched
from benchmarks.made_up import GeneratedShards, unit
from campaigns import write_tables

SIZES = (50_000, 200_000, 800_000)
TEXTS, CLASSES, K = 200, 10, 16


def peaks(sizes: Sequence[int], width: int, rows: int) -> list[int]:
    """Return the largest memory in bytes, without pages of files, up to the end of each fit.

    Sizes are ascending numbers of images, whose embeddings have this width; rows are of a shard.
    """
    from infopursuit import InformationPursuitClassifier

    texts = [f"text {number}" for number in range(TEXTS)]
    embeddings = unit(np.random.default_rng(0).standard_normal((TEXTS, width)))
    largest = []
    with memory_watched() as peak:
        for n in sizes:
            shards = GeneratedShards(n, CLASSES, width, rows=rows)
            model = InformationPursuitClassifier(texts, embeddings, K).fit(shards)
            assert model.provenance_["images"] == n
            largest.append(peak["own"] * 1024)
    return largest


def main() -> int:
    """Write the table; return 1 if memory grows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--rows", type=int, default=16384)
    given = parser.parse_args()
    largest = peaks(given.sizes, given.width, given.rows)
    rows = [
        [f"{n:,}", f"{n * given.width * 4 / 2**20:,.0f}", f"{memory / 2**20:,.0f}"]
        for n, memory in zip(given.sizes, largest, strict=True)
    ]
    growth = largest[-1] - largest[0]
    allowed = (given.sizes[-1] - given.sizes[0]) * given.width  # of four bytes a number, one
    note = (
        f"{CLASSES} classes, {TEXTS} texts, shards of {given.rows:,} images. From the smallest "
        f"size to the largest memory grew by {growth / 2**20:.0f} MB; it may grow by "
        f"{allowed / 2**20:.0f}{': the promise is broken' if growth > allowed else ''}."
    )
    header = ["images", "as float32, MB", "largest memory of the process so far, MB"]
    write_tables("capacity", header, rows, note)
    return int(growth > allowed)


if __name__ == "__main__":
    sys.exit(main())
