"""The memory of a fit on shards does not grow with the number of images.

    python -m campaigns.capacity        a minute of a core

Fits naive Bayes on more and more made-up images, one size after the other in this process, and
looks at the largest memory so far. Exits 1 where it grows from the smallest size to the largest
by more than a quarter of what the images between take as float32: a fit that holds them would
grow by all of it, and labels and what the allocator keeps come to some 60 MB on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.harness import memory_watched
from benchmarks.made_up import GeneratedShards, unit
from campaigns import write_tables

SIZES = (50_000, 200_000, 800_000)
TEXTS, CLASSES, K = 200, 10, 16


def peaks(sizes: tuple[int, ...], width: int, rows: int) -> list[int]:
    """The largest memory in bytes that is no page of a file, up to the end of the fit of each size.

    Args:
        sizes: ascending numbers of images.
        width: of the embeddings.
        rows: of a shard.
    """
    from infopursuit import InformationPursuitClassifier

    texts = [f"text {number}" for number in range(TEXTS)]
    embeddings = unit(np.random.default_rng(0).standard_normal((TEXTS, width)))
    found = []
    with memory_watched() as peak:
        for n in sizes:
            shards = GeneratedShards(n, CLASSES, width, rows=rows)
            model = InformationPursuitClassifier(texts, embeddings, K).fit_shards(shards)
            assert model.provenance_["images"] == n
            found.append(peak["own"] * 1024)
    return found


def may_grow_by(sizes: Sequence[int], width: int) -> int:
    """Bytes: a quarter of the images between the smallest size and the largest, as float32."""
    return (sizes[-1] - sizes[0]) * width


def main() -> int:
    """Write the table; 1 where memory grows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--rows", type=int, default=16384)
    parser.add_argument("--json", action="store_true", help="print the peaks, write no table")
    given = parser.parse_args()
    found = peaks(tuple(given.sizes), given.width, given.rows)
    if given.json:
        print(json.dumps(found))
        return 0
    rows = [
        [f"{n:,}", f"{n * given.width * 4 / 2**20:,.0f}", f"{bytes_ / 2**20:,.0f}"]
        for n, bytes_ in zip(given.sizes, found, strict=True)
    ]
    grown = found[-1] - found[0]
    allowed = may_grow_by(given.sizes, given.width)
    broken = grown > allowed
    note = (
        f"{CLASSES} classes, {TEXTS} texts, shards of {given.rows:,} images. From the smallest "
        f"size to the largest memory grew by {grown / 2**20:.0f} MB; it may grow by "
        f"{allowed / 2**20:.0f}{': the promise is broken' if broken else ''}."
    )
    header = ["images", "as float32, MB", "largest memory of the process so far, MB"]
    write_tables("capacity", header, rows, note)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
