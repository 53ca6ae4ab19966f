"""The paper's rule against its definition, thresholds, and what all rules have in common."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.answers.moments import class_moments
from infopursuit.answers.rules import (
    AnswerRule,
    ColumnAnswers,
    MinMaxAnswers,
    ThresholdAnswers,
    fit_threshold_rule,
    minmax_answers,
)
from infopursuit.answers.score_map import fit_score_map
from infopursuit.answers.thresholds import fit_thresholds
from infopursuit.datasets.rows import UnitRows
from tests.answers.drawn import drawn, unit
from tests.vip import reference

K, D = 9, 5
RULES: dict[str, AnswerRule] = {
    "minmax": MinMaxAnswers(unit(K, D)),
    "soft": MinMaxAnswers(unit(K, D), hard=False),
    "threshold": ThresholdAnswers(unit(K, D), 0.1 * drawn(K)),
    "columns": ColumnAnswers(torch.arange(K) % D, 0.1 * drawn(K).double()),
}


def _scores(seed: int, images: int = 6, k: int = 9, d: int = 5) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(images + k, d, generator=generator, dtype=torch.float64)
    points = torch.nn.functional.normalize(points, dim=1)
    return points[:images], points[images:]


@given(st.integers(0, 10_000), st.booleans())
def test_answers_equal_the_definition(seed: int, hard: bool) -> None:
    images, queries = _scores(seed)
    fast = minmax_answers(images @ queries.T, hard)
    torch.testing.assert_close(fast, reference.answers(images, queries, hard))


@given(st.integers(0, 10_000), st.floats(0.1, 100), st.floats(-10, 10))
def test_answers_ignore_scale_and_shift_of_an_image_s_scores(
    seed: int, scale: float, shift: float
) -> None:
    scores = torch.randn(4, 7, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    moved = minmax_answers(scale * scores + shift, hard=False)
    torch.testing.assert_close(moved, minmax_answers(scores, hard=False), atol=1e-6, rtol=1e-6)


def test_equal_scores_answer_no_and_never_nan() -> None:
    scores = torch.full((2, 5), 0.3, requires_grad=True)
    for hard in (True, False):
        answers = minmax_answers(scores, hard)
        assert answers.tolist() == [[0.0] * 5] * 2
    minmax_answers(scores).sum().backward()
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()


def test_exactly_half_is_no() -> None:
    assert minmax_answers(torch.tensor([[0.0, 0.5, 1.0]])).tolist() == [[0.0, 0.0, 1.0]]


def test_hard_answers_have_the_gradient_of_soft_ones() -> None:
    weights = torch.randn(3, 6)
    grads = []
    for hard in (True, False):
        scores = torch.linspace(-1, 1, 18).sin().reshape(3, 6).requires_grad_()
        (minmax_answers(scores, hard) * weights).sum().backward()
        assert scores.grad is not None
        grads.append(scores.grad)
    torch.testing.assert_close(grads[0], grads[1])


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_an_answer_rule(name: str) -> None:
    rule, images = RULES[name], unit(40, D, seed=1)
    assert isinstance(rule, AnswerRule)
    answers = rule.answers(images)
    assert answers.shape == (40, K)
    assert torch.equal(answers, rule.of_scores(rule.scores(images)))
    assert answers.amin() >= 0
    assert answers.amax() <= 1
    assert (set(answers.unique().tolist()) == {0.0, 1.0}) == (name != "soft")
    blocks = torch.cat([rule.answers(images[:7]), rule.answers(images[7:])])
    torch.testing.assert_close(blocks, answers)
    assert torch.equal(type(rule)(**rule.tensors()).scores(images), rule.scores(images))
    moved = rule.to("meta").tensors()
    assert all(each.device.type == "meta" for each in moved.values())


@pytest.mark.parametrize("name", ["threshold", "columns"])
def test_such_an_answer_depends_on_its_own_query_and_image_alone(name: str) -> None:
    rule, images = RULES[name], unit(40, D, seed=1)
    answers, columns = rule.answers(images), torch.tensor([7, 2])
    assert torch.equal(rule.select(columns).answers(images), answers[:, columns])
    scores = rule.scores(images)
    scores[:, 3:] *= -1
    assert torch.equal(rule.of_scores(scores)[:, :3], answers[:, :3])


@pytest.mark.parametrize("hard", [True, False])
def test_fewer_queries_are_normalised_anew(hard: bool) -> None:
    rule, images, columns = (
        RULES["minmax" if hard else "soft"],
        unit(40, D),
        torch.tensor([7, 2, 3]),
    )
    expected = minmax_answers(rule.scores(images)[:, columns], hard)
    torch.testing.assert_close(rule.select(columns).answers(images), expected)
    assert not torch.allclose(expected, rule.answers(images)[:, columns])


def test_a_score_at_the_threshold_says_no() -> None:
    at = torch.tensor([[0.25, 0.5]])
    assert ThresholdAnswers(torch.eye(2), at[0]).of_scores(at).tolist() == [[0.0, 0.0]]
    cuts = ColumnAnswers(torch.tensor([1, 1]), torch.tensor([2.0, 1.9], dtype=torch.float64))
    assert cuts.answers(torch.tensor([[9.0, 2.0]]).double()).tolist() == [[0.0, 1.0]]


def test_a_threshold_rule_is_fitted_relative_to_the_universe() -> None:
    images, labels = unit(60, D), torch.arange(60) % 3
    queries, universe, other = (unit(count, D, seed=count) for count in (K, 50, 51))
    of_images = UnitRows(images, "images")
    rule = fit_threshold_rule(queries, UnitRows(universe, "texts"), of_images, labels)
    within = class_moments(of_images.blocks(), labels).within
    directions = fit_score_map(UnitRows(universe, "texts"), within).directions(queries)
    assert torch.equal(rule.directions, directions)
    assert torch.equal(rule.thresholds, fit_thresholds(images @ directions.T, labels).values)
    moved = fit_threshold_rule(queries, UnitRows(other, "texts"), of_images, labels)
    assert not torch.allclose(moved.directions, directions, atol=1e-3)
