"""k-medoids: as good as the reference, the same bits again, also after kills."""

from collections.abc import Iterator

import kmedoids
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.core.errors import InputError
from infopursuit.pursuit.dictionary import medoids
from infopursuit.pursuit.dictionary.medoids import MedoidSearch, k_medoids
from tests.devices import DEVICES
from tests.pursuit.dictionary.medoid_checks import (
    check_changes,
    check_lists,
    check_search,
    short_blocks,
)
from tests.pursuit.dictionary.reference_medoids import change, clustered, deviation, euclidean


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Universes of a hundred points are searched as those of a hundred thousand are."""
    for name, value in {"WHOLE": 100, "PER_MEDOID": 4, "LANDMARKS": 40, "FEWEST": 6}.items():
        monkeypatch.setattr(medoids, name, value)


@given(st.integers(2, 30), st.integers(1, 8), st.integers(0, 99))
def test_no_single_swap_can_better_the_result(n: int, k: int, seed: int) -> None:
    points, k = clustered(n, seed), min(k, n)
    found = k_medoids(points, k, seed)
    assert len(set(found.tolist())) == k
    distances = euclidean(points)
    for position in range(k):
        for candidate in range(n):
            assert change(distances, found, position, candidate) >= -1e-3


@pytest.mark.parametrize("device", DEVICES)
def test_a_search_on_a_device_is_as_good_as_on_the_cpu(device: str) -> None:
    check_search(device, n=300, k=12)


def test_deviation_is_that_of_fasterpam() -> None:
    points = clustered(600, seed=1)
    distances = euclidean(points)
    oracle = kmedoids.fasterpam(distances.astype(np.float32), 24, random_state=0)
    assert deviation(distances, k_medoids(points, 24, seed=0)) <= 1.005 * oracle.loss


@pytest.mark.usefixtures("sampled")
def test_a_larger_universe_comes_close_to_the_search_of_all_swaps() -> None:
    for seed in range(3):
        points = clustered(2000, seed, clusters=60)
        distances = euclidean(points)
        oracle = kmedoids.fasterpam(distances.astype(np.float32), 40, random_state=seed)
        for reach in (8, 40):  # the texts around count, or all
            found = k_medoids(points, 40, seed, MedoidSearch(reach=reach))
            assert deviation(distances, found) <= 1.02 * oracle.loss


@pytest.mark.usefixtures("sampled")
def test_the_work_is_limited_by_a_count() -> None:
    points = clustered(2000, seed=2, clusters=60)
    distances = euclidean(points)
    reached = [
        deviation(distances, k_medoids(points, 40, 0, MedoidSearch(distances=limit)))
        for limit in (1, 50, 100, 400)
    ]
    assert reached == sorted(reached, reverse=True)
    assert len(set(reached)) == 4
    # No swap at all: those drawn at first.
    drawn = torch.randperm(2000, generator=torch.Generator().manual_seed(0))[:40]
    assert k_medoids(points, 40, 0, MedoidSearch(distances=1)).tolist() == sorted(drawn.tolist())


@pytest.mark.parametrize("n", [90, 150])
@pytest.mark.usefixtures("sampled")
def test_medoids_are_distinct_sorted_and_repeat_with_the_seed(n: int) -> None:
    found = k_medoids(np.zeros((n, 3)), 7, seed=3)  # all texts alike: still k distinct medoids
    assert len(set(found.tolist())) == 7
    assert found.tolist() == sorted(found.tolist())
    points = clustered(n, seed=5)
    points[n // 2 :] = points[: n - n // 2]  # every text twice
    found = k_medoids(points, 9, seed=4)
    assert len(set(found.tolist())) == 9
    assert np.array_equal(found, k_medoids(points, 9, seed=4))
    others = [k_medoids(points, 9, seed=seed) for seed in range(5, 12)]  # some find the same
    assert not all(np.array_equal(found, other) for other in others)


def test_one_medoid_or_as_many_as_points() -> None:
    points = clustered(20, seed=7)
    assert k_medoids(points, 1, seed=0).tolist() == [euclidean(points).sum(axis=1).argmin()]
    assert k_medoids(points, 20, seed=0).tolist() == list(range(20))
    with pytest.raises(InputError, match=r"k is 21; expected at most 20"):
        k_medoids(points, 21, seed=0)


# The swaps of one round.


@pytest.fixture
def in_short_blocks() -> Iterator[None]:
    with short_blocks():
        yield


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.usefixtures("in_short_blocks")
@given(n=st.integers(3, 40), k=st.integers(1, 8), seed=st.integers(0, 99))
def test_changes_are_those_of_the_whole_matrix(device: str, n: int, k: int, seed: int) -> None:
    check_changes(device, n, k, seed)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.usefixtures("in_short_blocks")
@given(st.integers(20, 80), st.integers(1, 9), st.integers(2, 12), st.integers(0, 99))
def test_lists_stay_true_while_medoids_are_swapped(
    device: str, n: int, k: int, reach: int, seed: int
) -> None:
    check_lists(device, n, k, reach, seed)
