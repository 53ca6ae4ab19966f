"""Texts and images of two spaces, or texts in another order, are told."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ortho_group

from infopursuit import InformationPursuitClassifier
from infopursuit.datasets.embedding_files import read_embedded_texts, read_embeddings

REAL = Path(__file__).parents[2] / "../shared/data"
SETS = {
    "clip_vitb32": ["caltech101", "food10", "oxford_pets"],
    "clip_rn50": ["caltech101"],
    "derm7pt_monet": ["images"],
}
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


WRONG = [(rotated, "do not seem to be of one CLIP"), (shuffled, "rank the images of these classes")]


def fit(X: np.ndarray, y: np.ndarray, texts: list[str], T: np.ndarray) -> None:
    InformationPursuitClassifier(texts, T, n_queries=8).fit(X, y)


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_other_spaces_and_orders_are_told(wrong: Callable, message: str) -> None:
    X, y, texts, T = one_space()
    fit(X, y, texts, T)  # warnings are errors
    with pytest.warns(UserWarning, match=message):
        fit(X, y, texts, wrong(T, 0))


@pytest.mark.slow
@pytest.mark.parametrize(("space", "name"), [(s, n) for s, names in SETS.items() for n in names])
def test_on_real_embeddings(space: str, name: str) -> None:
    if not REAL.is_dir():
        pytest.skip("no real embeddings here")
    train, _ = read_embeddings(REAL / space / f"{name}.parquet", None)
    texts, T, _ = read_embedded_texts(REAL / space / "texts.parquet")
    X, y, T = train.rows, train.labels, np.asarray(T, np.float32)
    T = T / np.linalg.norm(T, axis=1, keepdims=True)
    fit(X, y, texts, T)
    for seed in range(3):
        with pytest.warns(UserWarning, match=WRONG[0][1]):
            fit(X, y, texts, rotated(T, seed))
    named = (space, name) not in {("clip_vitb32", "oxford_pets"), ("derm7pt_monet", "images")}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(X, y, texts, shuffled(T, 0))
    assert [WRONG[1][1] in str(each.message) for each in caught] == [True] * named
