from __future__ import annotations

import contextlib
from collections.abc import Iterator
from math import fsum
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from infopursuit.clip import near_duplicates
from infopursuit.clip.near_duplicates import distinct_rows

CPU = torch.device("cpu")


def one_by_one(matrix: np.ndarray, protected: np.ndarray, threshold: float) -> np.ndarray:
    """The rule as it is written, by sums without rounding."""
    kept: list[int] = []
    rows = matrix.astype(np.float64)
    for row, vector in enumerate(rows):
        products = [np.float32(fsum(vector * rows[other])) for other in kept]
        if protected[row] or not any(product >= np.float32(threshold) for product in products):
            kept.append(row)
    return np.isin(np.arange(len(matrix)), kept)


def clustered(seed: int, count: int, centres: int, width: int, noise: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    # Axes of falling weight and a common direction, as embeddings of texts have.
    scale = 1 / np.arange(1, width + 1)
    middles = rng.normal(size=(centres, width)) * scale + np.eye(width)[0]
    rows = middles[rng.integers(0, centres, count)] + noise * scale * rng.normal(
        size=(count, width)
    )
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


SMALL = {"BLOCK": 7, "AGAINST": 5, "PAIRS": 3, "TRIED": 8, "AXES": (1, 2, 3)}


@contextlib.contextmanager
def small_blocks(alone: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**SMALL, "ALONE": alone}.items():
            patch.setattr(near_duplicates, name, value)
        yield


@pytest.mark.parametrize("alone", [0, 100, 10**6])
@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from([-1.5, 0.2, 0.6, 0.95, 1.0]))
def test_blocks_agree_with_one_by_one(alone: int, seed: int, count: int, threshold: float) -> None:
    matrix = clustered(seed, count, 8, 6, 0.2)
    protected = np.random.default_rng(seed).random(count) < 0.2
    with small_blocks(alone):
        found = distinct_rows(matrix, protected, threshold, CPU)
    np.testing.assert_array_equal(found, one_by_one(matrix, protected, threshold))


@pytest.mark.parametrize("alone", [0, 100, 10**6])
@pytest.mark.parametrize("seed", range(20))
def test_a_threshold_that_a_pair_meets_to_the_last_bit(seed: int, alone: int) -> None:
    matrix = clustered(seed, 40, 8, 24, 0.2)
    protected = np.zeros(40, dtype=bool)
    rows = matrix.astype(np.float64)
    met = np.float32(fsum(rows[3] * rows[30]))
    for threshold in (np.nextafter(met, np.float32(-9)), met, np.nextafter(met, np.float32(9))):
        with small_blocks(alone):
            found = distinct_rows(matrix, protected, float(threshold), CPU)
        np.testing.assert_array_equal(found, one_by_one(matrix, protected, float(threshold)))


def test_screening_leaves_out_most_products_and_changes_no_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = clustered(0, 6000, 500, 64, 0.1)
    np.save(tmp_path / "matrix.npy", matrix)
    mapped = np.load(tmp_path / "matrix.npy", mmap_mode="r")
    protected = np.random.default_rng(0).random(len(matrix)) < 0.01
    shares: list[float] = []
    decide = near_duplicates._near

    def watched(rows, others, possible, limit):
        shares.append(float(possible.float().mean()))
        return decide(rows, others, possible, limit)

    monkeypatch.setattr(near_duplicates, "_near", watched)
    screened = distinct_rows(mapped, protected, 0.99, CPU)
    assert np.mean(shares) < 0.02
    monkeypatch.setattr(near_duplicates, "AXES", ())
    np.testing.assert_array_equal(distinct_rows(matrix, protected, 0.99, CPU), screened)
    assert shares[-1] > 0.3
    assert 500 < screened.sum() < 5500


def test_rows_all_alike_leave_one() -> None:
    matrix = np.repeat(clustered(0, 1, 1, 32, 0.1), 3000, axis=0)
    protected = np.zeros(3000, dtype=bool)
    protected[[5, 2500]] = True
    kept = distinct_rows(matrix, protected, 0.99, CPU)
    assert np.flatnonzero(kept).tolist() == [0, 5, 2500]


def test_no_rows_and_float32_rows() -> None:
    none = distinct_rows(np.zeros((0, 4), np.float16), np.zeros(0, dtype=bool), 0.9, CPU)
    assert none.shape == (0,)
    matrix = np.eye(4, dtype=np.float32)[[0, 1, 0, 2, 1]]
    kept = distinct_rows(matrix, np.zeros(5, dtype=bool), 1.0, CPU)
    assert kept.tolist() == [True, True, False, True, False]
