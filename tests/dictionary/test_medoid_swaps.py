import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.dictionary import medoid_swaps
from infopursuit.dictionary.medoid_swaps import NearMedoids, Points
from tests.dictionary.reference_medoids import change, deviation, euclidean
from tests.dictionary.test_medoids import clustered

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(
    not torch.cuda.is_available(), reason="no CUDA device"))]  # fmt: skip


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that end in the middle of the points and of the candidates."""
    monkeypatch.setattr(medoid_swaps, "ROWS", 7)
    monkeypatch.setattr(medoid_swaps, "COLUMNS", 5)
    monkeypatch.setattr(medoid_swaps, "CANDIDATES", 5)
    monkeypatch.setattr(medoid_swaps, "CPU_DISTANCES", 60)


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


@pytest.mark.parametrize("device", DEVICES)
@given(n=st.integers(3, 40), k=st.integers(1, 8), seed=st.integers(0, 99))
def test_changes_are_those_of_the_whole_matrix(device: str, n: int, k: int, seed: int) -> None:
    points, k = clustered(n, seed), min(k, n - 1)
    distances, medoids = euclidean(points), np.arange(k)
    near = near_medoids(points, medoids, k, device)
    changes, replaced = reported(near, torch.arange(n, device=device))
    for candidate in range(k, n):
        expected = [change(distances, medoids, position, candidate) for position in range(k)]
        assert changes[candidate] == pytest.approx(min(expected), abs=1e-3)
        assert expected[replaced[candidate]] == pytest.approx(min(expected), abs=1e-3)


@given(st.integers(20, 60), st.integers(4, 9), st.integers(2, 3), st.integers(0, 99))
def test_changes_of_a_short_reach_are_upper_bounds(n: int, k: int, reach: int, seed: int) -> None:
    points = clustered(n, seed)
    distances, medoids = euclidean(points), np.arange(k)
    near = near_medoids(points, medoids, reach)
    for position in range(k):
        around = (near.listed == position).any(dim=0).nonzero().squeeze(1)
        changes, replaced = reported(near, around)
        for candidate in set(around.tolist()) - set(range(k)):
            true = change(distances, medoids, int(replaced[candidate]), candidate)
            assert changes[candidate] >= true - 1e-3


@pytest.mark.parametrize("device", DEVICES)
@given(st.integers(20, 80), st.integers(1, 9), st.integers(2, 12), st.integers(0, 99))
def test_lists_stay_true_while_medoids_are_swapped(
    device: str, n: int, k: int, reach: int, seed: int
) -> None:
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
        assert tracked < bound if swaps else tracked == pytest.approx(bound, abs=1e-2)
        bound = tracked
        losses = near.losses.cpu().numpy() / medoid_swaps.UNITS
        direct = np.bincount(listed[0], weights=kept[1] - kept[0], minlength=k)
        np.testing.assert_allclose(losses, direct, atol=1e-4)


def test_screened_candidates_are_the_better_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(medoid_swaps, "CANDIDATES", 64)
    monkeypatch.setattr(medoid_swaps, "LANDMARKS", 60)
    monkeypatch.setattr(medoid_swaps, "FEWEST", 8)
    points = clustered(400, seed=4)
    near = near_medoids(points, np.arange(8), 8)
    around = torch.arange(near.n)
    candidates = around[8:]
    passed = near._screened(candidates, around, torch.Generator().manual_seed(0))
    assert len(passed) == int(medoid_swaps.SCREENED * len(candidates))
    assert passed.tolist() == sorted(set(passed.tolist()))
    changes, _ = reported(near, around)
    assert changes[passed].mean() < np.quantile(changes[candidates], 0.2)


def test_points_of_a_sample_are_rows_of_the_universe() -> None:
    stored = torch.randn(30, 4).half()
    everything = Points(stored)
    rows = torch.tensor([3, 8, 20])
    taken, squares = everything.sample(rows).take(torch.tensor([2, 0]))
    assert torch.equal(taken, stored[[20, 3]].float())
    assert torch.allclose(squares, taken.square().sum(dim=1))
    assert len(everything) == 30
    assert len(everything.sample(rows)) == 3
