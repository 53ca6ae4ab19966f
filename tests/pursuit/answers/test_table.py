"""Rates, evidence, information and moments of classes against loops."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from infopursuit.datasets.matrix import Matrix
from infopursuit.pursuit.answers.gain import entropy, information_gain
from infopursuit.pursuit.answers.moments import ClassMoments, class_moments
from infopursuit.pursuit.answers.table import LEAST_OF_MANY, AnswerTable, answer_probabilities
from tests.pursuit.answers.drawn import drawn, unit

K, C = 7, 4
LEVELS = pytest.mark.parametrize("levels", [2, 3, 4])


def table(levels: int, independent_answers: float = 3.0) -> AnswerTable:
    likelihood = drawn(levels, K, C).double().log_softmax(dim=0)
    return AnswerTable(
        likelihood, drawn(C, seed=1).double().log_softmax(dim=0), independent_answers
    )


@LEVELS
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_between_two_levels_an_answer_is_one_of_them_or_the_other(
    levels: int, share: float
) -> None:
    of = table(levels)
    given = torch.full((1, K), share / (levels - 1), dtype=torch.float64)
    low, high = of.log_likelihood[:2].exp()
    expected = ((1 - share) * low + share * high).log()
    torch.testing.assert_close(of.log_likelihood_of(torch.arange(K), given[0]), expected)
    mask = torch.ones(1, K).double()
    torch.testing.assert_close(of.evidence(given, mask)[0], of.log_prior + expected.sum(dim=0))


def test_probabilities_of_three_answers_sum_to_one_and_none_is_impossible() -> None:
    not_no, yes = torch.tensor([[0.9, 0.4]]), torch.tensor([[0.3, 0.4]])
    found = answer_probabilities(not_no, yes)
    torch.testing.assert_close(found.sum(dim=0), torch.ones(2, 1))
    torch.testing.assert_close(found[:, 0, 0], torch.tensor([0.1, 0.6, 0.3]))
    assert found[1, 1, 0].item() == pytest.approx(LEAST_OF_MANY / (1 + LEAST_OF_MANY))
    torch.testing.assert_close(answer_probabilities(yes)[:, 0, 0], torch.tensor([0.7, 0.3]))


def test_an_answer_never_given_is_not_nan_and_one_that_all_give_tells_nothing() -> None:
    likelihood = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]], [[0.0, 0.0]]])
    gains = information_gain(torch.full((1, 2), 0.5), likelihood, entropy(likelihood))
    torch.testing.assert_close(gains, torch.full((1, 1), math.log(2)))
    alike = torch.tensor([0.2, 0.5, 0.3]).view(3, 1, 1).expand(3, 2, 4)
    gains = information_gain(torch.full((1, 4), 0.25), alike, entropy(alike))
    torch.testing.assert_close(gains, torch.zeros(1, 2), atol=1e-6, rtol=0)


def slowly(images: Tensor, labels: Tensor, weights: Tensor) -> ClassMoments:
    """One image at a time."""
    images, classes, width = images.double(), int(labels.max()) + 1, images.shape[1]
    totals = torch.zeros(classes, dtype=torch.float64)
    means = torch.zeros(classes, width, dtype=torch.float64)
    for image, label, weight in zip(images, labels, weights, strict=True):
        totals[label] += weight
        means[label] += weight * image
    means /= totals[:, None]
    within = torch.zeros(width, width, dtype=torch.float64)
    for image, label, weight in zip(images, labels, weights, strict=True):
        deviation = image - means[label]
        within += weight * torch.outer(deviation, deviation)
    return ClassMoments(totals, means, within / totals.sum())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block", [8, 100])
def test_moments_are_means_and_the_scatter_within_classes(weighted: bool, block: int) -> None:
    images, labels = unit(53, 6), torch.arange(53) % 4
    weights = drawn(53, seed=1).abs().double() if weighted else torch.ones(53).double()
    found = class_moments(Matrix(images).blocks(block), labels, weights if weighted else None)
    for one, other in zip(found, slowly(images, labels, weights), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


def test_one_image_of_a_class_says_nothing_of_the_scatter_around_it() -> None:
    single = class_moments(Matrix(unit(4, 6)).blocks(), torch.arange(4))
    scatter = single.discounted
    torch.testing.assert_close(scatter, scatter[0, 0] * torch.eye(len(scatter)).double())
    assert single.prior.tolist() == [0.25] * 4
    assert single.prior.dtype == torch.float32
