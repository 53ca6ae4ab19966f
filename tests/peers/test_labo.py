"""LaBo: its score by hand, its greedy choice against brute force, its weights."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from infopursuit.peers.labo import LaBo, discriminability, submodular_order
from tests.peers.planted import planted, unit


def value(told: np.ndarray, close: np.ndarray, chosen: tuple[int, ...], coverage: float) -> float:
    scaled = (told - told.min()) / (told.max() - told.min())
    covered = np.maximum(close[:, list(chosen)].max(axis=1), 0).sum()
    return scaled[list(chosen)].sum() + coverage * covered / len(told)


@pytest.mark.parametrize("coverage", [0.1, 1.0, 10.0])
def test_each_choice_adds_most_and_all_are_near_the_best(coverage: float) -> None:
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
    best = max(value(told, close, each, coverage) for each in combinations(range(9), 4))
    assert value(told, close, tuple(order), coverage) >= (1 - 1 / np.e) * best


def test_a_text_of_one_class_tells_more_than_one_of_all() -> None:
    similar = torch.tensor([[0.3, 0.1, 0.1], [0.2, 0.2, 0.2]])
    shares = np.array([0.6, 0.2, 0.2])
    expected = [(shares * np.log(shares)).sum(), -np.log(3)]
    np.testing.assert_allclose(discriminability(similar).numpy(), expected, rtol=1e-5)


def test_weights_are_shares_of_as_many_texts_as_asked_for() -> None:
    data = planted()
    model = LaBo(data.texts, data.embeddings, pool=8, budgets=(1, 3)).fit(data.X, data.y)
    for count, weights in model.weights_.items():
        torch.testing.assert_close(weights.sum(dim=0), torch.ones(4))
        assert weights.min() >= 0
        assert (weights > 0).sum() <= 4 * count
    assert [int(place) for place in model.weights_[1].argmax(dim=0)] == [0, 1, 2, 3]


def test_given_candidates_are_chosen_from() -> None:
    data = planted()
    told = {name: [f"concept {i}", "noise 0"] for i, name in enumerate(["cat", "dog", "emu"])}
    model = LaBo(data.texts, data.embeddings, told, pool=5, budgets=(2,)).fit(data.X, data.y)
    used = set(model._weights()[:, :3].any(dim=1).nonzero().squeeze(1).tolist())
    fox = set((model._weights()[:, 3] > 0).nonzero().squeeze(1).tolist())
    assert used <= {0, 1, 2, 3, 4} | fox
    assert 3 in fox  # nothing was given for the fox: what is particular to it


def test_training_lowers_the_loss() -> None:
    data = planted(noise=0.6)
    plain = LaBo(data.texts, data.embeddings, updates=0, budgets=(4,)).fit(data.X, data.y)
    trained = LaBo(data.texts, data.embeddings, budgets=(4,)).fit(data.X, data.y)
    labels = np.unique(data.y, return_inverse=True)[1]

    def loss(model: LaBo) -> float:
        return -np.log(model.predict_proba(data.X)[np.arange(len(labels)), labels]).mean()

    assert loss(trained) < 0.8 * loss(plain)
