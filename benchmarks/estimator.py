"""Times InformationPursuitClassifier on synthetic embeddings, part by part, with peak memory.

    python -m benchmarks.estimator fit         50,000 x 512, 100 classes, 2,000 texts, k = 128
    python -m benchmarks.estimator predict     50,000 images, k = 128, 100 classes
    python -m benchmarks.estimator imagenet    1,281,167 x 768 float16 mapped from disk,
                                                     1,000 classes, 300,000 texts, k = 512
    python -m benchmarks.estimator imagenet --scale 0.1     a tenth of images and texts

The goals: 30 s; 10 s; 15 minutes and 8 GB, on 2 cores. Each is measured in its own process.
Images are a sum of properties of their class with noise; they are made in blocks and kept in
`--scratch`, as are texts, of which a quarter name properties and the others nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.harness import in_own_process, memory_watched, system_gb, time_parts
from benchmarks.made_up import unit

BLOCK = 16384
PROPERTIES_OF_A_CLASS = 12


class Size(NamedTuple):
    """How large a problem is."""

    images: int
    width: int
    classes: int
    texts: int
    k: int


SIZES = {
    "fit": Size(50_000, 512, 100, 2_000, 128),
    "predict": Size(50_000, 512, 100, 2_000, 128),
    "imagenet": Size(1_281_167, 768, 1_000, 300_000, 512),
}
# What is timed: module, function, and what is said of it.
PARTS = (
    ("datasets.matrix", "UnitMatrix._norms", "norms of images and texts"),
    ("datasets.matrix", "Matrix.checksums", "checksums"),
    ("pursuit.naive_bayes.training_set", "class_moments", "moments of the classes"),
    ("pursuit.answers.directions", "fit_score_maps", "score map"),
    ("pursuit.answers.directions", "TextDirections.fitted", "directions of texts"),
    ("pursuit.naive_bayes.selection", "responsive_rows", "selection: texts that vary"),
    (
        "pursuit.naive_bayes.selection",
        "_most_informative_alone",
        "selection: most informative texts",
    ),
    ("pursuit.naive_bayes.selection", "forward_selection", "selection: forward"),
    ("pursuit.naive_bayes.selection", "_credit", "selection: by roll-outs"),
    ("estimators.naive_bayes", "fit_table", "rates of the classes"),
    ("estimators.naive_bayes", "fit_independence", "calibration"),
)


def main() -> None:
    """Make the problem, then measure it in its own process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", choices=SIZES)
    parser.add_argument("--scale", type=float, default=1.0, help="of images and texts")
    parser.add_argument("--scratch", type=Path, default=Path(".scratch/estimator"))
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    size = SIZES[chosen.problem]
    size = size._replace(
        images=round(size.images * chosen.scale), texts=round(size.texts * chosen.scale)
    )
    folder = chosen.scratch / "-".join(map(str, size[:4]))
    if chosen.measure:
        print(json.dumps(measure(chosen.problem, size, folder)))
        return
    make(size, folder)
    print(f"{chosen.problem}: {size}")
    for part, value in json.loads(in_own_process("estimator", *sys.argv[1:], "--measure")).items():
        print(f"{value:>12.2f}  {part}")


def make(size: Size, folder: Path) -> None:
    """Write X.npy, y.npy, texts.npy in blocks, unless they exist."""
    if (folder / "done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    shared = generator.standard_normal(size.width).astype(np.float32)
    properties = generator.standard_normal((size.texts // 4, size.width)).astype(np.float32)
    kind = np.float16 if size.width > 512 else np.float32
    texts = np.lib.format.open_memmap(
        folder / "texts.npy", "w+", kind, shape=(size.texts, size.width)
    )
    for start in range(0, size.texts, BLOCK):
        rows = generator.standard_normal((min(BLOCK, size.texts - start), size.width))
        named = properties[start : start + len(rows)]
        rows[: len(named)] = 0.3 * rows[: len(named)] + named
        texts[start : start + len(rows)] = unit(rows + 1.5 * shared)
    of_class = generator.integers(0, len(properties), (size.classes, PROPERTIES_OF_A_CLASS))
    means = properties[of_class].sum(axis=1) / PROPERTIES_OF_A_CLASS**0.5
    y = generator.integers(0, size.classes, size.images)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", kind, shape=(size.images, size.width))
    for start in range(0, size.images, BLOCK):
        labels = y[start : start + BLOCK]
        noise = generator.standard_normal((len(labels), size.width), dtype=np.float32)
        X[start : start + len(labels)] = unit(means[labels] + 1.2 * noise + shared)
    np.save(folder / "y.npy", y)
    (folder / "done").touch()


def measure(problem: str, size: Size, folder: Path) -> dict[str, float]:
    """Return seconds of each part, and gigabytes at the peak."""
    from infopursuit.estimators.naive_bayes import InformationPursuitClassifier

    seconds: dict[str, float] = {}
    if problem != "predict":
        time_parts(PARTS, seconds)
    mode = "r" if problem == "imagenet" else None
    X, texts = (np.load(folder / f"{name}.npy", mmap_mode=mode) for name in ("X", "texts"))
    y = np.load(folder / "y.npy")
    names = [f"text {number}" for number in range(size.texts)]
    model = InformationPursuitClassifier(names, texts, size.k)
    with memory_watched() as peak:
        started = time.perf_counter()
        model.fit(X, y)
        if problem == "predict":
            started = time.perf_counter()
            right = model.predict(X) == y
            seconds["accuracy on the training images, percent"] = 100 * float(np.mean(right))
        seconds["all together"] = time.perf_counter() - started
    seconds["GB at the peak, as the system counts (pages of mapped files included)"] = system_gb()
    seconds["GB of it that is the process's own"] = peak["own"] / 2**20
    return seconds


if __name__ == "__main__":
    main()
