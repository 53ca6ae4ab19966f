"""What fitting naive Bayes costs at millions of images and texts, part by part; and its growth.

    python -m tests.benchmarks.capacity                        all sizes, half an hour of a core
    python -m tests.benchmarks.capacity --sizes 100000x300000  n x u of your own

Images are drawn anew from a seed in each pass (`generated_shards`), and the seconds of drawing them
are told apart. With `parquet` (1000000x30000xparquet) they are written to a folder of shards
first, and read from there. Texts are mapped from a file. Each size runs in a process of its own,
of one thread. Seconds are those of the processor: other work on the machine does not count. Writes
artifacts/benchmarks/capacity.json, .md and .svg, as it goes.
"""

from __future__ import annotations

import argparse
import functools
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from infopursuit.core.tables import EMBEDDED_IMAGES, embedding_array, table_writer
from tests.benchmarks.generated_shards import GeneratedShards, properties
from tests.benchmarks.machine import OUT, machine

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
# What is timed, and what it is called.
PARTS = (
    ("naive_bayes.image_passes", "KeyPass.of", "images: keys"),
    ("naive_bayes.image_passes", "SamplePass.of", "images: sample and moments"),
    ("naive_bayes.image_passes", "AnswerPass.of", "images: answers"),
    ("answers.text_directions", "fit_score_maps", "texts: mean and scatter"),
    ("naive_bayes.selection", "responsive_rows", "texts: spread"),
    ("naive_bayes.selection", "_candidates", "texts: screening"),
    ("naive_bayes.selection", "chosen_columns", "selection"),
)
READING = "drawing or reading images"


def write_texts(path: Path, u: int) -> np.ndarray:
    """u text embeddings in a file, mapped: a third of them name what classes are made of."""
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
    """The images as a folder of Parquet shards."""
    names = np.array(shards.class_names)
    size = shards.images, shards.rows
    with table_writer(folder, EMBEDDED_IMAGES, shards.width, None, size) as writer:
        start = 0
        for number in range(len(shards.sizes)):
            embeddings, labels = shards.read(number)
            rows = range(start, start + len(labels))
            columns = {
                "id": [f"{row:012d}" for row in rows],
                "split": ["train"] * len(labels),
                "label": labels.astype(np.int32),
                "class_name": names[labels],
                "embedding": embedding_array(embeddings),
            }
            writer.write_table(pa.table(columns, schema=writer.schema), 16384)
            start += len(labels)


def measure(n: int, u: int, parquet: bool, folder: Path) -> dict[str, Any]:
    """Seconds of the parts of a fit, and the memory of this process at the peak."""
    from infopursuit.datasets.image_shards import EmbeddedShards
    from infopursuit.estimators.information_pursuit import InformationPursuitClassifier

    torch.set_num_threads(1)
    seconds: dict[str, float] = {}
    texts = write_texts(folder / "texts.npy", u)
    names = [f"text {number}" for number in range(u)]
    shards: Any = GeneratedShards(n, CLASSES, D)
    if parquet:
        started = time.process_time()
        write_shards(folder / "images.parquet", shards)
        seconds["writing Parquet shards"] = time.process_time() - started
        shards = EmbeddedShards(folder / "images.parquet")
    kind = type(shards)
    kind.read = timed(kind.read, READING, seconds)
    time_parts(seconds)
    model = InformationPursuitClassifier(names, texts, K)
    with memory_watched() as peak:
        started = time.process_time()
        model.fit_shards(shards)
        seconds["all"] = time.process_time() - started
    return {
        "n": n,
        "u": u,
        "parquet": parquet,
        "seconds": seconds,
        "own_gb": peak["own"] / 2**20,
        "system_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "held_out_accuracy": model.provenance_["held_out_accuracy"],
    }


@contextmanager
def memory_watched() -> Iterator[dict[str, int]]:
    """The largest memory of this process without pages of files, in kB, seen every 50 ms."""
    peak, ended = {"own": 0}, threading.Event()

    def watch() -> None:
        while not ended.wait(0.05):
            status = Path("/proc/self/status").read_text(encoding="utf-8")
            peak["own"] = max(peak["own"], int(status.split("RssAnon:")[1].split()[0]))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def time_parts(seconds: dict[str, float]) -> None:
    """Wrap the parts so that they add up their seconds."""
    from importlib import import_module

    for module, name, said in PARTS:
        holder: Any = import_module(f"infopursuit.{module}")
        *owner, function = name.split(".")
        for part in owner:
            holder = getattr(holder, part)
        setattr(holder, function, timed(getattr(holder, function), said, seconds))


