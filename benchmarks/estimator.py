"""Times a fit of InformationPursuitClassifier to made-up embeddings, by parts, with peak memory.

    python -m benchmarks.estimator small       3,249 x 512, 100 classes, 1,612 texts, k = 128
    python -m benchmarks.estimator imagenet    1,281,167 x 768 float16 mapped from disk,
                                               1,000 classes, 300,000 texts, k = 512
    python -m benchmarks.estimator imagenet --scale 0.1     a tenth of images and texts

The goals: 1 s of the processor for `small`, 100 s and 4 GB for `imagenet`. Each is measured in its
own process.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.harness import in_own_process, memory_watched, system_gb, time_parts
from benchmarks.made_up import GeneratedShards, write_texts


class Size(NamedTuple):
    """The size of a problem."""

    images: int
    width: int
    classes: int
    texts: int
    k: int


SIZES = {
    "small": Size(3_249, 512, 100, 1_612, 128),
    "imagenet": Size(1_281_167, 768, 1_000, 300_000, 512),
}
# What is timed: module, function and title.
PARTS = (
    ("datasets.matrix", "UnitMatrix._norms", "norms of images and texts"),
    ("datasets.matrix", "Matrix.checksums", "checksums"),
    ("pursuit.naive_bayes.training_set", "class_moments", "moments of the classes"),
    ("questions.texts", "fit_score_map", "score map"),
    ("questions.texts", "TextScores.levels", "levels of a no and a yes"),
    ("questions.texts", "TextScores._ratios", "dictionary: ratios of all texts"),
    ("questions.texts", "forward_selection", "dictionary: forward selection"),
    ("questions.gaussian", "fitted", "scores of the classes"),
    ("questions.gaussian", "course", "temperature: evidence"),
    ("questions.gaussian", "fit_temperature", "temperature: fit"),
    ("questions.gaussian", "words_of", "how often images get a yes"),
    ("questions.pursuits", "Split.facts_at_stop", "accuracy on held-out images"),
)


def main() -> None:
    """Make the problem, then measure it in its own process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", choices=SIZES)
    parser.add_argument("--scale", type=float, default=1.0, help="of images and texts")
    parser.add_argument("--scratch", type=Path, default=tempfile.gettempdir(), help="for files")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    size = SIZES[given.problem]
    images, texts = (round(given.scale * count) for count in (size.images, size.texts))
    size = size._replace(images=images, texts=texts)
    if given.folder:
        print(json.dumps(measure(given.problem, size, given.folder)))
        return
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        make(size, Path(folder), np.float16 if given.problem == "imagenet" else np.float32)
        print(f"{given.problem}: {size}")
        output = in_own_process("estimator", *sys.argv[1:], "--folder", folder)
    for part, value in json.loads(output).items():
        print(f"{value:>12.2f}  {part}")


def make(size: Size, folder: Path, kind: type) -> None:
    """Write X.npy, y.npy and texts.npy, shard by shard."""
    write_texts(folder / "texts.npy", size.texts, size.width, kind)
    shards = GeneratedShards(size.images, size.classes, size.width, rows=16384)
    shape = size.images, size.width
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", kind, shape=shape)
    for number in range(len(shards.sizes)):
        embeddings, _ = shards.read(number)
        start = number * shards.rows
        X[start : start + len(embeddings)] = embeddings
    np.save(folder / "y.npy", np.arange(size.images) % size.classes)


def measure(problem: str, size: Size, folder: Path) -> dict[str, float]:
    """Return seconds of each part, and gigabytes at the peak."""
    from infopursuit.estimators.naive_bayes import InformationPursuitClassifier

    seconds: dict[str, float] = {}
    time_parts(PARTS, seconds)
    mode = "r" if problem == "imagenet" else None
    X, texts, y = (np.load(folder / f"{name}.npy", mode) for name in ("X", "texts", "y"))
    names = [f"text {number}" for number in range(size.texts)]
    model = InformationPursuitClassifier(names, texts, size.k)
    with memory_watched() as peak:
        started, worked = time.perf_counter(), time.process_time()
        model.fit(X, y)
        seconds["all together"] = time.perf_counter() - started
        seconds["of the processor, all cores together"] = time.process_time() - worked
    seconds["GB at the peak, as the system counts (pages of mapped files included)"] = system_gb()
    seconds["GB of it that is the process's own"] = peak["own"] / 2**20
    return seconds


if __name__ == "__main__":
    main()
