"""A whole weight of an image is this many equal images, in everything that is fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
import torch
from torch import Tensor

from infopursuit.datasets.matrix import Matrix, UnitMatrix
from infopursuit.datasets.table_columns import TableColumns
from infopursuit.pursuit.answers.columns import column_values
from infopursuit.pursuit.answers.directions import TextDirections
from infopursuit.pursuit.answers.moments import class_moments
from infopursuit.pursuit.answers.rules import ThresholdAnswers
from infopursuit.pursuit.answers.table import count_yes
from infopursuit.pursuit.answers.thresholds import fit_graded, fit_thresholds
from infopursuit.pursuit.naive_bayes.fit import fit_table
from tests.pursuit.answers.drawn import counts, drawn, unit

Fit = Callable[[Tensor, Tensor, Tensor | None], Iterable[Tensor]]
TRUTH = (drawn(4, 9, seed=8) > 0).float()


def table(images: Tensor, labels: Tensor, weights: Tensor | None) -> list[Tensor]:
    rule = ThresholdAnswers(unit(9, 6, seed=7), 0.1 * drawn(9))
    moments = class_moments(Matrix(images).blocks(), labels, weights)
    fitted = fit_table(rule, Matrix(images).blocks(), labels, weights, moments)
    return [fitted.log_likelihood, fitted.log_prior]


def directions(images: Tensor, labels: Tensor, weights: Tensor | None) -> Iterable[Tensor]:
    texts, within = unit(9, 6, seed=7), torch.eye(6, dtype=torch.float64)
    fit = TextDirections(UnitMatrix(texts, "texts"), within, 8, lambda rows: TRUTH[:, rows])
    return fit.fitted(torch.arange(9), texts, images, labels, weights)


FITS: dict[str, Fit] = {
    "moments": lambda images, labels, weights: class_moments(
        Matrix(images).blocks(), labels, weights
    ),
    "counts": lambda images, labels, weights: count_yes(
        [(slice(None), (images > 0).float())], labels, weights
    ),
    "thresholds": lambda images, labels, weights: fit_thresholds(images, labels, weights)[:2],
    "five-valued": lambda images, labels, weights: [
        each for each in fit_graded(images, labels, weights) if each is not None
    ],
    "columns": lambda images, _, weights: (
        column_values(images.double(), TableColumns.numbers_only(["x"] * images.shape[1]), weights)
        .tensors()
        .values()
    ),
    "directions": directions,
    "table": table,
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
