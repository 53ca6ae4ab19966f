"""Moments of classes against loops over images in double precision."""

from __future__ import annotations

import torch
from torch import Tensor

from infopursuit.answers.moments import ClassMoments, class_moments
from infopursuit.datasets.rows import Rows
from tests.answers.drawn import counts, drawn, unit


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


def close(found: ClassMoments, expected: ClassMoments) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


def test_moments_are_means_and_the_scatter_within_classes() -> None:
    images, labels = unit(50, 6), torch.arange(50) % 4
    weights = drawn(50, seed=1).abs().double()
    close(class_moments(Rows(images).blocks(), labels), slowly(images, labels, torch.ones(50)))
    close(class_moments(Rows(images).blocks(), labels, weights), slowly(images, labels, weights))


def test_blocks_give_the_moments_of_the_whole() -> None:
    images, labels = unit(53, 6), torch.arange(53) % 4
    weights = drawn(53, seed=1).abs().double()
    whole = class_moments(Rows(images).blocks(), labels, weights)
    close(class_moments(Rows(images).blocks(8), labels, weights), whole)


def test_a_weight_is_so_many_equal_images() -> None:
    images, labels, repeats = unit(30, 5), torch.arange(30) % 3, counts(30)
    weighted = class_moments(Rows(images).blocks(), labels, repeats.double())
    rows = torch.arange(30).repeat_interleave(repeats)
    close(class_moments(Rows(images[rows]).blocks(), labels[rows]), weighted)


def test_means_and_spread_of_scores_are_those_of_the_scores() -> None:
    images, labels, directions = unit(40, 6), torch.arange(40) % 4, unit(7, 6, seed=2)
    moments = class_moments(Rows(images).blocks(), labels)
    scores = images.double() @ directions.double().T
    means = torch.stack([scores[labels == label].mean(dim=0) for label in range(4)])
    spread = (scores - means[labels]).square().mean(dim=0).sqrt()
    torch.testing.assert_close(moments.score_means(directions), means.float())
    torch.testing.assert_close(moments.score_spread(directions), spread.float())
    assert moments.prior.tolist() == [0.25] * 4
    assert moments.prior.dtype == torch.float32


def test_scores_that_never_differ_have_no_spread_and_no_nan() -> None:
    images = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    moments = class_moments(Rows(images).blocks(), torch.tensor([0, 0, 1]))
    assert moments.score_spread(torch.eye(2)).tolist() == [0.0, 0.0]
