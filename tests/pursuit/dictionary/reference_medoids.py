"""k-medoids the slow and obvious way: the whole distance matrix in float64."""

from __future__ import annotations

import numpy as np


def clustered(n: int, seed: int, d: int = 6, clusters: int = 8) -> np.ndarray:
    """n points around a few centres."""
    generator = np.random.default_rng(seed)
    centres = 3 * generator.standard_normal((clusters, d))
    return centres[np.arange(n) % clusters] + generator.standard_normal((n, d))


def euclidean(points: np.ndarray) -> np.ndarray:
    """(n, n) distances; exactly 0 on the diagonal."""
    points = points.astype(np.float64)
    squares = (points * points).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0))
    np.fill_diagonal(distances, 0)
    return distances


def deviation(distances: np.ndarray, medoids: np.ndarray) -> float:
    """Sum of the distances to the nearest medoid."""
    return float(distances[medoids].min(axis=0).sum())


def change(distances: np.ndarray, medoids: np.ndarray, position: int, candidate: int) -> float:
    """What a swap adds to the deviation."""
    swapped = medoids.copy()
    swapped[position] = candidate
    return deviation(distances, swapped) - deviation(distances, medoids)
