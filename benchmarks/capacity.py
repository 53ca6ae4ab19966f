"""What a fit costs at millions of images and texts, part by part; and its growth.

    python -m benchmarks.capacity                        all sizes, half an hour of a core
    python -m benchmarks.capacity --sizes 100000x300000  other sizes, n x u

Images are drawn from a seed in each pass (`GeneratedShards`), and the seconds of drawing them are
listed separately. With `parquet` (1000000x30000xparquet) they are first written to a folder of
shards, and read from there. Texts are mapped from a file. Each size runs in its own process, with
one thread. Seconds are those of the processor: other work on the machine does not count. Writes
artifacts/benchmarks/capacity.json and .md, after each size.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from benchmarks.harness import (
    OUT,
    in_own_process,
    memory_watched,
    save,
    system_gb,
    time_parts,
    timed,
)
from benchmarks.made_up import GeneratedShards, write_texts
from infopursuit.core.numbers import table
from infopursuit.core.tables import EMBEDDED_IMAGES, embedding_array, table_writer

D, K, CLASSES = 512, 128, 100
SIZES = (
    *("100000x30000", "1000000x30000", "1000000x30000xparquet", "10000000x30000"),
    *("100000x300000", "100000x3000000"),
)
# What is timed: module, function and title.
PARTS = (
    ("pursuit.naive_bayes.sharded_set", "KeyPass.run", "images: keys"),
    ("pursuit.naive_bayes.sharded_set", "SamplePass.run", "images: sample and moments"),
    ("questions.texts", "fit_score_map", "texts: mean and scatter"),
    ("questions.texts", "TextScores.levels", "texts: levels"),
    ("questions.texts", "TextScores._ratios", "texts: ratios"),
    ("questions.texts", "forward_selection", "selection"),
)
READING = "drawing or reading images"


def write_shards(folder: Path, shards: GeneratedShards) -> None:
    """Write the images as a folder of Parquet shards."""
    names = np.array(shards.class_names)
    size = shards.images, shards.rows
    with table_writer(folder, EMBEDDED_IMAGES, shards.width, None, size) as writer:
        for number in range(len(shards.sizes)):
            embeddings, labels = shards.read(number)
            start = number * shards.rows
            columns = {
                "id": [f"{row:012d}" for row in range(start, start + len(labels))],
                "split": ["train"] * len(labels),
                "label": labels.astype(np.int32),
                "class_name": names[labels],
                "embedding": embedding_array(embeddings),
            }
            writer.write_table(pa.table(columns, schema=writer.schema), 16384)


def measure(n: int, u: int, parquet: bool, folder: Path) -> dict[str, Any]:
    """Return seconds of the parts of a fit, and the peak memory of this process."""
    from infopursuit.datasets.labelled_images import EmbeddedShards
    from infopursuit.estimators.naive_bayes import InformationPursuitClassifier

    torch.set_num_threads(1)
    seconds: dict[str, float] = {}
    write_texts(folder / "texts.npy", u, D)
    texts = np.load(folder / "texts.npy", mmap_mode="r")
    shards: Any = GeneratedShards(n, CLASSES, D)
    if parquet:
        write_shards(folder / "images.parquet", shards)
        shards = EmbeddedShards(folder / "images.parquet")
    kind = type(shards)
    kind.read = timed(kind.read, READING, seconds, time.process_time)
    time_parts(PARTS, seconds, time.process_time)
    model = InformationPursuitClassifier([f"text {number}" for number in range(u)], texts, K)
    with memory_watched() as peak:
        timed(model.fit, "all", seconds, time.process_time)(shards)
    memory = {"own_gb": peak["own"] / 2**20, "system_gb": system_gb()}
    accuracy = model.provenance_["held_out_accuracy"]
    size = {"n": n, "u": u, "parquet": parquet}
    return {**size, "seconds": seconds, **memory, "held_out_accuracy": accuracy}


def write(rows: list[dict[str, Any]]) -> None:
    """Write the table."""
    header = ["n", "u", "images", "all, s", "passes over images, s", "of it drawn or read, s"]
    header += ["texts, s", "selection, s", "memory, GB", "with file pages, GB"]
    starts = ("all", "images: ", READING, "texts: ", "selection")
    lines = []
    for row in rows:
        size = f"{row['n']:,}", f"{row['u']:,}", "Parquet" if row["parquet"] else "drawn"
        memory = f"{row['own_gb']:.2f}", f"{row['system_gb']:.2f}"
        parts = row["seconds"].items()
        totals = [sum(s for title, s in parts if title.startswith(start)) for start in starts]
        lines.append([*size, *(f"{each:.0f}" for each in totals), *memory])
    save("capacity", rows, table(header, lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="n x u, such as 100000x300000")
    parser.add_argument("--scratch", type=Path, default=tempfile.gettempdir(), help="for files")
    parser.add_argument("--one", help="measure one size in this process")
    given = parser.parse_args()
    if given.one:
        n, u, *more = given.one.split("x")
        with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
            print(json.dumps(measure(int(n), int(u), bool(more), Path(folder))))
        return
    kept = OUT / "capacity.json"
    listed = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else []
    rows = {(row["u"], row["n"], row["parquet"]): row for row in listed}
    for size in given.sizes:
        row = json.loads(in_own_process("capacity", "--one", size, "--scratch", given.scratch))
        rows[row["u"], row["n"], row["parquet"]] = row
        write([rows[key] for key in sorted(rows)])
        print(f"{size}: {row['seconds']['all']:.0f} s, {row['own_gb']:.2f} GB", flush=True)


if __name__ == "__main__":
    main()
