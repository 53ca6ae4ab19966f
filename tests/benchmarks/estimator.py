"""Times InformationPursuitClassifier on synthetic embeddings, part by part, with peak memory.

    python -m tests.benchmarks.estimator fit         50,000 x 512, 100 classes, 2,000 texts, k = 128
    python -m tests.benchmarks.estimator predict     50,000 images, k = 128, 100 classes
    python -m tests.benchmarks.estimator imagenet    1,281,167 x 768 float16 mapped from disk,
                                                     1,000 classes, 300,000 texts, k = 512
    python -m tests.benchmarks.estimator imagenet --scale 0.1     a tenth of images and texts

The goals: 30 s; 10 s; 15 minutes and 8 GB, on 2 cores. Each is measured in a process of its own.
Images are a sum of properties of their class with noise; they are made in blocks and kept in
`--scratch`, as are texts, of which a quarter name properties and the others nothing.
"""

from __future__ import annotations

import argparse
import functools
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

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
    ("datasets.rows", "UnitRows._norms", "norms of images and texts"),
    ("datasets.rows", "Rows.checksums", "checksums"),
    ("estimators.training_rows", "class_moments", "moments of the classes"),
    ("answers.text_directions", "fit_score_maps", "score map"),
    ("answers.text_directions", "TextDirections.fitted", "directions of texts"),
    ("naive_bayes.selection", "responsive_rows", "selection: texts that vary"),
    ("naive_bayes.selection", "_candidates", "selection: most informative texts"),
    ("naive_bayes.selection", "forward_selection", "selection: forward"),
    ("naive_bayes.selection", "_credit", "selection: by roll-outs"),
    ("estimators.information_pursuit", "fit_table", "rates of the classes"),
    ("estimators.information_pursuit", "fit_independence", "calibration"),
)


def main() -> None:
    """Make the problem, then measure it in a process of its own."""
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
    command = [sys.executable, "-m", "tests.benchmarks.estimator", *sys.argv[1:], "--measure"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    print(f"{chosen.problem}: {size}")
    for part, value in json.loads(done.stdout.splitlines()[-1]).items():
        print(f"{value:>12.2f}  {part}")


def make(size: Size, folder: Path) -> None:
    """Write X.npy, y.npy, texts.npy in blocks, where they are not there yet."""
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


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows of unit norm."""
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def measure(problem: str, size: Size, folder: Path) -> dict[str, float]:
    """Seconds of each part, and gigabytes at the peak."""
    from infopursuit.estimators.information_pursuit import InformationPursuitClassifier

    seconds = timed_parts() if problem != "predict" else {}
    X = np.load(folder / "X.npy", mmap_mode="r" if problem == "imagenet" else None)
    texts = np.load(folder / "texts.npy", mmap_mode="r" if problem == "imagenet" else None)
    y = np.load(folder / "y.npy")
    names = [f"text {number}" for number in range(size.texts)]
    model = InformationPursuitClassifier(names, texts, size.k)
    started = time.perf_counter()
    model.fit(X, y)
    if problem == "predict":
        started = time.perf_counter()
        right = model.predict(X) == y
        seconds["accuracy on the training images, percent"] = 100 * float(np.mean(right))
    seconds["all together"] = time.perf_counter() - started
    seconds["GB at the peak, as the system counts (pages of mapped files included)"] = (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    )
    seconds["GB of it that is the process's own"] = own_peak()
    return seconds


def own_peak() -> float:
    """Peak of memory that is not pages of files, in GB; what Linux tells now where no peak is."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    lines = dict(line.split(":", 1) for line in status.splitlines())
    return (int(lines["VmHWM"].split()[0]) - int(lines["RssFile"].split()[0])) / 2**20


def timed_parts() -> dict[str, float]:
    """Wrap the parts so that they add up their seconds in what is returned."""
    from importlib import import_module

    seconds: dict[str, float] = {}
    for module, name, said in PARTS:
        holder: Any = import_module(f"infopursuit.{module}")
        *owner, function = name.split(".")
        for part in owner:
            holder = getattr(holder, part)
        setattr(holder, function, timed(getattr(holder, function), said, seconds))
    return seconds


def timed(function: Callable[..., Any], said: str, seconds: dict[str, float]) -> Callable[..., Any]:
    """The same function, with its time added to `seconds[said]`."""

    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            seconds[said] = seconds.get(said, 0.0) + time.perf_counter() - started

    return run


if __name__ == "__main__":
    main()
