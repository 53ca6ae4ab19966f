"""Rules of answering against their definitions: min-max, thresholds, columns of a table."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from infopursuit.datasets.table_columns import TableColumns
from infopursuit.pursuit.answers import thresholds
from infopursuit.pursuit.answers.columns import CELLS, column_values
from infopursuit.pursuit.answers.rules import (
    NO_CUT,
    AnswerRule,
    ColumnAnswers,
    ColumnValues,
    MinMaxAnswers,
    SoftAnswers,
    ThresholdAnswers,
    in_words,
    minmax_answers,
)
from infopursuit.pursuit.answers.thresholds import (
    ALMOST,
    COLUMNS,
    FINE_SHARES,
    PART_OF_A_CLASS,
    PURE,
    SHARES_OF_YES,
    UPPER,
    ThresholdFit,
    fit_graded,
    fit_thresholds,
)
from tests.pursuit.answers.drawn import counts, drawn, unit
from tests.pursuit.vip import reference

K, D = 9, 5
RULES: dict[str, AnswerRule] = {
    "minmax": MinMaxAnswers(unit(K, D)),
    "soft": SoftAnswers(unit(K, D)),
    "threshold": ThresholdAnswers(unit(K, D), 0.1 * drawn(K)),
    "three-valued": ThresholdAnswers(unit(K, D), 0.1 * drawn(K), 0.1 * drawn(K) + 0.2),
    "five-valued": ThresholdAnswers(
        unit(K, D), torch.full((K,), -0.1), torch.full((K,), 0.2), torch.tensor([[-0.4, 0.5]] * K)
    ),
    "columns": ColumnAnswers(torch.arange(K) % D, 0.1 * drawn(K).double()),
}


@given(st.integers(0, 10_000), st.booleans(), st.floats(0.1, 100), st.floats(-10, 10))
def test_answers_equal_the_definition_whatever_scale_and_shift_of_scores(
    seed: int, hard: bool, scale: float, shift: float
) -> None:
    images, queries = unit(6, D, seed=seed).double(), unit(K, D, seed=seed + 1).double()
    scores = images @ queries.T
    torch.testing.assert_close(
        minmax_answers(scores, hard), reference.answers(images, queries, hard)
    )
    moved = minmax_answers(scale * scores + shift, hard=False)
    torch.testing.assert_close(moved, minmax_answers(scores, hard=False), atol=1e-6, rtol=1e-6)


def test_equal_scores_answer_no_and_never_nan_and_exactly_half_is_no() -> None:
    scores = torch.full((2, 5), 0.3, requires_grad=True)
    for hard in (True, False):
        assert minmax_answers(scores, hard).tolist() == [[0.0] * 5] * 2
    minmax_answers(scores).sum().backward()
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()
    assert minmax_answers(torch.tensor([[0.0, 0.5, 1.0]])).tolist() == [[0.0, 0.0, 1.0]]


def test_hard_answers_have_the_gradient_of_soft_ones() -> None:
    weights, grads = torch.randn(3, 6), []
    for hard in (True, False):
        scores = torch.linspace(-1, 1, 18).sin().reshape(3, 6).requires_grad_()
        (minmax_answers(scores, hard) * weights).sum().backward()
        assert scores.grad is not None
        grads.append(scores.grad)
    torch.testing.assert_close(grads[0], grads[1])


@pytest.mark.parametrize("name", RULES)
def test_a_rule_answers_images_one_by_one_and_restores_from_its_tensors(name: str) -> None:
    rule, images = RULES[name], unit(40, D, seed=1)
    answers = rule.answers(images)
    assert answers.shape == (40, K)
    assert torch.equal(answers, rule.of_scores(rule.scores(images)))
    levels = {each / (rule.levels - 1) for each in range(rule.levels)}
    assert (set(answers.unique().tolist()) == levels) == (name != "soft")
    assert answers.amin() >= 0
    assert answers.amax() <= 1
    blocks = torch.cat([rule.answers(images[:7]), rule.answers(images[7:])])
    torch.testing.assert_close(blocks, answers)
    assert torch.equal(type(rule)(**rule.tensors()).scores(images), rule.scores(images))
    assert all(each.device.type == "meta" for each in rule.to("meta").tensors().values())


@pytest.mark.parametrize("name", RULES)
def test_only_minmax_answers_depend_on_the_other_queries(name: str) -> None:
    rule, images, columns = RULES[name], unit(40, D, seed=1), torch.tensor([7, 2])
    found, before = rule.select(columns).answers(images), rule.answers(images)[:, columns]
    if isinstance(rule, MinMaxAnswers):
        expected = minmax_answers(rule.scores(images)[:, columns], not rule.soft)
        torch.testing.assert_close(found, expected)
        assert not torch.allclose(found, before)
    else:
        assert torch.equal(found, before)


def test_a_score_at_the_threshold_says_no_and_not_sure_is_in_between() -> None:
    at = torch.tensor([[0.25, 0.5]])
    assert ThresholdAnswers(torch.eye(2), at[0]).of_scores(at).tolist() == [[0.0, 0.0]]
    cuts = ColumnAnswers(torch.tensor([1, 1]), torch.tensor([2.0, 1.9], dtype=torch.float64))
    assert cuts.answers(torch.tensor([[9.0, 2.0]]).double()).tolist() == [[0.0, 1.0]]
    rule = ThresholdAnswers(torch.eye(3), torch.tensor([0.0, 0.2, 0.4]), torch.full((3,), 0.4))
    scores = torch.tensor([[0.0, 0.3, 0.4], [0.1, 0.5, 0.41], [0.41, 0.2, -1.0]])
    expected = [[0.0, 0.5, 0.0], [0.5, 1.0, 1.0], [1.0, 0.0, 0.0]]
    assert rule.of_scores(scores).tolist() == expected
    assert list(rule.tensors()) == ["directions", "thresholds", "upper"]
    of_five = ThresholdAnswers(
        torch.eye(1), torch.zeros(1), torch.ones(1), torch.tensor([[-1.0, 2.0]])
    )
    scores = torch.tensor([[-1.0], [0.0], [0.5], [1.0], [1.5], [2.0], [2.1]])
    expected = [
        "no", "probably not", "not sure", "not sure", "probably", "probably", "yes",
    ]  # fmt: skip
    assert [in_words(each) for each in of_five.of_scores(scores).flatten().tolist()] == expected


def entropy(p: list[float]) -> float:
    return -sum(each * math.log(each) for each in p if each > 0)


def information(counts_of: list[list[float]], totals: list[int]) -> float:
    """Mutual information of answer and class; counts_of[class][answer], half an image of each."""
    answers = len(counts_of[0])
    rates = [
        [(each + 0.5) / (total + answers / 2) for each in row]
        for row, total in zip(counts_of, totals, strict=True)
    ]
    prior = [total / sum(totals) for total in totals]
    mean = [sum(p * row[a] for p, row in zip(prior, rates, strict=True)) for a in range(answers)]
    return entropy(mean) - sum(p * entropy(row) for p, row in zip(prior, rates, strict=True))


def candidates(
    scores: Tensor, labels: Tensor, shares: tuple[float, ...]
) -> list[tuple[float, float, float, float, list[int]]]:
    """(share, value, information, purity, yes of each class) of thresholds of one query (n,)."""
    totals = torch.bincount(labels).tolist()
    found = []
    for share in shares:
        place = min(int((1 - share) * len(scores) + 1e-6), len(scores) - 1)
        value = float(scores.sort().values[place])
        yes = [int((scores[labels == label] > value).sum()) for label in range(len(totals))]
        pairs = list(zip(yes, totals, strict=True))
        gained = information([[n - y, y] for y, n in pairs], totals)
        smooth = sum(n / sum(totals) * (y + 0.5) / (n + 1) for y, n in pairs)
        found.append((share, value, gained, gained / entropy([smooth, 1 - smooth]), yes))
    return found


def search(scores: Tensor, labels: Tensor, true_share: float | None) -> tuple[float, float, float]:
    """Lower and upper threshold of one query (n,), and what the three answers tell."""
    totals = torch.bincount(labels).tolist()
    found = candidates(scores, labels, FINE_SHARES)
    most = max(each[2] for each in found)
    usual = [i for i, each in enumerate(found) if each[0] >= 0.05]
    best = max(found[i][2] for i in usual)
    informative = max(i for i in usual if found[i][2] >= ALMOST * best)
    least = PART_OF_A_CLASS / len(totals)
    large = [i for i, each in enumerate(found) if each[0] >= least or i == 0]
    sound = [i for i in large if found[i][2] >= PURE * most]
    pure = max(sound, key=lambda i: (found[i][3], -i))
    low = min(informative, pure)
    high = max(max(i for i in large if found[i][2] >= UPPER * most), pure)
    if true_share is not None and true_share > 0:
        wanted = math.log(true_share)
        high = min(range(len(found)), key=lambda i: (abs(math.log(found[i][0]) - wanted), i))
        low = min(low, high)
    high = max(low, high)
    three = [
        [n - not_no, not_no - yes, yes]
        for not_no, yes, n in zip(found[low][4], found[high][4], totals, strict=True)
    ]
    return found[low][1], found[high][1], information(three, totals)


def problem(images: int = 411, classes: int = 8) -> tuple[Tensor, Tensor]:
    """Scores of 24 queries: of one class, of three classes, and of none."""
    labels = torch.arange(images) % classes
    scores = drawn(images, 24)
    scores[:, :8] += 3 * (labels.unsqueeze(1) == torch.arange(8)).float()
    scores[:, 8:16] += 2 * (labels < 3).float().unsqueeze(1)
    return scores, labels


@pytest.mark.parametrize("images", [90, 400, 411])
def test_of_thresholds_that_tell_almost_the_most_the_one_with_fewest_yes_is_taken(
    images: int,
) -> None:
    scores, labels = problem(images)
    found = fit_thresholds(scores, labels)
    fewer = 0
    for column in range(24):
        gained = {each[1]: each[2] for each in candidates(scores[:, column], labels, SHARES_OF_YES)}
        best = max(gained.values())
        expected = max(value for value, gain in gained.items() if gain >= ALMOST * best)
        assert found.values[column].item() == expected
        assert found.information[column].item() == pytest.approx(gained[expected], abs=1e-5)
        fewer += expected > max(gained, key=gained.__getitem__)
    assert fewer > 0
    assert ((scores > found.values).float().mean(dim=0) <= 0.5).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_half_of_the_images_that_say_no_or_yes_are_certain(weighted: bool) -> None:
    scores, labels = problem(400)
    weights = torch.rand(400, generator=torch.Generator().manual_seed(1)).double() + 0.1
    weights = weights if weighted else None
    three, five = (fit_graded(scores, labels, weights, None, each) for each in (False, True))
    assert five.upper is not None
    assert five.certain is not None
    assert torch.equal(five.values, three.values)
    assert torch.equal(five.upper, three.upper)
    counted = torch.ones(400).double() if weights is None else weights
    no, yes = scores <= five.values, scores > five.upper
    surely_not, surely = scores <= five.certain[:, 0], scores > five.certain[:, 1]
    for side, ends in ((no, surely_not), (yes, surely)):
        share = (counted @ ends.double()) / (counted @ side.double())
        assert (share - 0.5).abs().max() <= counted.max() / (counted @ side.double()).min()
        assert not (ends & ~side).any()
    assert five.information.mean() > three.information.mean()


@pytest.mark.parametrize("images", [90, 411])
@pytest.mark.parametrize("known", [False, True])
def test_both_thresholds_are_those_of_a_search(images: int, known: bool) -> None:
    scores, labels = problem(images)
    shares = torch.tensor([0.125] * 8 + [0.375] * 8 + [0.0, math.nan] * 4) if known else None
    found = fit_graded(scores, labels, None, shares, False)
    assert found.upper is not None
    apart = 0
    for column in range(24):
        share = None if shares is None or shares[column].isnan() else float(shares[column])
        low, high, gained = search(scores[:, column], labels, share)
        assert found.values[column].item() == low
        assert found.upper[column].item() == high
        assert found.information[column].item() == pytest.approx(gained, abs=1e-5)
        apart += low < high
    assert apart > 8


def test_a_draft_takes_yes_back_and_adds_none() -> None:
    scores, labels = problem(411)
    shares, rows = torch.tensor([0.02] * 8 + [0.6] * 8 + [0.0, math.nan] * 4), torch.arange(24)
    plain, person, drafted = (
        ThresholdFit(True, *known).fit(rows, scores, labels)
        for known in ((), (shares,), (shares, True))
    )
    assert drafted.upper is not None and person.upper is not None and plain.upper is not None
    assert torch.equal(drafted.upper, torch.maximum(person.upper, plain.upper))
    assert (person.upper[:8] > plain.upper[:8]).all(), "fewer are true than the images tell"
    assert (person.upper[8:16] < plain.upper[8:16]).any(), "a person is obeyed"


@pytest.mark.parametrize("certain", [False, True])
def test_blocks_of_queries_change_nothing_and_shares_are_those_of_the_texts(
    certain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, labels = problem()
    shares = torch.rand(100, generator=torch.Generator().manual_seed(0))
    rows = torch.arange(0, 96, 4)
    expected = fit_graded(scores, labels, None, shares[rows], certain)
    assert COLUMNS > 24
    monkeypatch.setattr(thresholds, "COLUMNS", 7)
    found = ThresholdFit(certain, shares).fit(rows, scores, labels)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        torch.testing.assert_close(one, other)


def test_one_class_or_equal_scores_give_finite_thresholds_that_say_no() -> None:
    scores = torch.full((12, 2), 0.3)
    for labels in (torch.zeros(12, dtype=torch.long), torch.arange(12) % 3):
        for weights in (None, torch.rand(12).double() + 0.1):
            for found in (
                fit_thresholds(scores, labels, weights),
                fit_graded(scores, labels, weights),
            ):
                assert not (scores > found.values).any()
                # Half an image of each answer is added.
                assert found.information.abs().amax() < 0.05
                assert all(torch.isfinite(each).all() for each in found if each is not None)


NAMES = TableColumns.numbers_only(["petal length", "petal width"])


def of_column(questions: ColumnValues, column: int) -> list[float]:
    cuts = questions.cuts[questions.columns == column]
    return cuts[cuts < NO_CUT].tolist()


def cuts_slowly(values: list[float], weights: list[float]) -> list[float]:
    """Between neighbours, where the weight below passes a step; a column of one table."""
    rows = sorted(zip(values, weights, strict=True))
    distinct = sorted(set(values))
    total = sum(weights)
    found = []
    for step in range(1, CELLS):
        for low, high in itertools.pairwise(distinct):
            below = sum(weight for value, weight in rows if value <= low)
            last = high == distinct[-1]
            if below / total >= step / CELLS - 1e-12 or last:
                found.append((low + high) / 2)
                break
    return sorted(set(found))


@given(st.integers(0, 1000), st.integers(1, 60))
def test_cuts_are_between_neighbours_at_even_steps_of_the_weight(seed: int, rows: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    table = torch.randint(20, (rows, 2), generator=generator).double()
    weights = counts(rows, seed=seed).double()
    questions = column_values(table, NAMES, weights)
    for column in range(2):
        expected = cuts_slowly(table[:, column].tolist(), weights.tolist())
        assert of_column(questions, column) == expected


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.0, float(np.nextafter(1, 2))),
        (-1.7e308, 1.7e308),
        (-5e-324, 0.0),
    ],
)
def test_neighbours_that_nearly_touch_or_lie_far_apart_are_separated(
    low: float, high: float
) -> None:
    table = torch.tensor([[low], [high]], dtype=torch.float64)
    questions = column_values(table, TableColumns.numbers_only(["x"]))
    assert math.isfinite(questions.cuts.item())
    assert questions.answers(table).tolist() == [[0.0], [1.0]]