def timed(function: Callable[..., Any], said: str, seconds: dict[str, float]) -> Callable[..., Any]:
    """The same function, with its time added to `seconds[said]`."""

    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> Any:
        started = time.process_time()
        try:
            return function(*arguments, **options)
        finally:
            seconds[said] = seconds.get(said, 0.0) + time.process_time() - started

    return run


def parsed(size: str) -> tuple[int, int, bool]:
    """n, u, and whether the images are written first."""
    n, u, *more = size.split("x")
    return int(n), int(u), more == ["parquet"]


def markdown(rows: list[dict[str, Any]]) -> str:
    """A line a size."""
    header = ["n", "u", "images", "all, s", "passes over images, s", "of it drawn or read, s"]
    header += ["texts, s", "selection, s", "memory, GB", "with file pages, GB"]
    lines = [f"{machine()}.", "", "| " + " | ".join(header) + " |", "|" + "---:|" * len(header)]
    for row in rows:
        taken = row["seconds"]
        cells = [
            f"{row['n']:,}",
            f"{row['u']:,}",
            "Parquet" if row["parquet"] else "drawn",
            f"{taken['all']:.0f}",
            f"{_sum(taken, 'images: '):.0f}",
            f"{taken[READING]:.0f}",
            f"{_sum(taken, 'texts: '):.0f}",
            f"{taken['selection']:.0f}",
            f"{row['own_gb']:.2f}",
            f"{row['system_gb']:.2f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _sum(seconds: dict[str, float], begins: str) -> float:
    return sum(value for name, value in seconds.items() if name.startswith(begins))


def draw(rows: list[dict[str, Any]], out: Path) -> None:
    """Seconds and memory as n grows, and as u grows."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    drawn = [row for row in rows if not row["parquet"]]
    sweeps = {
        "n": [row for row in drawn if row["u"] == 30_000],
        "u": [row for row in drawn if row["n"] == 100_000],
    }
    figure, panels = plt.subplots(2, 2, figsize=(9, 6), layout="constrained", sharey="row")
    for column, (name, sweep) in enumerate(sweeps.items()):
        sweep.sort(key=lambda row: row[name])
        values = [row[name] for row in sweep]
        time_panel, memory_panel = panels[0][column], panels[1][column]
        for said, begins in (("passes over images", "images: "), ("texts", "texts: ")):
            taken = [_sum(row["seconds"], begins) for row in sweep]
            time_panel.loglog(values, taken, marker="o", label=said)
        time_panel.loglog(
            values,
            [row["seconds"]["all"] for row in sweep],
            marker="s",
            color="0.4",
            label="all",
        )
        for said, key in (("its own", "own_gb"), ("with pages of mapped files", "system_gb")):
            memory_panel.semilogx(values, [row[key] for row in sweep], marker="o", label=said)
        other = "u = 30,000" if name == "n" else "n = 100,000"
        time_panel.set_title(f"{other}, k = {K}, d = {D}, one core", fontsize="small")
        memory_panel.set_xlabel("images n" if name == "n" else "texts u")
        memory_panel.axhline(8, color="0.6", ls="--", lw=1)
        memory_panel.set_ylim(bottom=0)
    panels[0][0].set_ylabel("seconds")
    panels[1][0].set_ylabel("memory at the peak, GB")
    for panel in (panels[0][0], panels[1][0]):
        panel.legend(frameon=False, fontsize="small")
    for panel in panels.flat:
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="n x u, such as 100000x300000")
    parser.add_argument("--scratch", type=Path, help="where files go for the time of a run")
    parser.add_argument("--one", type=parsed, help="measure one size in this process")
    given = parser.parse_args()
    if given.one:
        with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
            n, u, parquet = given.one
            print(json.dumps(measure(n, u, parquet, Path(folder))))
        return
    OUT.mkdir(parents=True, exist_ok=True)
    kept = OUT / "capacity.json"
    rows = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else []
    for size in given.sizes:
        command = [sys.executable, "-m", "tests.benchmarks.capacity", "--one", size]
        command += ["--scratch", str(given.scratch)] if given.scratch else []
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        row = json.loads(output.splitlines()[-1])
        same = {key: row[key] for key in ("n", "u", "parquet")}
        rows = [each for each in rows if {key: each[key] for key in same} != same] + [row]
        rows.sort(key=lambda each: (each["u"], each["n"], each["parquet"]))
        kept.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
        (OUT / "capacity.md").write_text(markdown(rows), encoding="utf-8")
        draw(rows, OUT / "capacity.svg")
        print(f"{size}: {row['seconds']['all']:.0f} s, {row['own_gb']:.2f} GB", flush=True)


if __name__ == "__main__":
    main()
