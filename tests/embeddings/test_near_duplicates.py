from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.embeddings import near_duplicates
from infopursuit.embeddings.near_duplicates import distinct_rows


def one_by_one(matrix: np.ndarray, protected: np.ndarray, threshold: float) -> np.ndarray:
    kept: list[int] = []
    for row, vector in enumerate(matrix.astype(np.float32)):
        near = any(vector @ matrix[other].astype(np.float32) >= threshold for other in kept)
        if protected[row] or not near:
            kept.append(row)
    return np.isin(np.arange(len(matrix)), kept)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from([0.2, 0.6, 0.95]))
def test_blocks_agree_with_one_by_one(seed: int, count: int, threshold: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_duplicates, "BLOCK", 7)
        patch.setattr(near_duplicates, "AGAINST", 5)
        rng = np.random.default_rng(seed)
        centres = rng.normal(size=(8, 6))
        matrix = centres[rng.integers(0, 8, count)] + 0.2 * rng.normal(size=(count, 6))
        matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float16)
        protected = rng.random(count) < 0.2
        found = distinct_rows(matrix, protected, threshold, torch.device("cpu"))
    np.testing.assert_array_equal(found, one_by_one(matrix, protected, threshold))
