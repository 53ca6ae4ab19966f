"""Scores: what they discount, on what they depend, and the same from blocks and half precision."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from infopursuit.answers.moments import class_moments
from infopursuit.answers.score_map import ScoreMap, fit_score_map
from infopursuit.datasets.rows import BLOCK, Rows, UnitRows
from tests.answers.drawn import drawn, unit


def scatter_within(images: Tensor, labels: Tensor) -> Tensor:
    return class_moments(Rows(images).blocks(), labels).within


def fitted(universe: Tensor, within: Tensor) -> ScoreMap:
    return fit_score_map(UnitRows(universe, "texts"), within)


def test_a_score_depends_on_its_own_text_alone_and_discounts_what_texts_share() -> None:
    within = scatter_within(unit(40, 6), torch.arange(40) % 4)
    universe = drawn(500, 6, seed=1)
    universe[:, 0] *= 8  # all texts differ along one direction
    universe = normalize(universe, dim=1)
    found = fitted(universe, within)
    together = found.directions(universe[:5])
    for row in range(5):
        torch.testing.assert_close(found.directions(universe[row : row + 1])[0], together[row])
    torch.testing.assert_close(together.norm(dim=1), torch.ones(5))
    plain = normalize(universe - universe.mean(dim=0), dim=1)
    assert found.directions(universe)[:, 0].abs().mean() < 0.95 * plain[:, 0].abs().mean()


def test_what_varies_within_classes_is_discounted() -> None:
    labels = torch.arange(60) % 3
    images = torch.eye(6)[labels] + 0.01 * drawn(60, 6)
    images[:, 5] += drawn(60, seed=1)
    universe = unit(300, 6, seed=2)
    found = fitted(universe, scatter_within(normalize(images, dim=1), labels))
    least = found.discount.diagonal().argmin()
    assert int(least) == 5


def test_the_map_is_the_inverse_of_identity_and_scatters() -> None:
    images, labels = unit(40, 6), torch.arange(40) % 4
    universe = unit(2 * BLOCK + 7, 6, seed=1)  # three blocks
    found = fitted(universe, scatter_within(images, labels))
    texts = universe.double()
    centred = texts - texts.mean(dim=0)
    of_texts = centred.T @ centred
    means = torch.stack([images[labels == label].mean(dim=0) for label in range(4)])
    deviations = (images - means[labels]).double()
    of_images = deviations.T @ deviations
    total = (
        torch.eye(6, dtype=torch.float64)
        + 0.1 * of_texts / of_texts.diagonal().mean()
        + 0.1 * of_images / of_images.diagonal().mean()
    )
    torch.testing.assert_close(
        found.discount.double(), torch.linalg.inv(total), atol=1e-5, rtol=1e-4
    )
    torch.testing.assert_close(found.centre.double(), texts.mean(dim=0), atol=1e-6, rtol=1e-4)


def test_a_universe_in_half_precision_or_mapped_from_disk_gives_the_same_map(tmp_path) -> None:
    within = scatter_within(unit(40, 6), torch.arange(40) % 4)
    universe = unit(500, 6, seed=1)
    half = universe.half()
    np.save(tmp_path / "texts.npy", half.numpy())
    mapped = np.load(tmp_path / "texts.npy", mmap_mode="r")
    whole, halved = fitted(universe, within), fitted(half, within)
    from_disk = fit_score_map(UnitRows(mapped, "texts"), within)
    assert torch.equal(from_disk.discount, halved.discount)
    assert torch.equal(from_disk.centre, halved.centre)
    torch.testing.assert_close(halved.discount, whole.discount, atol=1e-3, rtol=1e-2)


def test_nothing_to_discount_is_the_identity() -> None:
    """One text, and images that equal their class: no scatter, no division by zero."""
    found = fitted(unit(1, 4), torch.zeros(4, 4, dtype=torch.float64))
    assert torch.equal(found.discount, torch.eye(4))
    assert torch.equal(found.directions(unit(1, 4)), torch.zeros(1, 4))
