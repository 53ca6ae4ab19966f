"""No, not sure and yes: the two thresholds against a search by loops, query by query."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from infopursuit.answers.rates import LEAST_OF_THREE, answer_probabilities
from infopursuit.answers.rules import ThresholdAnswers
from infopursuit.answers.thresholds import (
    ALMOST,
    COLUMNS,
    FINE_SHARES,
    PART_OF_A_CLASS,
    PURE,
    UPPER,
    ThresholdFit,
    fit_three_valued,
)
from tests.answers.drawn import counts, drawn


def information(counts_of: list[list[float]], totals: list[int]) -> float:
    """Mutual information of answer and class; counts_of[class][answer], half an image of each."""
    answers = len(counts_of[0])
    rates = [
        [(each + 0.5) / (total + answers / 2) for each in row]
        for row, total in zip(counts_of, totals, strict=True)
    ]
    prior = [total / sum(totals) for total in totals]
    mean = [sum(p * row[a] for p, row in zip(prior, rates, strict=True)) for a in range(answers)]

    def entropy(p: list[float]) -> float:
        return -sum(each * math.log(each) for each in p if each > 0)

    return entropy(mean) - sum(p * entropy(row) for p, row in zip(prior, rates, strict=True))


def binary_entropy(p: float) -> float:
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


def search(scores: Tensor, labels: Tensor, true_share: float | None) -> tuple[float, float, float]:
    """Lower and upper threshold of one query (n,), and what the three answers tell."""
    c = int(labels.max()) + 1
    totals = torch.bincount(labels).tolist()
    ordered = scores.sort().values
    candidates = []
    for share in FINE_SHARES:
        place = min(int((1 - share) * len(scores) + 1e-6), len(scores) - 1)
        value = float(ordered[place])
        yes = [int((scores[labels == label] > value).sum()) for label in range(c)]
        told = information([[n - y, y] for y, n in zip(yes, totals, strict=True)], totals)
        smooth = sum(
            n / sum(totals) * (y + 0.5) / (n + 1) for y, n in zip(yes, totals, strict=True)
        )
        candidates.append((share, value, told, told / binary_entropy(smooth), yes))
    most = max(each[2] for each in candidates)
    usual = [i for i, each in enumerate(candidates) if each[0] >= 0.05]
    best = max(candidates[i][2] for i in usual)
    informative = max(i for i in usual if candidates[i][2] >= ALMOST * best)
    whole = [i for i, each in enumerate(candidates) if each[0] >= PART_OF_A_CLASS / c or i == 0]
    sound = [i for i in whole if candidates[i][2] >= PURE * most]
    pure = max(sound, key=lambda i: (candidates[i][3], -i))
    low = min(informative, pure)
    high = max(max(i for i in whole if candidates[i][2] >= UPPER * most), pure)
    if true_share is not None and true_share > 0:
        wanted = math.log(true_share)
        high = min(
            range(len(candidates)), key=lambda i: (abs(math.log(candidates[i][0]) - wanted), i)
        )
        low = min(low, high)
    high = max(low, high)
    three = [
        [n - not_no, not_no - yes, yes]
        for not_no, yes, n in zip(candidates[low][4], candidates[high][4], totals, strict=True)
    ]
    return candidates[low][1], candidates[high][1], information(three, totals)


def problem(images: int = 411, classes: int = 8) -> tuple[Tensor, Tensor]:
    """Scores of 24 queries: of one class, of three classes, and of none."""
    labels = torch.arange(images) % classes
    scores = drawn(images, 24)
    scores[:, :8] += 3 * (labels.unsqueeze(1) == torch.arange(8)).float()
    scores[:, 8:16] += 2 * (labels < 3).float().unsqueeze(1)
    return scores, labels


@pytest.mark.parametrize("images", [90, 411])
@pytest.mark.parametrize("known", [False, True])
def test_both_thresholds_are_those_of_a_search(images: int, known: bool) -> None:
    scores, labels = problem(images)
    shares = torch.tensor([0.125] * 8 + [0.375] * 8 + [0.0, math.nan] * 4) if known else None
    found = fit_three_valued(scores, labels, None, shares)
    assert found.upper is not None
    apart = 0
    for column in range(24):
        share = None if shares is None or shares[column].isnan() else float(shares[column])
        low, high, told = search(scores[:, column], labels, share)
        assert found.values[column].item() == low
        assert found.upper[column].item() == high
        assert found.information[column].item() == pytest.approx(told, abs=1e-5)
        apart += low < high
    assert apart > 8


def test_yes_is_said_of_one_class_where_a_query_names_it() -> None:
    """Half of the images may say yes, and one class in forty is meant."""
    labels = torch.arange(2000) % 40
    scores = drawn(2000, 1)
    scores[:, 0] += 8 * (labels == 7).float() + 0.8 * (labels < 20).float()
    found = fit_three_valued(scores, labels)
    assert found.upper is not None
    yes = scores[:, 0] > found.upper
    assert (labels[yes] == 7).all()
    assert yes[labels == 7].float().mean() >= PART_OF_A_CLASS


def test_the_share_of_yes_follows_what_is_known() -> None:
    scores, labels = problem(2000)
    for share in (0.1, 0.25, 0.5):
        found = fit_three_valued(scores, labels, None, torch.full((24,), share))
        assert found.upper is not None
        said = (scores > found.upper).float().mean(dim=0)
        assert ((said > 0.8 * share) & (said < 1.2 * share)).all()


def test_whole_weights_are_repeated_images_and_blocks_do_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores, labels = problem(120)
    repeats = counts(120)
    rows = torch.arange(120).repeat_interleave(repeats)
    weighted = fit_three_valued(scores, labels, repeats.double())
    repeated = fit_three_valued(scores[rows], labels[rows])
    shares = torch.linspace(0, 0.5, 24)
    whole = fit_three_valued(scores, labels, None, shares)
    monkeypatch.setattr("infopursuit.answers.thresholds.COLUMNS", 7)
    in_blocks = fit_three_valued(scores, labels, None, shares)
    assert COLUMNS > 24
    for a, b in zip((*weighted, *whole), (*repeated, *in_blocks), strict=True):
        torch.testing.assert_close(a, b)


def test_a_fit_takes_the_shares_of_its_own_texts() -> None:
    scores, labels = problem()
    shares = torch.rand(100, generator=torch.Generator().manual_seed(0))
    rows = torch.arange(0, 96, 4)
    found = ThresholdFit(True, shares).of(rows, scores, labels)
    expected = fit_three_valued(scores, labels, None, shares[rows])
    for a, b in zip(found, expected, strict=True):
        assert torch.equal(a, b)
    assert ThresholdFit(False, shares).of(rows, scores, labels).upper is None


def test_one_class_or_equal_scores_give_finite_thresholds() -> None:
    for labels in (torch.zeros(12, dtype=torch.long), torch.arange(12) % 3):
        found = fit_three_valued(torch.full((12, 2), 0.3), labels)
        for each in found:
            assert each is not None
            assert torch.isfinite(each).all()
        assert found.information.abs().amax() < 0.05


def test_not_sure_is_between_the_thresholds() -> None:
    rule = ThresholdAnswers(torch.eye(3), torch.tensor([0.0, 0.2, 0.4]), torch.full((3,), 0.4))
    scores = torch.tensor([[0.0, 0.3, 0.4], [0.1, 0.5, 0.41], [0.41, 0.2, -1.0]])
    expected = [[0.0, 0.5, 0.0], [0.5, 1.0, 1.0], [1.0, 0.0, 0.0]]
    assert rule.of_scores(scores).tolist() == expected
    some = torch.tensor([2, 0])
    assert torch.equal(
        rule.select(some).of_scores(scores[:, some]), rule.of_scores(scores)[:, some]
    )
    assert set(rule.tensors()) == {"directions", "thresholds", "upper"}


def test_probabilities_of_three_answers_sum_to_one_and_none_is_impossible() -> None:
    not_no, yes = torch.tensor([[0.9, 0.4]]), torch.tensor([[0.3, 0.4]])
    found = answer_probabilities(not_no, yes)
    assert found.shape == (3, 2, 1)
    torch.testing.assert_close(found.sum(dim=0), torch.ones(2, 1))
    torch.testing.assert_close(found[:, 0, 0], torch.tensor([0.1, 0.6, 0.3]))
    assert found[1, 1, 0].item() == pytest.approx(LEAST_OF_THREE / (1 + LEAST_OF_THREE))
    two = answer_probabilities(yes)
    torch.testing.assert_close(two[:, 0, 0], torch.tensor([0.7, 0.3]))
