"""k-medoids of the universe: the k texts with the least sum of distances to all others' nearest.

Small universes are solved by eager swaps over all points (the FasterPAM scheme of Schubert and
Rousseeuw); a larger one by the same search on samples, of which the medoids with the least total
deviation over the whole universe are kept (CLARA).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32, Int
from tqdm import tqdm

from infopursuit.errors import InputError


def k_medoids(
    points: Float[np.ndarray, "u d"], k: int, seed: int, sample: int = 8000, repeats: int = 5
) -> Int[np.ndarray, " k"]:
    """Rows of k distinct medoids under Euclidean distance, ascending.

    Args:
        points: embeddings of the universe.
        sample: a universe of at most this many points is searched as a whole.
        repeats: how many samples of that size are searched in a larger one.

    Raises:
        InputError: k is larger than the universe.
    """
    if k > len(points):
        raise InputError(f"k is {k}; expected at most {len(points)}, the size of the universe")
    generator = np.random.default_rng(seed)
    if len(points) <= sample:
        start = generator.choice(len(points), k, replace=False)
        return np.sort(swap_medoids(euclidean(points, points), start))
    best, least = None, np.inf
    for _ in tqdm(range(repeats), desc="k-medoids samples", disable=None):
        rows = generator.choice(len(points), max(sample, k), replace=False)
        drawn = points[rows]
        start = generator.choice(len(rows), k, replace=False)
        medoids = rows[swap_medoids(euclidean(drawn, drawn), start)]
        deviation = total_deviation(points, medoids)
        if deviation < least:
            best, least = medoids, deviation
    assert best is not None
    return np.sort(best)


def swap_medoids(
    distances: Float32[np.ndarray, "n n"], medoids: Int[np.ndarray, " k"]
) -> Int[np.ndarray, " k"]:
    """Swap medoids for other points as long as that lowers the total deviation.

    Each point is tried as a replacement for the medoid it serves best, and taken at once if the
    sum of distances falls; the search ends after a whole pass without a swap. Deterministic.
    """
    n, medoids = len(distances), medoids.copy()
    k = len(medoids)
    near, nearest, next_best = _two_nearest(distances, medoids)
    is_medoid = np.isin(np.arange(n), medoids)
    since_swap, candidate = 0, -1
    while since_swap < n:
        candidate = (candidate + 1) % n
        since_swap += 1
        if is_medoid[candidate]:
            continue
        row = distances[candidate]
        # What removing each medoid costs, given that the candidate is there to take over.
        taken_over = np.minimum(np.maximum(row, nearest), next_best) - nearest
        change = np.bincount(near, weights=taken_over, minlength=k)
        change += np.minimum(row - nearest, 0).sum(dtype=np.float64)
        worst = int(change.argmin())
        if change[worst] < -1e-9 * n:
            is_medoid[medoids[worst]], is_medoid[candidate] = False, True
            medoids[worst] = candidate
            near, nearest, next_best = _two_nearest(distances, medoids)
            since_swap = 0
    return medoids


def total_deviation(points: Float[np.ndarray, "u d"], medoids: Int[np.ndarray, " k"]) -> float:
    """Sum over all points of the distance to the nearest medoid."""
    centres = points[medoids]
    return float(
        sum(
            euclidean(points[start : start + 8192], centres).min(axis=1).sum(dtype=np.float64)
            for start in range(0, len(points), 8192)
        )
    )


def euclidean(
    first: Float[np.ndarray, "n d"], second: Float[np.ndarray, "m d"]
) -> Float32[np.ndarray, "n m"]:
    """Euclidean distances; exactly 0 on the diagonal of a set with itself."""
    one, two = first.astype(np.float32), second.astype(np.float32)
    squares = (one * one).sum(axis=1)[:, None] + (two * two).sum(axis=1)
    distances = np.sqrt(np.maximum(squares - 2 * one @ two.T, 0))
    if first is second:
        np.fill_diagonal(distances, 0)
    return distances


def _two_nearest(
    distances: np.ndarray, medoids: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every point the position in `medoids` of its medoid, and the two smallest distances."""
    to_medoids = distances[medoids]  # (k, n), a copy
    near = to_medoids.argmin(axis=0)
    everyone = np.arange(distances.shape[1])
    nearest = to_medoids[near, everyone]
    to_medoids[near, everyone] = np.inf
    return near, nearest, to_medoids.min(axis=0)
