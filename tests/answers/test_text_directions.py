"""The direction of each text is the one that ranks the training images best."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn.functional import normalize

from infopursuit.answers.moments import class_moments
from infopursuit.answers.score_map import fit_score_map, fit_score_maps
from infopursuit.answers.text_directions import STRENGTHS, TextDirections
from infopursuit.datasets.rows import Rows, UnitRows
from tests.answers.drawn import drawn

CLASSES = 6
ROWS = torch.arange(20)
# Text 4 is true of no class, text 5 of all; of text 6 one class is not known, of text 7 nothing.
TRUTH = torch.tensor(np.random.default_rng(3).integers(0, 2, (CLASSES, 20))).float()
TRUTH[:, 4], TRUTH[:, 5], TRUTH[2, 6], TRUTH[:, 7] = 0, 1, torch.nan, torch.nan
TRUTH[0, 6], TRUTH[1, 6] = 1, 0


def drawn_world() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Texts, images, labels, and the scatter of images within classes."""
    labels = torch.arange(180) % CLASSES
    images = normalize(drawn(CLASSES, 16)[labels] + 0.7 * drawn(180, 16, seed=1), dim=1)
    within = class_moments(Rows(images).blocks(), labels).within
    return normalize(drawn(20, 16, seed=2) + 0.5, dim=1), images, labels, within


def test_of_all_strengths_the_one_with_the_largest_auroc() -> None:
    texts, images, labels, within = drawn_world()
    universe = UnitRows(texts, "texts")
    fit = TextDirections(universe, within, lambda rows: TRUTH[:, rows])
    found = fit.fitted(ROWS, texts, images, labels)
    maps = fit_score_maps(universe, within, STRENGTHS)
    chosen = set()
    for row in ROWS.tolist():
        truth = TRUTH[labels, row].numpy()
        known = ~np.isnan(truth)
        if len(set(truth[known])) < 2:
            assert found.auroc[row].isnan()
            assert torch.equal(found.values[row], maps[0].directions(texts)[row])
            continue
        scores = [(images @ each.directions(texts)[row]).numpy() for each in maps]
        shares = [roc_auc_score(truth[known], each[known]) for each in scores]
        assert found.auroc[row].item() == np.float32(max(shares))
        chosen.add(int(np.argmax(shares)))
        best = maps[int(np.argmax(shares))].directions(texts)[row]
        torch.testing.assert_close(found.values[row], best)
    assert len(chosen) > 2  # else a fixed strength would pass


def test_weights_of_images_count() -> None:
    texts, images, labels, within = drawn_world()
    fit = TextDirections(UnitRows(texts, "texts"), within, lambda rows: TRUTH[:, rows])
    twice = torch.cat([torch.arange(180), torch.arange(60)])
    weights = torch.ones(180, dtype=torch.float64)
    weights[:60] = 2
    weighted = fit.fitted(ROWS, texts, images, labels, weights)
    repeated = fit.fitted(ROWS, texts, images[twice], labels[twice])
    torch.testing.assert_close(weighted.auroc, repeated.auroc, equal_nan=True)
    assert torch.equal(weighted.values, repeated.values)


def test_where_nothing_is_known_directions_are_the_usual_ones() -> None:
    texts, images, labels, within = drawn_world()
    universe = UnitRows(texts, "texts")
    found = TextDirections(universe, within).fitted(ROWS, texts, images, labels)
    assert torch.equal(found.values, fit_score_map(universe, within).directions(texts))
    assert found.auroc.isnan().all()
