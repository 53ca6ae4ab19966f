"""Texts and images of two spaces, or texts in another order, are told."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import ortho_group

from infopursuit import InformationPursuitClassifier

D, CLASSES = 128, 6
NAMES = [f"kind {number}" for number in range(CLASSES)]


def one_space(seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[str], np.ndarray]:
    """Images of six classes, and texts of which six name them; both keep to their own side."""
    rng = np.random.default_rng(seed)
    sides, centers = rng.normal(size=(2, D)), rng.normal(size=(60, D))
    sides[1] += 0.5 * sides[0]
    y = np.repeat(np.arange(CLASSES), 30)
    X = 2 * sides[0] + centers[y] + rng.normal(size=(len(y), D))
    T = 2 * sides[1] + centers + 0.3 * rng.normal(size=centers.shape)
    texts = [*NAMES, *(f"thing {number}" for number in range(CLASSES, 60))]
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (X, T)]
    return unit[0], np.array(NAMES)[y], texts, unit[1]


def rotated(T: np.ndarray, seed: int) -> np.ndarray:
    return T @ ortho_group.rvs(T.shape[1], random_state=seed)


def shuffled(T: np.ndarray, seed: int) -> np.ndarray:
    return T[np.random.default_rng(seed).permutation(len(T))]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [(rotated, "do not seem to be of one CLIP"), (shuffled, "rank the images of these classes")],
)
def test_other_spaces_and_orders_are_told(wrong: Callable, message: str) -> None:
    X, y, texts, T = one_space()
    InformationPursuitClassifier(texts, T, n_queries=8).fit(X, y)  # warnings are errors
    numbers = np.array([name.split()[1] for name in y])  # they name nothing
    InformationPursuitClassifier(texts, shuffled(T, 0), n_queries=8).fit(X, numbers)
    with pytest.warns(UserWarning, match=message):
        InformationPursuitClassifier(texts, wrong(T, 0), n_queries=8).fit(X, y)
