"""Swaps of medoids on a device, against the whole distance matrix. Needs torch and numpy alone."""

from __future__ import annotations

from contextlib import AbstractContextManager
from unittest import mock

import numpy as np
import torch

from infopursuit.pursuit.dictionary import medoids as module
from infopursuit.pursuit.dictionary.medoids import NearMedoids, Points, k_medoids
from tests.pursuit.dictionary.reference_medoids import change, clustered, deviation, euclidean


def short_blocks() -> AbstractContextManager[object]:
    """Blocks that end in the middle of the points and of the candidates."""
    return mock.patch.multiple(
        module, ROWS=7, COLUMNS=5, CANDIDATES=5, CPU_DISTANCES=60, GPU_DISTANCES=60
    )


def near_medoids(
    points: np.ndarray, medoids: np.ndarray, reach: int, device: str = "cpu"
) -> NearMedoids:
    stored = Points(torch.from_numpy(points.astype(np.float32)).to(device))
    near = NearMedoids(stored, torch.from_numpy(medoids).to(device), reach)
    near.refresh()
    return near


def reported(near: NearMedoids, around: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The change by the best swap of every point, and the position it replaces."""
    everyone = torch.arange(near.n, device=near.device)
    changes, replaced = near._changes(near._between(everyone, around), around)
    return changes.cpu().numpy(), replaced.cpu().numpy()


def check_changes(device: str, n: int, k: int, seed: int) -> None:
    """The changes by all swaps are those of the whole matrix."""
    points, k = clustered(n, seed), min(k, n - 1)
    distances, medoids = euclidean(points), np.arange(k)
    near = near_medoids(points, medoids, k, device)
    changes, replaced = reported(near, torch.arange(n, device=device))
    for candidate in range(k, n):
        expected = [change(distances, medoids, position, candidate) for position in range(k)]
        assert abs(changes[candidate] - min(expected)) <= 1e-3
        assert abs(expected[replaced[candidate]] - min(expected)) <= 1e-3


def check_lists(device: str, n: int, k: int, reach: int, seed: int) -> None:
    """Lists of medoids, deviation and losses stay true while medoids are swapped."""
    points = clustered(n, seed)
    distances = euclidean(points)
    near = near_medoids(points, np.arange(k), reach, device)
    bound = deviation(distances, np.arange(k))
    for position in range(k):
        swaps = near.try_around(position, None)
        medoids = near.medoids.cpu().numpy()
        assert len(set(medoids.tolist())) == k
        assert near.is_medoid.nonzero().squeeze(1).tolist() == sorted(medoids.tolist())
        listed, kept = near.listed.cpu().numpy(), near.distances.cpu().numpy()
        for point in range(n):
            there = listed[:, point] >= 0
            assert there[: min(k, 2)].all()
            assert len(set(listed[there, point])) == there.sum()
            expected = distances[medoids[listed[there, point]], point]
            np.testing.assert_allclose(kept[there, point], expected, atol=5e-3)
            assert (kept[~there, point] == np.float32(near.far)).all()
            assert (np.diff(kept[:, point]) >= 0).all()
        tracked = float(kept[0].sum())
        assert tracked >= deviation(distances, medoids) - 1e-2
        assert tracked < bound if swaps else abs(tracked - bound) <= 1e-2
        bound = tracked
        losses = near.losses.cpu().numpy() / module.UNITS
        direct = np.bincount(listed[0], weights=kept[1] - kept[0], minlength=k)
        np.testing.assert_allclose(losses, direct, atol=1e-4)


def check_search(device: str, n: int = 1000, k: int = 16) -> None:
    """A search finds the same medoids twice, as good as those found on the CPU."""
    points = clustered(n, seed=3).astype(np.float32)
    found, again = k_medoids(points, k, 0, device=device), k_medoids(points, k, 0, device=device)
    assert np.array_equal(found, again)
    assert len(set(found.tolist())) == k
    distances = euclidean(points)
    on_cpu = deviation(distances, k_medoids(points, k, 0))
    assert deviation(distances, found) <= 1.01 * on_cpu
