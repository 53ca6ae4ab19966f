"""Thresholds against a search over all shares of yes, query by query."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from infopursuit.answers.information import entropy, information_gain
from infopursuit.answers.thresholds import ALMOST, COLUMNS, SHARES_OF_YES, fit_thresholds
from tests.answers.drawn import counts, drawn


def gain(prior: Tensor, rates: Tensor) -> float:
    """What yes and no tell, of rates (c,) of yes."""
    likelihood = torch.stack([1 - rates, rates]).unsqueeze(1)
    return information_gain(prior[None], likelihood, entropy(likelihood)).item()


def told_slowly(scores: Tensor, labels: Tensor) -> dict[float, float]:
    """The information of each threshold to choose from, for the scores (n,) of one query."""
    totals = torch.bincount(labels)
    told = {}
    for share in SHARES_OF_YES:
        value = scores.sort().values[
            min(round((1 - share) * 20) * len(scores) // 20, len(scores) - 1)
        ]
        yes = torch.bincount(labels, (scores > value).double())
        told[float(value)] = gain(totals / totals.sum(), ((yes + 0.5) / (totals + 1)).float())
    return told


@pytest.mark.parametrize("images", [90, 400, 411])
def test_of_thresholds_that_tell_almost_the_most_the_one_with_fewest_yes_is_taken(
    images: int,
) -> None:
    labels = torch.arange(images) % 4
    scores = drawn(images, 30) + 0.5 * (labels.unsqueeze(1) == torch.arange(30) % 4)
    found = fit_thresholds(scores, labels)
    fewer = 0
    for column in range(30):
        told = told_slowly(scores[:, column], labels)
        enough = [value for value, gain in told.items() if gain >= ALMOST * max(told.values())]
        assert found.values[column].item() == max(enough)
        assert found.information[column].item() == pytest.approx(told[max(enough)], abs=1e-6)
        fewer += max(enough) > max(told, key=told.__getitem__)
    assert fewer > 0


def test_thresholds_are_the_most_informative_and_at_most_half_say_yes() -> None:
    labels = torch.arange(60) % 3
    scores = drawn(60, 4) * 0.1
    scores[:, 0] += (labels == 1).float()  # a third of the images
    found = fit_thresholds(scores, labels)
    yes = scores > found.values
    assert torch.equal(yes[:, 0], labels == 1)
    assert (yes.float().mean(dim=0) <= 0.5).all()
    expected = gain(torch.full((3,), 1 / 3), torch.tensor([0.5 / 21, 20.5 / 21, 0.5 / 21]))
    assert found.information[0].item() == pytest.approx(expected)
    assert (found.information[1:] < found.information[0]).all()


@pytest.mark.parametrize("images", [90, 170, 200])
def test_a_weight_of_one_is_none_and_a_weight_of_two_a_repeat(images: int) -> None:
    labels, repeats = torch.arange(images) % 5, counts(images)
    scores = drawn(images, 9) + 0.5 * (labels.unsqueeze(1) == torch.arange(9) % 5)
    plain = fit_thresholds(scores, labels)
    ones = fit_thresholds(scores, labels, torch.ones(images, dtype=torch.float64))
    assert torch.equal(plain.values, ones.values)
    torch.testing.assert_close(plain.information, ones.information)
    weighted = fit_thresholds(scores, labels, repeats.double())
    rows = torch.arange(images).repeat_interleave(repeats)
    repeated = fit_thresholds(scores[rows], labels[rows])
    assert torch.equal(weighted.values, repeated.values)
    torch.testing.assert_close(weighted.information, repeated.information)


def test_blocks_of_queries_are_as_the_queries_alone() -> None:
    labels = torch.arange(50) % 3
    scores = drawn(50, COLUMNS + 3)
    found = fit_thresholds(scores, labels)
    for some in (slice(0, 2), slice(COLUMNS - 1, COLUMNS + 3)):
        alone = fit_thresholds(scores[:, some], labels)
        assert torch.equal(found.values[some], alone.values)
        assert torch.equal(found.information[some], alone.information)


def test_scores_that_never_differ_answer_no_and_tell_nothing() -> None:
    labels = torch.arange(12) % 3
    for weights in (None, torch.rand(12).double() + 0.1):
        found = fit_thresholds(torch.full((12, 2), 0.3), labels, weights)
        assert not (torch.full((1, 2), 0.3) > found.values).any()
        assert torch.isfinite(found.information).all()
        assert (found.information < 0.02).all()  # half an image of each answer is added


def test_equal_scores_answer_alike() -> None:
    """Three values only: thresholds are values, and no threshold lets more than half say yes."""
    labels = torch.arange(30) % 3
    scores = (labels == 2).float().unsqueeze(1) + (labels == 1).float().unsqueeze(1) / 2
    found = fit_thresholds(scores, labels)
    assert found.values.tolist() == [0.5]
    assert torch.equal((scores > found.values)[:, 0], labels == 2)


def test_one_image_has_a_threshold() -> None:
    found = fit_thresholds(torch.tensor([[0.2, -1.0]]), torch.tensor([0]))
    assert found.values.tolist() == pytest.approx([0.2, -1.0])
