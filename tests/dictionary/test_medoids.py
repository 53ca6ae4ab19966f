import kmedoids
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.dictionary.medoids import euclidean, k_medoids, swap_medoids, total_deviation
from infopursuit.errors import InputError


def _points(n: int, seed: int, d: int = 6) -> np.ndarray:
    generator = np.random.default_rng(seed)
    centres = 3 * generator.standard_normal((8, d))
    return centres[np.arange(n) % 8] + generator.standard_normal((n, d))


@given(st.integers(2, 30), st.integers(1, 8), st.integers(0, 99))
def test_no_single_swap_can_better_the_result(n: int, k: int, seed: int) -> None:
    points, k = _points(n, seed), min(k, n)
    distances = euclidean(points, points)
    medoids = swap_medoids(distances, np.arange(k))
    assert len(set(medoids.tolist())) == k
    reached = distances[medoids].min(axis=0).sum()
    for position in range(k):
        for other in range(n):
            swapped = medoids.copy()
            swapped[position] = other
            assert distances[swapped].min(axis=0).sum() >= reached - 1e-3


def test_deviation_matches_fasterpam() -> None:
    points = _points(600, seed=1)
    medoids = k_medoids(points, 24, seed=0)
    oracle = kmedoids.fasterpam(euclidean(points, points), 24, random_state=0)
    assert total_deviation(points, medoids) <= 1.01 * oracle.loss


def test_samples_of_a_larger_universe_come_close_to_the_whole() -> None:
    points = _points(1200, seed=2)
    whole = total_deviation(points, k_medoids(points, 16, seed=0))
    sampled = total_deviation(points, k_medoids(points, 16, seed=0, sample=300, repeats=3))
    assert whole <= sampled <= 1.1 * whole


def test_medoids_are_distinct_sorted_and_repeat_with_the_seed() -> None:
    points = np.zeros((40, 3))  # all texts alike: still k distinct medoids
    medoids = k_medoids(points, 7, seed=3)
    assert len(set(medoids.tolist())) == 7
    assert medoids.tolist() == sorted(medoids.tolist())
    points = _points(100, seed=5)
    assert np.array_equal(k_medoids(points, 9, seed=4), k_medoids(points, 9, seed=4))


def test_k_above_the_universe_is_an_error() -> None:
    with pytest.raises(InputError, match=r"k is 9; expected at most 8"):
        k_medoids(_points(8, seed=0), 9, seed=0)
