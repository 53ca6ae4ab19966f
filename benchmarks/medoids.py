"""k-medoids of a large universe against CLARA and k-means, each given the same time.

    python -m benchmarks.medoids          about 10 minutes on two cores and 3 GB of disk

Makes a clustered universe, searches it in its own process (seconds, peak memory), then gives each
rival at least as many seconds:

- CLARA: `kmedoids.fasterpam` on samples of 8000 texts, as many as the time allows; the medoids with
  the least deviation over the whole universe count.
- k-means on all texts (faiss) and in batches (scikit-learn); at the end each mean is replaced by
  the nearest text that no other mean has taken.

The same for the real texts, if they are present, against the best of ten exact FasterPAM searches.
Writes artifacts/benchmarks/medoids.json and medoids.md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import kmedoids
import numpy as np
import pyarrow.parquet as pq
import torch
from sklearn.cluster import MiniBatchKMeans

from benchmarks.harness import in_own_process, peak_mb, save
from benchmarks.made_up import BLOCK, deviation, write_universe
from infopursuit.core.numbers import table
from infopursuit.core.tables import embedding_matrix
from infopursuit.pipeline.params import load_params
from infopursuit.pursuit.dictionary.medoids import MedoidSearch, k_medoids

REAL = Path(__file__).parents[1] / "../shared/data/clip_vitb32/texts.parquet"
SAMPLE = 8000  # of CLARA
REAL_K = 128


def euclidean(points: np.ndarray) -> np.ndarray:
    """Return the matrix of distances that FasterPAM needs, in float32."""
    points = points.astype(np.float32)
    squares = (points * points).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0))
    np.fill_diagonal(distances, 0)
    return distances


def faster_pam(points: np.ndarray, k: int, seed: int) -> tuple[float, np.ndarray]:
    """Return the loss and the medoids of one exact search."""
    result = kmedoids.fasterpam(euclidean(points), k, random_state=seed)
    return result.loss, result.medoids.astype(np.int64)


# Rivals return medoids and the number of their rounds in `limit` seconds.


def clara(points: np.ndarray, k: int, limit: float) -> tuple[np.ndarray, int]:
    """Return the best of the samples."""
    end, generator = time.perf_counter() + limit, np.random.default_rng(0)
    best, least, samples = np.arange(k), np.inf, 0
    while time.perf_counter() < end:
        rows = generator.choice(len(points), min(SAMPLE, len(points)), replace=False)
        medoids = rows[faster_pam(points[rows], k, samples)[1]]
        reached = deviation(points, medoids)
        samples += 1
        if reached < least:
            best, least = medoids, reached
    return best, samples


def k_means(points: np.ndarray, k: int, limit: float) -> tuple[np.ndarray, int]:
    """Search means of all points; return the texts nearest to them."""
    end, means, iterations = time.perf_counter() + limit, None, 0
    points = points.astype(np.float32)
    options = {"niter": 2, "seed": 0, "max_points_per_centroid": len(points)}
    while time.perf_counter() < end:
        search = faiss.Kmeans(points.shape[1], k, **options)
        search.train(points, init_centroids=means)
        means = search.centroids
        iterations += 2
    assert means is not None
    return distinct_nearest(points, means), iterations


def batch_k_means(points: np.ndarray, k: int, limit: float) -> tuple[np.ndarray, int]:
    """Search means in batches; return the texts nearest to them."""
    end, generator, batches = time.perf_counter() + limit, np.random.default_rng(0), 0
    search: Any = MiniBatchKMeans(k, random_state=0, init_size=3 * k)
    while time.perf_counter() < end:
        rows = generator.choice(len(points), min(BLOCK, len(points)), replace=False)
        search.partial_fit(points[rows].astype(np.float32))
        batches += 1
    return distinct_nearest(points, search.cluster_centers_.astype(np.float32)), batches


def best_of_ten(points: np.ndarray, k: int, limit: float) -> tuple[np.ndarray, int]:
    """Return the best of ten exact searches, however long they take."""
    return min((faster_pam(points, k, seed) for seed in range(10)), key=lambda one: one[0])[1], 10


RIVALS: dict[str, Callable[[np.ndarray, int, float], tuple[np.ndarray, int]]] = {
    "CLARA, samples of 8000": clara,
    "k-means, snapped": k_means,
    "k-means in batches, snapped": batch_k_means,
    "FasterPAM": best_of_ten,
}


def distinct_nearest(points: np.ndarray, means: np.ndarray, candidates: int = 32) -> np.ndarray:
    """Return the nearest text of each mean that no closer mean has taken."""
    candidates = min(candidates, len(points))
    centres = torch.from_numpy(means)
    distances = torch.full((len(means), candidates), torch.inf)
    nearest = torch.zeros(len(means), candidates, dtype=torch.long)
    for start in range(0, len(points), BLOCK):
        part = torch.from_numpy(points[start : start + BLOCK]).float()
        to_part = part.square().sum(dim=1) - 2 * centres @ part.T
        to_part += centres.square().sum(dim=1)[:, None]
        rows = torch.arange(start, start + len(part)).expand(len(means), -1)
        distances, order = torch.cat([distances, to_part], dim=1).topk(candidates, largest=False)
        nearest = torch.cat([nearest, rows], dim=1).gather(1, order)
    taken: dict[int, int] = {}
    for pair in distances.flatten().argsort(stable=True).tolist():
        mean, row = pair // candidates, int(nearest.flatten()[pair])
        if mean not in taken and row not in taken.values():
            taken[mean] = row
    assert len(taken) == len(means), "a mean has no free text among its candidates"
    return np.array([taken[mean] for mean in range(len(means))])


def search_here(path: Path, k: int, device: str) -> None:
    """Search; write the medoids next to the universe, print seconds and peak memory."""
    points = np.load(path, mmap_mode="c")
    settings = load_params("params.yaml").initialize
    search = MedoidSearch(settings.medoids_distances, settings.medoids_reach)
    started = time.perf_counter()
    medoids = k_medoids(points, k, 0, search, device, path.parent / "scratch")
    seconds = time.perf_counter() - started
    np.save(path.with_suffix(".medoids.npy"), medoids)
    print(json.dumps({"seconds": seconds, "peak_rss_mb": peak_mb()}))


def compare(path: Path, name: str, k: int, device: str) -> list[dict]:
    """Return rows of the table: ours, then each rival with at least the same time."""
    ours = json.loads(in_own_process("medoids", "--search", path, "--k", k, "--device", device))
    points = np.load(path, mmap_mode="c")
    medoids = np.load(path.with_suffix(".medoids.npy"))
    assert len(set(medoids.tolist())) == k
    least = deviation(points, medoids)
    rows = [{"name": "k-medoids", **ours, "rounds": None, "deviation": least}]
    for rival, search in RIVALS.items():
        if search is best_of_ten and len(points) > SAMPLE:
            continue
        started = time.perf_counter()
        medoids, rounds = search(points, k, ours["seconds"])
        seconds, reached = time.perf_counter() - started, deviation(points, medoids)
        rows.append({"name": rival, "seconds": seconds, "rounds": rounds, "deviation": reached})
    for row in rows:
        row |= {"universe": name, "u": len(points), "d": points.shape[1], "k": k}
        row["over_ours_percent"] = 100 * (row["deviation"] / least - 1)
        print(row, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--u", type=int, default=300_000)
    parser.add_argument("--d", type=int, default=768)
    parser.add_argument("--k", type=int, default=824)
    parser.add_argument("--device", default="cpu", help="of ours; the rivals run on the CPU")
    parser.add_argument("--search", type=Path, help="only search this universe (.npy)")
    given = parser.parse_args()
    if given.search:
        search_here(given.search, given.k, given.device)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "universe.npy"
        write_universe(path, given.u, given.d)
        rows = compare(path, "made up", given.k, given.device)
        if REAL.is_file():
            path = Path(folder) / "real.npy"
            np.save(path, embedding_matrix(pq.read_table(REAL, columns=["embedding"])))
            rows += compare(path, "real texts", REAL_K, given.device)
        else:
            print(f"no real texts: {REAL} does not exist")
    header = ["universe", "k", "search", "deviation", "over ours, %", "seconds", "rounds", "MB"]
    lines = [
        [f"{row['universe']}, {row['u']} x {row['d']}", row["k"], row["name"],
         f"{row['deviation']:.1f}", f"{row['over_ours_percent']:+.2f}", f"{row['seconds']:.1f}",
         row["rounds"] or "", row.get("peak_rss_mb", "")]
        for row in rows
    ]  # fmt: skip
    print(save("medoids", rows, table(header, lines)))


if __name__ == "__main__":
    main()
