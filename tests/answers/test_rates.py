"""Rates against counts, and against the Gaussian that scores are drawn from."""

from __future__ import annotations

import pytest
import torch

from infopursuit.answers.moments import class_moments
from infopursuit.answers.rates import LEAST, MOST, count_yes, threshold_rates, yes_rates
from infopursuit.answers.thresholds import fit_thresholds
from infopursuit.datasets.rows import Rows
from tests.answers.drawn import counts, drawn, unit


def test_counts_of_yes_are_those_of_a_loop_in_any_blocks() -> None:
    answers, labels = (drawn(50, 4) > 0).float(), torch.arange(50) % 3
    weights = drawn(50, seed=1).abs().double()
    expected = torch.zeros(3, 4, dtype=torch.float64)
    for row, label, weight in zip(answers, labels, weights, strict=True):
        expected[label] += weight * row
    for size in (7, 50):
        yes, totals = count_yes(Rows(answers).blocks(size), labels, weights)
        torch.testing.assert_close(yes, expected)
        torch.testing.assert_close(totals[:, 0], torch.bincount(labels, weights))


def test_a_weight_is_so_many_equal_images() -> None:
    answers, labels, repeats = (drawn(30, 4) > 0).float(), torch.arange(30) % 3, counts(30)
    rows = torch.arange(30).repeat_interleave(repeats)
    weighted = count_yes([(slice(None), answers)], labels, repeats.double())
    repeated = count_yes([(slice(None), answers[rows])], labels[rows])
    assert torch.equal(weighted[0], repeated[0])
    assert torch.equal(weighted[1], repeated[1])


def test_rates_are_frequencies_drawn_towards_a_half_and_never_certain() -> None:
    yes, totals = torch.tensor([[3.0], [0.0]]), torch.tensor([[4.0], [2.0]])
    assert yes_rates(yes, totals).tolist() == [[pytest.approx(4 / 6)], [0.25]]
    many = yes_rates(torch.tensor([[0.0], [1e6]]), torch.tensor([[1e6], [1e6]]))
    assert many.tolist() == [[pytest.approx(LEAST)], [pytest.approx(MOST)]]


def test_rates_of_scores_are_half_frequency_and_half_gaussian() -> None:
    yes, totals = torch.tensor([[1.0], [3.0]]), torch.tensor([[4.0], [4.0]])
    found = threshold_rates(
        yes, totals, torch.tensor([[-0.5], [1.0]]), torch.ones(1), torch.tensor([0.0])
    )
    for row, gaussian in enumerate((0.3085375, 0.8413447)):
        frequency = (yes[row].item() + 2 * gaussian) / 6
        assert found[row].item() == pytest.approx((frequency + gaussian) / 2)


def test_rates_of_gaussian_scores_are_their_mass_above_the_threshold() -> None:
    labels = torch.arange(4000) % 2
    scores = drawn(4000, 1) + labels.unsqueeze(1)
    counted = count_yes([(slice(None), (scores > 0.5).float())], labels)
    yes, totals = (each.float() for each in counted)
    moments = class_moments(Rows(scores).blocks(), labels)
    axis = torch.ones(1, 1)
    rates = threshold_rates(
        yes, totals, moments.score_means(axis), moments.score_spread(axis), torch.tensor([0.5])
    )
    expected = torch.special.ndtr(torch.tensor([[-0.5], [0.5]]))
    torch.testing.assert_close(rates, expected, atol=0.02, rtol=0)


@pytest.mark.parametrize("seed", range(5))
def test_scores_that_never_differ_within_classes_are_not_told_apart_by_rounding(seed: int) -> None:
    """Each image is its class: a mean at the threshold is neither above nor below it."""
    images, directions = unit(4, 64, seed=seed), unit(9, 64, seed=100 + seed)
    labels = torch.arange(12) % 4
    images = images[labels]
    scores = images @ directions.T
    thresholds = fit_thresholds(scores, labels).values
    counted = count_yes([(slice(None), (scores > thresholds).float())], labels)
    yes, totals = (each.float() for each in counted)
    means = (images[:4].double() @ directions.double().T).float()
    rates = threshold_rates(yes, totals, means, torch.zeros(9), thresholds)
    assert torch.isfinite(rates).all()
    at_threshold = (scores[:4] - thresholds).abs() < 1e-6
    assert at_threshold.any()
    # Nobody says yes: (0 of 3 + 2 times a half) / 5, and a half.
    expected = torch.full_like(rates[at_threshold], (0.2 + 0.5) / 2)
    torch.testing.assert_close(rates[at_threshold], expected, atol=0.02, rtol=0)
