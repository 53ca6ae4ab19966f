"""A whole weight of an image is this many equal images, in everything that is fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
import torch
from torch import Tensor

from infopursuit.datasets.matrix import Matrix
from infopursuit.datasets.table_columns import TableColumns
from infopursuit.pursuit.answers.columns import column_values
from infopursuit.pursuit.answers.moments import class_moments
from infopursuit.pursuit.answers.table import count_yes
from infopursuit.pursuit.gaussian.fit import ScoreMoments, level_answers
from tests.pursuit.answers.drawn import counts, unit

Fit = Callable[[Tensor, Tensor, Tensor | None], Iterable[Tensor]]


def scores(images: Tensor, labels: Tensor, weights: Tensor | None) -> Iterable[Tensor]:
    moments = ScoreMoments.of(class_moments(Matrix(images).blocks(), labels, weights))
    counted = torch.ones(len(images)).double() if weights is None else weights
    directions, levels = unit(9, 6, seed=7), torch.tensor([-0.2, 0.1, 0.3]).repeat(9, 1)
    rule = level_answers(directions, images @ directions.T, levels, counted)
    # What few images say of a word does not count, and repeats are more images.
    return [*rule.tensors().values(), *moments.statistics(rule)]


FITS: dict[str, Fit] = {
    "moments": lambda images, labels, weights: class_moments(
        Matrix(images).blocks(), labels, weights
    ),
    "counts": lambda images, labels, weights: count_yes(
        [(slice(None), (images > 0).float())], labels, weights
    ),
    "columns": lambda images, _, weights: (
        column_values(images.double(), TableColumns.numbers_only(["x"] * images.shape[1]), weights)
        .tensors()
        .values()
    ),
    "scores": scores,
}


@pytest.mark.parametrize("images", [90, 170])
@pytest.mark.parametrize("name", FITS)
def test_a_whole_weight_is_this_many_images(name: str, images: int) -> None:
    fit, labels, repeats = FITS[name], torch.arange(images) % 4, counts(images)
    shown = unit(images, 6) + 0.2 * torch.eye(6)[labels]
    rows = torch.arange(images).repeat_interleave(repeats)
    weighted = list(fit(shown, labels, repeats.double()))
    for one, other in zip(weighted, fit(shown[rows], labels[rows], None), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5, equal_nan=True)
    ones = torch.ones(images, dtype=torch.float64)
    unweighted = list(fit(shown, labels, None))
    for one, other in zip(fit(shown, labels, ones), unweighted, strict=True):
        torch.testing.assert_close(one, other, equal_nan=True)
    assert any(
        not torch.allclose(a, b, equal_nan=True) for a, b in zip(weighted, unweighted, strict=True)
    )
