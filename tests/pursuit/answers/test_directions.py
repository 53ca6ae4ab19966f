"""Directions of texts: what they discount."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn.functional import normalize

from infopursuit.datasets.matrix import BLOCK, Matrix, UnitMatrix
from infopursuit.pursuit.answers.directions import (
    CLASS_DISCOUNT,
    CLASS_DISCOUNT_OF_FEW,
    FEW_CLASSES,
    ScoreMap,
    fit_score_map,
    ranked_pairs,
)
from infopursuit.pursuit.answers.moments import class_moments
from tests.pursuit.answers.drawn import drawn, unit


def scatter_within(images: Tensor, labels: Tensor) -> Tensor:
    return class_moments(Matrix(images).blocks(), labels).within


def fitted(universe: Tensor, within: Tensor) -> ScoreMap:
    return fit_score_map(UnitMatrix(universe, "texts"), within, FEW_CLASSES + 1)


def test_the_map_is_the_inverse_of_identity_and_scatters() -> None:
    images, labels = unit(40, 6), torch.arange(40) % 4
    universe = unit(2 * BLOCK + 7, 6, seed=1)  # three blocks
    score_map = fitted(universe, scatter_within(images, labels))
    texts = universe.double()
    centred = texts - texts.mean(dim=0)
    means = torch.stack([images[labels == label].mean(dim=0) for label in range(4)])
    deviations = (images - means[labels]).double()
    total = torch.eye(6, dtype=torch.float64)
    for rows in (centred, deviations):
        scatter = rows.T @ rows
        total += 0.1 * scatter / scatter.diagonal().mean()
    inverse = torch.linalg.inv(total)
    torch.testing.assert_close(score_map.discount.double(), inverse, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(score_map.centre.double(), texts.mean(dim=0), atol=1e-6, rtol=1e-4)


def test_a_score_depends_on_its_own_text_alone_and_discounts_what_texts_share() -> None:
    universe = drawn(500, 6, seed=1)
    universe[:, 0] *= 8  # all texts differ along one direction
    universe = normalize(universe, dim=1)
    score_map = fitted(universe, scatter_within(unit(40, 6), torch.arange(40) % 4))
    together = score_map.directions(universe[:5])
    for row in range(5):
        torch.testing.assert_close(score_map.directions(universe[row : row + 1])[0], together[row])
    torch.testing.assert_close(together.norm(dim=1), torch.ones(5))
    plain = normalize(universe - universe.mean(dim=0), dim=1)
    assert score_map.directions(universe)[:, 0].abs().mean() < 0.95 * plain[:, 0].abs().mean()


def test_the_scatter_within_few_classes_is_discounted_less() -> None:
    universe, within = UnitMatrix(unit(40, 6), "texts"), torch.diag(torch.arange(1.0, 7)).double()
    few, more = (fit_score_map(universe, within, FEW_CLASSES + each) for each in (0, 1))
    scatters = [torch.linalg.inv(each.discount.double()) for each in (few, more)]
    of_images = within / within.diagonal().mean()
    expected = (CLASS_DISCOUNT - CLASS_DISCOUNT_OF_FEW) * of_images
    torch.testing.assert_close(scatters[1] - scatters[0], expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_ranked_pairs_are_the_auroc_of_scikit_learn(seed: int) -> None:
    draw = np.random.default_rng(seed)
    truth, scores = draw.integers(0, 2, 60).astype(float), draw.integers(0, 8, 60) / 8
    for weights in (None, draw.uniform(0.1, 3, 60)):
        right, pairs = ranked_pairs(scores, truth, weights)
        assert right / pairs == pytest.approx(roc_auc_score(truth, scores, sample_weight=weights))
