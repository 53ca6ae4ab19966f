"""Directions of texts: what they discount, and that each ranks the training images best."""

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
    OTHER_STRENGTHS,
    ScoreMap,
    TextDirections,
    fit_score_map,
    fit_score_maps,
    ranked_pairs,
    score_scatter,
    usual_strength,
)
from infopursuit.pursuit.answers.moments import class_moments
from tests.pursuit.answers.drawn import drawn, unit

CLASSES = 6
ROWS = torch.arange(20)
# Text 4 is true of no class, text 5 of all; of text 6 one class is not known, of text 7 nothing.
TRUTH = torch.tensor(np.random.default_rng(3).integers(0, 2, (CLASSES, 20))).float()
TRUTH[:, 4], TRUTH[:, 5], TRUTH[2, 6], TRUTH[:, 7] = 0, 1, torch.nan, torch.nan
TRUTH[0, 6], TRUTH[1, 6] = 1, 0


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


def test_the_scatter_of_scores_is_their_variance_relative_to_the_mean_text() -> None:
    images, labels = unit(40, 6), torch.arange(40) % 4
    universe = unit(2 * BLOCK + 7, 6, seed=1)
    total = class_moments(Matrix(images).blocks(), labels).total
    scores = images.double() @ (universe.double() - universe.double().mean(dim=0)).T
    expected = scores.var(dim=0).mean().item()
    assert score_scatter(UnitMatrix(universe, "texts"), total) == pytest.approx(expected, rel=1e-4)


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


@pytest.mark.parametrize("known", [True, False])
def test_each_text_has_the_strength_with_the_largest_auroc(known: bool) -> None:
    labels = torch.arange(180) % CLASSES
    images = normalize(drawn(CLASSES, 16)[labels] + 0.7 * drawn(180, 16, seed=1), dim=1)
    within, texts = scatter_within(images, labels), normalize(drawn(20, 16, seed=2) + 0.5, dim=1)
    universe = UnitMatrix(texts, "texts")
    fit = TextDirections(
        universe, within, CLASSES, (lambda rows: TRUTH[:, rows]) if known else None
    )
    directions = fit.fitted(ROWS, texts, images, labels)
    maps = fit_score_maps(universe, within, [usual_strength(CLASSES), *OTHER_STRENGTHS])
    chosen = set()
    for row in ROWS.tolist():
        truth = TRUTH[labels, row].numpy()
        where = ~np.isnan(truth)
        if not known or len(set(truth[where])) < 2:
            assert directions.auroc[row].isnan()
            assert torch.equal(directions.values[row], maps[0].directions(texts)[row])
            continue
        scores = [(images @ each.directions(texts)[row]).numpy() for each in maps]
        shares = [roc_auc_score(truth[where], each[where]) for each in scores]
        assert directions.auroc[row].item() == np.float32(max(shares))
        best = int(np.argmax(shares))
        torch.testing.assert_close(directions.values[row], maps[best].directions(texts)[row])
        chosen.add(best)
    assert not known or len(chosen) > 2  # else a fixed strength would pass


@pytest.mark.parametrize("seed", range(5))
def test_ranked_pairs_are_the_auroc_of_scikit_learn(seed: int) -> None:
    draw = np.random.default_rng(seed)
    truth, scores = draw.integers(0, 2, 60).astype(float), draw.integers(0, 8, 60) / 8
    for weights in (None, draw.uniform(0.1, 3, 60)):
        right, pairs = ranked_pairs(scores, truth, weights)
        assert right / pairs == pytest.approx(roc_auc_score(truth, scores, sample_weight=weights))
