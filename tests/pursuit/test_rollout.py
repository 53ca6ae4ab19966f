"""Roll-outs and stopping rules against the loop for one image, with both kinds of model."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.core.errors import InputError
from infopursuit.pursuit import rollout
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import HOLDING, StoppingRule
from infopursuit.pursuit.vip.networks import DenseHistories, HistoryNetwork
from tests.pursuit import reference
from tests.pursuit.conftest import IMAGES, K, unit

STOPS = [
    StoppingRule(),
    StoppingRule(0.6, stability=None),
    StoppingRule(None, entropy=0.9, stability=None),
    StoppingRule(None, stability=3),
    StoppingRule(0.7, 6, 0.5, 4),
    StoppingRule(None, stability=None),
    StoppingRule(0.01, stability=None),
    StoppingRule(0.99, 0),
]


def mask_of(share: float) -> torch.Tensor:
    """Return which answers are known, of some images all and of some none."""
    mask = torch.rand(IMAGES, K, generator=torch.Generator().manual_seed(5)) < share
    mask[3], mask[4] = True, False
    return mask


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("first", [None, 6])
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_a_roll_out_is_the_loop_of_each_image(
    pursuit: Pursuit,
    answers: torch.Tensor,
    first: int | None,
    dense: bool,
    share: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if dense:  # what networks do on a GPU
        monkeypatch.setattr(HistoryNetwork, "incremental", lambda *given: DenseHistories(*given))
    pursuit, known = replace(pursuit, first=first), mask_of(share)
    monkeypatch.setattr(rollout, "CPU_BLOCK", 17)
    parts = pursuit.querier, pursuit.classifier
    found = rollout.roll_out(*parts, answers, K, first, 4, known if share else None)
    for row in range(IMAGES):
        expected = reference.ask(pursuit, answers[row], K, known[row] if share else None)
        asked = len(expected.order)
        assert asked == K - (int(known[row].sum()) if share else 0)
        assert found.order[row].tolist() == [*expected.order, *[-1] * (K - asked)]
        assert found.answers[row, :asked].tolist() == answers[row, expected.order].tolist()
        assert found.answers[row, asked:].isnan().all()
        last = [expected.posteriors[-1]] * (K - asked)
        torch.testing.assert_close(
            found.posteriors[row], torch.stack([*expected.posteriors, *last])
        )
        for step in range(asked):
            ranked = expected.ranked[step][:4]
            values = found.values[row, step]
            assert found.best[row, step, : len(ranked)].tolist() == ranked
            torch.testing.assert_close(
                values[: len(ranked)], expected.values[step][ranked].float(), atol=1e-6, rtol=1e-4
            )
            # Near the end fewer are left than are wanted.
            assert values[len(ranked) :].tolist() == [-torch.inf] * (4 - len(ranked))
        assert (found.values[row, asked:] == -torch.inf).all()


@pytest.mark.parametrize("stop", STOPS, ids=str)
@pytest.mark.parametrize("first", [None, 6])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_asking_until_a_rule_holds_ends_where_the_roll_out_does(
    pursuit: Pursuit,
    answers: torch.Tensor,
    stop: StoppingRule,
    first: int | None,
    share: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rollout, "CPU_BLOCK", 7)
    known = mask_of(share) if share else None
    parts = pursuit.querier, pursuit.classifier
    rolled = rollout.roll_out(*parts, answers, K, first, known=known)
    counts, held = stop.steps(rolled.posteriors)
    found = rollout.ask_until(*parts, answers, stop, first, known=known)
    if known is None:
        assert found.held.tolist() == held.bool().tolist()
    else:
        counts = counts.minimum((~known).sum(dim=1))
    assert found.length.tolist() == counts.tolist()
    ends = rolled.posteriors[torch.arange(IMAGES), counts]
    torch.testing.assert_close(found.posterior, ends)


@pytest.mark.parametrize("budget", [-1, K + 1])
def test_a_budget_beyond_the_dictionary_is_refused(pursuit: Pursuit, budget: int) -> None:
    with pytest.raises(InputError, match="budget"):
        pursuit.roll_out(unit(1, 0), budget)


RULES = st.builds(
    StoppingRule,
    probability=st.none() | st.floats(0.2, 1.0),
    max_queries=st.none() | st.integers(0, 12),
    entropy=st.none() | st.floats(0.0, 1.4),
    stability=st.none() | st.integers(1, 5),
)


def posteriors(seed: int, n: int = 6, budgets: int = 9, c: int = 4) -> torch.Tensor:
    """Posteriors that wander and grow surer."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, budgets, c, generator=generator, dtype=torch.float64).cumsum(dim=1)
    return logits.softmax(dim=2)


def slow_stop(rows: list[list[float]], rule: StoppingRule) -> tuple[int, str | None]:
    """The definition, one question at a time."""
    last = len(rows) - 1 if rule.max_queries is None else min(rule.max_queries, len(rows) - 1)
    leaders = [row.index(max(row)) for row in rows]
    for t in range(last + 1):
        if rule.probability is not None:
            doubt, before = 1 - rule.probability, rows[0][leaders[t]]
            if leaders[t] == leaders[0] and before > 0.5:
                doubt *= 2 * (1 - before)
            if max(rows[t]) >= 1 - doubt:
                return t, "probability"
        entropy = -sum(p * math.log(p) for p in rows[t] if p > 0)
        if rule.entropy is not None and entropy <= rule.entropy:
            return t, "entropy"
        m = rule.stability
        if m is not None and t >= m and len(set(leaders[t - m : t + 1])) == 1:
            return t, "stability"
    return last, None


@given(seed=st.integers(0, 10_000), rule=RULES)
def test_steps_agree_with_a_loop(seed: int, rule: StoppingRule) -> None:
    shown = posteriors(seed)
    steps, held = rule.steps(shown)
    expected = [slow_stop(rows, rule) for rows in shown.tolist()]
    for rows, step, (_, condition) in zip(shown, steps, expected, strict=True):
        if condition is not None:
            assert HOLDING[rule.now(rows[: step + 1])] == condition
    assert list(zip(steps.tolist(), [HOLDING[each] for each in held], strict=True)) == expected


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        (StoppingRule(0.0), "probability"),
        (StoppingRule(math.nan), "probability"),
        (StoppingRule(entropy=-0.1), "entropy"),
        (StoppingRule(stability=0), "stability"),
        (StoppingRule(max_queries=-1), "max_queries"),
        (StoppingRule(max_queries=True), "max_queries"),
    ],
)
def test_values_out_of_range_are_refused(rule: StoppingRule, word: str) -> None:
    with pytest.raises(InputError, match=word):
        rule.checked()
    assert StoppingRule(1.0, 0, 0.0, 1).checked() == StoppingRule(1.0, 0, 0.0, 1)
