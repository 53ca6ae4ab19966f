"""Removing near duplicates: what telling pairs apart by their first axes is worth.

    python -m tests.benchmarks.near_duplicates --rows 50000

Makes a clustered universe in a memory map, unit rows in float16 whose second moments fall about as
those of CLIP's texts do (three quarters along one direction, 59 % of the rest on 64 axes of 512),
and drops its near duplicates three times: by `distinct_rows`, by `distinct_rows` that multiplies
all numbers of all pairs, and by products of blocks as short as they can be written. Prints seconds
of wall and of processor for each, which tell how much others disturbed, and whether decisions are
equal. `--plain no` leaves the last two out, for sizes at which they take too long.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from infopursuit.clip import near_duplicates
from infopursuit.clip.near_duplicates import distinct_rows


def write_universe(path: Path, rows: int, width: int, clusters: int) -> np.ndarray:
    """A memory map of unit rows (rows, width), float16, in clusters of several sizes and widths."""
    rng = np.random.default_rng(0)
    axis = np.arange(width)
    scale = np.sqrt((1 + axis) ** -0.6 * np.exp(-axis / (0.3 * width)))
    scale /= np.linalg.norm(scale)
    rotation = np.linalg.qr(rng.normal(size=(width, width)))[0]
    common = np.sqrt(3) * rotation[:, -1]
    centres = rng.normal(size=(clusters, width)) * scale @ rotation.T
    spread = rng.uniform(0.2, 0.7, size=clusters)
    weights = rng.pareto(1.5, size=clusters) + 0.1
    matrix = np.lib.format.open_memmap(path, "w+", np.float16, (rows, width))
    for start in range(0, rows, 8192):
        member = rng.choice(clusters, min(8192, rows - start), p=weights / weights.sum())
        noise = rng.normal(size=(len(member), width)) * scale @ rotation.T
        share = spread[member, None]
        block = common + np.sqrt(1 - share**2) * centres[member] + share * noise
        block /= np.linalg.norm(block, axis=1, keepdims=True)
        matrix[start : start + len(member)] = block
    matrix.flush()
    return np.load(path, mmap_mode="r")


def by_blocks(matrix: np.ndarray, threshold: float, device: torch.device) -> np.ndarray:
    """The same decisions but for rounding, by the product of each block with all kept rows."""
    keep = np.zeros(len(matrix), dtype=bool)
    for start in range(0, len(matrix), 1024):
        block = torch.from_numpy(np.array(matrix[start : start + 1024])).to(device).float()
        near = torch.zeros(len(block), dtype=torch.bool, device=device)
        for part in np.array_split(np.flatnonzero(keep[:start]), max(1, start // 8192)):
            kept = torch.from_numpy(matrix[part]).to(device).float()
            near |= (block @ kept.T >= threshold).any(dim=1)
        within = (block @ block.T >= threshold).tril(-1).cpu().numpy()
        gone = near.cpu().numpy()
        for row in range(len(block)):
            keep[start + row] = not gone[row]
            if not gone[row]:
                gone |= within[:, row]
    return keep


def timed(name: str, decide: Callable[[], np.ndarray]) -> np.ndarray:
    wall, processor = time.perf_counter(), time.process_time()
    keep = decide()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{name}: {wall:.1f} s, {processor:.1f} s of processor, kept {keep.sum()}", flush=True)
    return keep


def measure(given: argparse.Namespace) -> None:
    device = torch.device(given.device)
    unprotected = np.zeros(given.rows, dtype=bool)
    with tempfile.TemporaryDirectory() as folder:
        clusters = max(given.rows // 5, 1)
        matrix = write_universe(Path(folder) / "matrix.npy", given.rows, given.width, clusters)
        axes = near_duplicates._axes(matrix, float(np.float32(given.threshold)), device)
        used = "none" if axes is None else axes.shape[1]
        print(f"{given.rows} rows of {given.width}, threshold {given.threshold}, axes {used}")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        ours = timed("by axes", lambda: distinct_rows(matrix, unprotected, given.threshold, device))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"peak memory grew by {grown / 1024:.0f} MiB, pages of the map included")
        if given.plain == "no":
            return
        near_duplicates.AXES = ()
        whole = timed("whole", lambda: distinct_rows(matrix, unprotected, given.threshold, device))
        plain = timed("blocks", lambda: by_blocks(matrix, given.threshold, device))
        same = np.array_equal(ours, whole)
        print(f"axes and whole agree: {same}; blocks differ in {(ours != plain).sum()} rows")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--threshold", type=float, default=0.95)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--plain", choices=("yes", "no"), default="yes")
    measure(parser.parse_args())
