"""Exact nearest texts over shards of a universe, beside approximate indexes of the same texts.

    python -m tests.benchmarks.sharded_search --u 300000 --indexes IVF1024,Flat HNSW32
    python -m tests.benchmarks.sharded_search --u 3000000 --indexes IVF4096,PQ96x4fs

The universe is a float16 file mapped from disk, made block by block. The shards are searched one
after another here; the slowest is what a search takes with a machine for each. The thetas are
texts that noise has moved, `--noise` times as far as the width of a topic, as training moves them.
An index is trained on a sample and filled block by block (float32). Adds
a table to artifacts/benchmarks/sharded_search.md.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import faiss
import numpy as np
import torch
from torch.nn.functional import normalize

from infopursuit.dictionary.nearest_texts import nearest_texts
from infopursuit.dictionary.sharded_texts import closest_shard, nearest_in_shard
from tests.benchmarks.engine import OUT, machine

T = TypeVar("T")

BLOCK = 65536
TOPICS = 2000
NPROBE = (1, 8, 64)
REPEATS = 3


def made_universe(path: Path, u: int, d: int) -> torch.Tensor:
    """(u, d) float16 texts around topics, cosines of about 0.65 between any two, in a file."""
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(d, generator=generator) / d**0.5
    centres = torch.randn(TOPICS, d, generator=generator) / d**0.5
    universe = np.memmap(path, np.float16, "w+", shape=(u, d))
    for start in range(0, u, BLOCK):
        rows = min(BLOCK, u - start)
        topic = torch.randint(TOPICS, (rows,), generator=generator)
        noise = torch.randn(rows, d, generator=generator) / d**0.5
        texts = normalize(1.4 * mean + 0.8 * centres[topic] + 0.6 * noise, dim=1)
        universe[start : start + rows] = texts.half().numpy()
    universe.flush()
    return torch.from_numpy(universe)


def moved_texts(universe: torch.Tensor, k: int, noise: float) -> torch.Tensor:
    """(k, d) float32 thetas near texts drawn at random."""
    generator = torch.Generator().manual_seed(1)
    rows = torch.randint(len(universe), (k,), generator=generator)
    d = universe.shape[1]
    return universe[rows].float() + noise * torch.randn(k, d, generator=generator) / d**0.5


def timed(work: partial[T]) -> tuple[float, T]:
    """Seconds of one call, and what it gave."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def median(work: partial[T]) -> tuple[float, T]:
    """Median seconds of a call after one for warming up."""
    work()
    runs = [timed(work) for _ in range(REPEATS)]
    return sorted(seconds for seconds, _ in runs)[REPEATS // 2], runs[0][1]


def sharded(
    universe: torch.Tensor, theta: torch.Tensor, shards: int
) -> tuple[list[str], torch.Tensor]:
    """Rows of the table for the exact search over so many shards, and the rows it found."""
    edges = [len(universe) * shard // shards for shard in range(shards + 1)]
    works = [
        partial(nearest_in_shard, theta, universe[start:end], start)
        for start, end in pairwise(edges)
    ]
    runs = [median(work) for work in works]
    merging, rows = median(partial(closest_shard, [answer for _, answer in runs]))
    seconds = [seconds for seconds, _ in runs]
    size = universe.element_size() * universe.numel()
    name = f"exact, {shards} shard{'s' * (shards > 1)}"
    cells = [name, "0", f"{sum(seconds) + merging:.3f}", f"{max(seconds) + merging:.3f}"]
    return [*cells, "100.0", f"{size / 1e6:,.0f}", f"{16 * len(theta) * shards:,}"], rows


def indexed(
    universe: torch.Tensor, theta: torch.Tensor, exact: torch.Tensor, factory: str
) -> list[list[str]]:
    """Rows of the table for one faiss index, by the number of lists it looks through."""
    index = faiss.index_factory(universe.shape[1], factory, faiss.METRIC_L2)
    generator = torch.Generator().manual_seed(2)
    sample = torch.randint(len(universe), (min(len(universe), 40 * 4096),), generator=generator)
    building = 0.0
    if not index.is_trained:
        vectors = universe[sample.sort().values].float().numpy()
        building += timed(partial(index.train, vectors))[0]
    for start in range(0, len(universe), BLOCK):
        block = universe[start : start + BLOCK].float().numpy()
        building += timed(partial(index.add, block))[0]
    with tempfile.NamedTemporaryFile() as file:
        faiss.write_index(index, file.name)
        size = Path(file.name).stat().st_size
    rows = []
    inverted = "IVF" in factory
    for probes in NPROBE:
        parameter = f"nprobe={probes}" if inverted else f"efSearch={16 * probes}"
        faiss.ParameterSpace().set_index_parameters(index, parameter)
        seconds, found = median(partial(index.search, theta.numpy(), 1))
        nearest = torch.from_numpy(found[1][:, 0])
        # As close is as good: equal texts in other rows count as found.
        right = (nearest == exact) | same_distance(universe, theta, nearest, exact)
        recall = f"{100 * right.double().mean():.1f}"
        name = f"{factory}, {parameter}"
        rows.append(
            [name, f"{building:.1f}", f"{seconds:.4f}", "", recall, f"{size / 1e6:,.0f}", ""]
        )
    return rows


def same_distance(
    universe: torch.Tensor, theta: torch.Tensor, one: torch.Tensor, other: torch.Tensor
) -> torch.Tensor:
    """(k,) whether two rows of the universe are equally far from theta, in float64."""
    distances = [
        (theta.double() - universe[rows.clamp(min=0)].double()).square().sum(dim=1)
        for rows in (one, other)
    ]
    return (distances[0] == distances[1]) & (one >= 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--u", type=int, default=300_000)
    parser.add_argument("--d", type=int, default=768)
    parser.add_argument("--k", type=int, default=128)
    parser.add_argument("--noise", type=float, default=0.6)
    parser.add_argument("--shards", type=int, nargs="*", default=[1, 4, 16])
    parser.add_argument("--indexes", nargs="*", default=["IVF1024,Flat"])
    given = parser.parse_args()
    faiss.omp_set_num_threads(torch.get_num_threads())
    OUT.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{machine()}, {torch.get_num_threads()} threads. u = {given.u:,}, d = {given.d}, "
        f"k = {given.k} thetas, noise {given.noise}.",
        "",
        "| search | train and add, s | all shards or the index, s | slowest shard and merge, s "
        "| recall@1, % | MB | bytes sent |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        universe = made_universe(Path(folder) / "universe.f16", given.u, given.d)
        theta = moved_texts(universe, given.k, given.noise)
        exact = nearest_texts(theta, universe)
        tables = []
        for shards in given.shards:
            cells, rows = sharded(universe, theta, shards)
            if not torch.equal(rows, exact):
                raise AssertionError(f"{shards} shards found other texts than the whole universe")
            tables.append([cells])
        for factory in given.indexes:
            tables.append(indexed(universe, theta, exact, factory))
    lines += ["| " + " | ".join(cells) + " |" for table in tables for cells in table]
    print("\n".join(lines))
    path = OUT / "sharded_search.md"
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n\n")


if __name__ == "__main__":
    main()
