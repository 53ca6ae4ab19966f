"""Linear peers against scikit-learn, by hand, and by what the authors optimise."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from infopursuit_study.peers.linear import LaBo, ZeroShot, submodular_order, without_duplicates
from tests.planted import NAMES, planted, unit


def test_near_duplicates_of_earlier_texts_are_dropped() -> None:
    rows = torch.from_numpy(unit(np.array([[1, 0], [1, 0.1], [0, 1], [1, 0.5], [0.1, 1]])))
    assert without_duplicates(rows, 0.9).tolist() == [0, 2, 3]
    assert without_duplicates(rows, 0.8).tolist() == [0, 2]


def value(told: np.ndarray, close: np.ndarray, chosen: tuple[int, ...], coverage: float) -> float:
    scaled = (told - told.min()) / (told.max() - told.min())
    covered = np.maximum(close[:, list(chosen)].max(axis=1), 0).sum()
    return scaled[list(chosen)].sum() + coverage * covered / len(told)


@pytest.mark.parametrize("coverage", [0.1, 1.0, 10.0])
def test_each_choice_adds_most(coverage: float) -> None:
    draw = np.random.default_rng(1)
    texts, told = unit(draw.normal(size=(9, 5)) + 1), draw.random(9)
    close = texts @ texts.T
    order = submodular_order(
        torch.from_numpy(told).float(), torch.from_numpy(texts), coverage, 4
    ).tolist()
    for step in range(1, 5):
        gains = [
            value(told, close, (*order[: step - 1], text), coverage)
            if text not in order[: step - 1]
            else -1
            for text in range(9)
        ]
        assert gains[order[step - 1]] == pytest.approx(max(gains), abs=1e-5)


def test_weights_are_shares_of_as_many_texts_as_asked_for() -> None:
    data = planted()
    described = {name: [f"concept {i}", "noise 0", "noise 1"] for i, name in enumerate(NAMES[:4])}
    model = LaBo(data.texts, data.embeddings, described, budgets=(1, 3)).fit(data.X, data.y)
    for count, weights in model.weights_.items():
        torch.testing.assert_close(weights.sum(dim=0), torch.ones(4))
        assert weights.min() >= 0
        assert (weights > 0).sum() <= 4 * count
    assert [int(place) for place in model.weights_[1].argmax(dim=0)] == [0, 1, 2, 3]


def test_the_score_is_a_hundred_times_the_cosine_with_the_name() -> None:
    data = planted()
    rows = [2, 0, 3, 1]  # names need not be sorted
    model = ZeroShot([NAMES[row] for row in rows], data.embeddings[rows]).fit(data.X, data.y)
    expected = 100 * data.X_test @ data.embeddings[:4].T
    np.testing.assert_allclose(model.decision_function(data.X_test), expected, rtol=1e-4)
