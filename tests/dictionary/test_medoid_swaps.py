from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.dictionary import medoid_swaps
from infopursuit.dictionary.medoid_swaps import Points
from tests.devices import DEVICES
from tests.dictionary.medoid_checks import (
    check_changes,
    check_lists,
    near_medoids,
    reported,
    short_blocks,
)
from tests.dictionary.reference_medoids import change, clustered, euclidean


@pytest.fixture(autouse=True)
def in_short_blocks() -> Iterator[None]:
    with short_blocks():
        yield


@pytest.mark.parametrize("device", DEVICES)
@given(n=st.integers(3, 40), k=st.integers(1, 8), seed=st.integers(0, 99))
def test_changes_are_those_of_the_whole_matrix(device: str, n: int, k: int, seed: int) -> None:
    check_changes(device, n, k, seed)


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
    check_lists(device, n, k, reach, seed)


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
