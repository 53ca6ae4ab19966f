"""k-medoids of the made-up universe of benchmarks.medoids."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.gpu_check.rows import Row, row
from benchmarks.made_up import deviation, write_universe
from infopursuit.pursuit.dictionary.medoids import MedoidSearch, k_medoids

# The seconds and the deviation of two cores of a CPU (lab/speed.md).
CPU_SECONDS, CPU_DEVIATION = 65.0, 225_807.0
# Deviations whose ratio is at most this are equally good.
AS_GOOD = 1.01


def rows(device: str, tiny: bool) -> Iterator[Row]:
    """Yield the one row."""
    u, d, k = (3000, 16, 20) if tiny else (300_000, 768, 824)
    search = MedoidSearch(distances=40) if tiny else MedoidSearch()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "universe.npy"
        write_universe(path, u, d)
        points = np.load(path, mmap_mode="c")
        started = time.perf_counter()
        medoids = k_medoids(points, k, 0, search, device)
        seconds = time.perf_counter() - started
        reached = deviation(points, medoids)
        on_cpu = deviation(points, k_medoids(points, k, 0, search)) if tiny else CPU_DEVIATION
    yield row(
        f"k-medoids of {u:,} x {d}, k = {k}",
        f"{seconds:.1f} s, deviation {reached:,.0f} (on a CPU {on_cpu:,.0f})",
        goal=None if tiny or device == "cpu" else f"{CPU_SECONDS:g} s, as on two CPU cores",
        met=seconds <= CPU_SECONDS,
        exact=len(set(medoids.tolist())) == k and reached <= AS_GOOD * on_cpu,
        figures={"seconds": seconds, "deviation": reached, "cpu_deviation": on_cpu},
    )
