"""Rules of answering against their definitions."""

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
    minmax_answers,
)
from infopursuit.pursuit.answers.thresholds import ALMOST, SHARES_OF_YES, fit_thresholds
from infopursuit.pursuit.gaussian.levels import LevelAnswers
from tests.pursuit.answers.drawn import counts, drawn, unit
from tests.pursuit.vip import reference

K, D = 9, 5
RULES: dict[str, AnswerRule] = {
    "minmax": MinMaxAnswers(unit(K, D)),
    "soft": SoftAnswers(unit(K, D)),
    "threshold": ThresholdAnswers(unit(K, D), 0.1 * drawn(K)),
    "levels": LevelAnswers(
        unit(K, D), 0.1 * drawn(K), drawn(K).abs() + 0.1, drawn(K, 2), drawn(K, 9)
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
    assert (set(answers.unique().tolist()) == levels) == (not rule.soft)
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
        torch.testing.assert_close(found, before)


def test_a_score_at_the_threshold_says_no() -> None:
    at = torch.tensor([[0.25, 0.5]])
    assert ThresholdAnswers(torch.eye(2), at[0]).of_scores(at).tolist() == [[0.0, 0.0]]
    cuts = ColumnAnswers(torch.tensor([1, 1]), torch.tensor([2.0, 1.9], dtype=torch.float64))
    assert cuts.answers(torch.tensor([[9.0, 2.0]]).double()).tolist() == [[0.0, 1.0]]


def problem(images: int = 411, classes: int = 8) -> tuple[Tensor, Tensor]:
    """Scores of 24 queries: of one class, of three classes, and of none."""
    labels = torch.arange(images) % classes
    scores = drawn(images, 24)
    scores[:, :8] += 3 * (labels.unsqueeze(1) == torch.arange(8)).float()
    scores[:, 8:16] += 2 * (labels < 3).float().unsqueeze(1)
    return scores, labels


@pytest.mark.parametrize("images", [90, 400, 411])
def test_of_thresholds_that_tell_almost_the_most_the_one_with_fewest_yes_is_taken(
    images: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, labels = problem(images)
    monkeypatch.setattr(thresholds, "COLUMNS", 7)
    found, fewer = fit_thresholds(scores, labels), 0
    totals = torch.bincount(labels).double().numpy()
    for column in range(24):
        ordered, gained = scores[:, column].sort().values, {}
        for share in SHARES_OF_YES:
            value = float(ordered[min(int((1 - share) * images + 1e-6), images - 1)])
            yes = torch.bincount(labels[scores[:, column] > value], minlength=8).numpy()
            rates = (yes + 0.5) / (totals + 1)  # half an image of each answer is added
            joint = np.stack([1 - rates, rates]) * totals / images
            alone = joint.sum(axis=1, keepdims=True) * totals / images
            gained[value] = float((joint * np.log(joint / alone)).sum())
        expected = max(each for each in gained if gained[each] >= ALMOST * max(gained.values()))
        assert found[column].item() == expected
        fewer += expected > max(gained, key=gained.__getitem__)
    assert fewer > 0
    assert ((scores > found).float().mean(dim=0) <= 0.5).all()


def test_one_class_or_equal_scores_give_finite_thresholds_that_say_no() -> None:
    scores = torch.full((12, 2), 0.3)
    for labels in (torch.zeros(12, dtype=torch.long), torch.arange(12) % 3):
        found = fit_thresholds(scores, labels)
        assert torch.isfinite(found).all() and not (scores > found).any()


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
