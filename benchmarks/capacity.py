"""What fitting naive Bayes costs at millions of images and texts, part by part; and its growth.

    python -m benchmarks.capacity                        all sizes, half an hour of a core
    python -m benchmarks.capacity --sizes 100000x300000  n x u of your own

Images are drawn from a seed in each pass (`GeneratedShards`), and the seconds of drawing them are
listed apart. With `parquet` (1000000x30000xparquet) they are written to a folder of shards first,
and read from there. Texts are mapped from a file. Each size runs in its own process, with one
thread. Seconds are those of the processor: other work on the machine does not count. Writes
artifacts/benchmarks/capacity.json, .md and .svg, after each size.
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
    draw,
    in_own_process,
    memory_watched,
    save,
    system_gb,
    table,
    time_parts,
    timed,
)
from benchmarks.made_up import GeneratedShards, properties
from infopursuit.core.tables import EMBEDDED_IMAGES, embedding_array, table_writer

D, K, CLASSES = 512, 128, 100
BLOCK = 65536
SIZES = (
    "100000x30000",
    "1000000x30000",
    "1000000x30000xparquet",
    "10000000x30000",
    "100000x300000",
    "100000x3000000",
)
# What is timed, and its title.
PARTS = (
    ("pursuit.naive_bayes.training_set", "KeyPass.run", "images: keys"),
    ("pursuit.naive_bayes.training_set", "SamplePass.run", "images: sample and moments"),
    ("pursuit.naive_bayes.training_set", "AnswerPass.run", "images: answers"),
    ("pursuit.answers.directions", "fit_score_maps", "texts: mean and scatter"),
    ("pursuit.naive_bayes.selection", "responsive_rows", "texts: spread"),
    ("pursuit.naive_bayes.selection", "_most_informative_alone", "texts: screening"),
    ("pursuit.naive_bayes.selection", "chosen_columns", "selection"),
)
READING = "drawing or reading images"


def write_texts(path: Path, u: int) -> np.ndarray:
    """Write u text embeddings, a third of which name what classes are made of; map the file."""
    generator = np.random.default_rng(4)
    texts = np.lib.format.open_memmap(path, "w+", np.float16, shape=(u, D))
    named = properties(1000, D)
    for start in range(0, u, BLOCK):
        rows = generator.standard_normal((min(BLOCK, u - start), D), dtype=np.float32)
        third = slice(0, len(rows), 3)
        rows[third] = 0.5 * rows[third] + named[np.arange(start, start + len(rows))[third] % 1000]
        texts[start : start + len(rows)] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    texts.flush()
    del texts
    return np.load(path, mmap_mode="r")


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
    """Return seconds of the parts of a fit, and the memory of this process at the peak."""
    from infopursuit.datasets.labelled_images import EmbeddedShards
    from infopursuit.estimators.naive_bayes import InformationPursuitClassifier

    torch.set_num_threads(1)
    seconds: dict[str, float] = {}
    texts = write_texts(folder / "texts.npy", u)
    shards: Any = GeneratedShards(n, CLASSES, D)
    if parquet:
        write_shards(folder / "images.parquet", shards)
        shards = EmbeddedShards(folder / "images.parquet")
    kind = type(shards)
    kind.read = timed(kind.read, READING, seconds, time.process_time)
    time_parts(PARTS, seconds, time.process_time)
    model = InformationPursuitClassifier([f"text {number}" for number in range(u)], texts, K)
    with memory_watched() as peak:
        timed(model.fit_shards, "all", seconds, time.process_time)(shards)
    return {
        "n": n,
        "u": u,
        "parquet": parquet,
        "seconds": seconds,
        "own_gb": peak["own"] / 2**20,
        "system_gb": system_gb(),
        "held_out_accuracy": model.provenance_["held_out_accuracy"],
    }


def summed(row: dict[str, Any], begins: str) -> float:
    """Return the seconds of all parts whose titles begin so."""
    return sum(value for title, value in row["seconds"].items() if title.startswith(begins))


def write(rows: list[dict[str, Any]]) -> None:
    """Write the table, and a picture of seconds and memory as n grows, and as u grows."""
    header = ["n", "u", "images", "all, s", "passes over images, s", "of it drawn or read, s"]
    header += ["texts, s", "selection, s", "memory, GB", "with file pages, GB"]
    lines = []
    for row in rows:
        taken = row["seconds"]["all"], summed(row, "images: "), row["seconds"][READING]
        taken += summed(row, "texts: "), row["seconds"]["selection"]
        memory = f"{row['own_gb']:.2f}", f"{row['system_gb']:.2f}"
        kind = "Parquet" if row["parquet"] else "drawn"
        cells = f"{row['n']:,}", f"{row['u']:,}", kind, *(f"{each:.0f}" for each in taken), *memory
        lines.append(cells)
    save("capacity", rows, table(header, lines))
    drawn = [row for row in rows if not row["parquet"]]
    panels = []
    for name, sweep in (
        ("n", [row for row in drawn if row["u"] == 30_000]),
        ("u", [row for row in drawn if row["n"] == 100_000]),
    ):
        sweep.sort(key=lambda row: row[name])
        x = [row[name] for row in sweep]
        titles = (("passes over images", "images: "), ("texts", "texts: "), ("all", "all"))
        panels.append({
            "lines": [(title, x, [summed(row, part) for row in sweep]) for title, part in titles],
            "log": "xy", "xlabel": f"{name}; seconds", "legend": "within",
        })  # fmt: skip
        kinds = (("its own", "own_gb"), ("with pages of mapped files", "system_gb"))
        panels.append({
            "lines": [(title, x, [row[key] for row in sweep]) for title, key in kinds],
            "log": "x", "xlabel": f"{name}; memory at the peak, GB", "legend": "within",
        })  # fmt: skip
    draw(OUT / "capacity.svg", [*panels[::2], *panels[1::2]], columns=2, figsize=(9, 6))


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
    rows = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else []
    for size in given.sizes:
        row = json.loads(in_own_process("capacity", "--one", size, "--scratch", given.scratch))
        same = {key: row[key] for key in ("n", "u", "parquet")}
        rows = [each for each in rows if {key: each[key] for key in same} != same] + [row]
        rows.sort(key=lambda each: (each["u"], each["n"], each["parquet"]))
        write(rows)
        print(f"{size}: {row['seconds']['all']:.0f} s, {row['own_gb']:.2f} GB", flush=True)


if __name__ == "__main__":
    main()
