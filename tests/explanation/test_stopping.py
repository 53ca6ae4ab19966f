"""Stopping rules against a plain loop over images and questions."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.core.errors import InputError
from infopursuit.explanation.stopping import StoppingRule, posterior_entropy

RULES = st.builds(
    StoppingRule,
    probability=st.none() | st.floats(0.2, 1.0),
    max_queries=st.none() | st.integers(0, 12),
    entropy=st.none() | st.floats(0.0, 1.4),
    stability=st.none() | st.integers(1, 5),
)


def posteriors(seed: int, n: int = 6, budgets: int = 9, c: int = 4) -> torch.Tensor:
    """Beliefs that wander and grow surer."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, budgets, c, generator=generator, dtype=torch.float64).cumsum(dim=1)
    return logits.softmax(dim=2)


def slow_stop(rows: list[list[float]], rule: StoppingRule) -> tuple[int, bool]:
    """The definition, one question at a time."""
    last = len(rows) - 1 if rule.max_queries is None else min(rule.max_queries, len(rows) - 1)
    leaders = [row.index(max(row)) for row in rows]
    for t in range(last + 1):
        if rule.probability is not None and max(rows[t]) >= rule.probability:
            return t, True
        entropy = -sum(p * math.log(p) for p in rows[t] if p > 0)
        if rule.entropy is not None and entropy <= rule.entropy:
            return t, True
        m = rule.stability
        if m is not None and t >= m and len(set(leaders[t - m : t + 1])) == 1:
            return t, True
    return last, False


@given(seed=st.integers(0, 10_000), rule=RULES)
def test_steps_agree_with_a_loop(seed: int, rule: StoppingRule) -> None:
    shown = posteriors(seed)
    steps, confident = rule.steps(shown)
    expected = [slow_stop(rows, rule) for rows in shown.tolist()]
    assert list(zip(steps.tolist(), confident.tolist(), strict=True)) == expected


@given(seed=st.integers(0, 10_000), rule=RULES)
def test_holding_now_is_what_ends_the_steps(seed: int, rule: StoppingRule) -> None:
    shown = posteriors(seed)
    predicted = shown.argmax(dim=2)
    steps, confident = rule.steps(shown)
    for row, (step, sure) in enumerate(zip(steps.tolist(), confident.tolist(), strict=True)):
        unchanged = 0
        for t in range(step + 1):
            unchanged = unchanged + 1 if t and predicted[row, t] == predicted[row, t - 1] else 0
            holds = bool(rule.holds(shown[row : row + 1, t], torch.tensor([unchanged]))[0])
            assert holds == (sure and t == step)


def test_a_condition_that_holds_at_once_asks_nothing() -> None:
    shown = torch.tensor([[[0.95, 0.05], [0.5, 0.5]]])
    assert StoppingRule(0.85).steps(shown) == (torch.tensor([0]), torch.tensor([True]))


def test_a_limit_reached_while_sure_counts_as_sure() -> None:
    shown = torch.tensor([[[0.5, 0.5], [0.95, 0.05], [0.99, 0.01]]])
    assert [part.tolist() for part in StoppingRule(0.9, 1).steps(shown)] == [[1], [True]]
    assert [part.tolist() for part in StoppingRule(0.97, 1).steps(shown)] == [[1], [False]]


def test_no_condition_asks_everything() -> None:
    rule = StoppingRule(None, None)
    steps, confident = rule.steps(posteriors(0))
    assert steps.tolist() == [8] * 6
    assert not confident.any()
    assert (rule.budget(5), StoppingRule(max_queries=3).budget(5)) == (5, 3)
    assert StoppingRule(max_queries=9).budget(5) == 5


def test_entropy_counts_zero_as_nothing() -> None:
    found = posterior_entropy(torch.tensor([[1.0, 0.0], [0.5, 0.5]]))
    assert found.tolist() == [0.0, pytest.approx(math.log(2))]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (StoppingRule(0.0), "stop at probability 0.0; expected more than 0, at most 1"),
        (StoppingRule(1.01), "stop at probability 1.01"),
        (StoppingRule(math.nan), "stop at probability nan"),
        (StoppingRule(entropy=-0.1), "stop at entropy -0.1; expected 0 nats or more"),
        (StoppingRule(stability=0), "stability is 0; expected a whole number from 1 on"),
        (StoppingRule(max_queries=-1), "max_queries is -1; expected a whole number from 0 on"),
        (StoppingRule(max_queries=True), "max_queries is True"),
    ],
)
def test_values_out_of_range_are_refused(rule: StoppingRule, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rule.checked()


def test_a_sound_rule_is_given_back() -> None:
    rule = StoppingRule(1.0, 0, 0.0, 1)
    assert rule.checked() is rule
