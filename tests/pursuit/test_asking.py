"""The loop for many images against the loop for one, and against where its rule stops it."""

from dataclasses import replace

import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.pursuit import rollout
from infopursuit.pursuit.pursuit import Pursuit
from tests.pursuit import reference
from tests.pursuit.conftest import IMAGES, K, unit

STOPS = [
    StoppingRule(),
    StoppingRule(0.6, None),
    StoppingRule(0.6, 3),
    StoppingRule(None, None, entropy=0.9),
    StoppingRule(None, None, stability=3),
    StoppingRule(0.7, 6, 0.5, 4),
    StoppingRule(None, None),
    StoppingRule(0.01, None),
    StoppingRule(0.99, 0),
]


@pytest.mark.parametrize("first", [None, 6])
def test_a_roll_out_is_the_loop_of_each_image(
    pursuit: Pursuit, answers: torch.Tensor, first: int | None
) -> None:
    pursuit = replace(pursuit, first=first)
    found = pursuit.roll_out(unit(IMAGES, 2), K, best=4)
    for row in range(IMAGES):
        expected = reference.ask(pursuit, answers[row], K)
        assert found.order[row].tolist() == expected.order
        assert found.answers[row].tolist() == answers[row, expected.order].tolist()
        torch.testing.assert_close(found.posteriors[row], torch.stack(expected.posteriors))
        if first is not None:
            assert expected.order[0] == first


def test_the_best_queries_are_recorded_with_their_values(
    pursuit: Pursuit, answers: torch.Tensor
) -> None:
    found = pursuit.roll_out(unit(IMAGES, 2), K, best=4)
    for row in range(IMAGES):
        expected = reference.ask(pursuit, answers[row], K)
        for step in range(K):
            ranked = expected.ranked[step][:4]
            best, values = found.best[row, step], found.values[row, step]
            assert best[: len(ranked)].tolist() == ranked
            torch.testing.assert_close(
                values[: len(ranked)], expected.values[step][ranked].float(), atol=1e-6, rtol=1e-4
            )
            # Near the end fewer are left than are wanted.
            assert values[len(ranked) :].tolist() == [-torch.inf] * (4 - len(ranked))
        assert found.best[row, :, 0].tolist() == expected.order


def test_blocks_and_shorter_budgets_change_nothing(
    pursuit: Pursuit, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pursuit.roll_out(unit(IMAGES, 2), K)
    monkeypatch.setattr(rollout, "CPU_BLOCK", 7)
    shorter = pursuit.roll_out(unit(IMAGES, 2), 4)
    assert torch.equal(shorter.order, whole.order[:, :4])
    torch.testing.assert_close(shorter.posteriors, whole.posteriors[:, :5])
    assert whole.best.shape == (IMAGES, K, 0)


@pytest.mark.parametrize("stop", STOPS, ids=str)
@pytest.mark.parametrize("first", [None, 6])
def test_asking_until_a_rule_holds_ends_where_the_roll_out_does(
    pursuit: Pursuit, answers: torch.Tensor, stop: StoppingRule, first: int | None
) -> None:
    pursuit = replace(pursuit, first=first)
    rolled = pursuit.roll_out(unit(IMAGES, 2), K)
    counts, confident = stop.steps(rolled.posteriors)
    found = pursuit.ask_until(answers, stop)
    assert found.length.tolist() == counts.tolist()
    assert found.confident.tolist() == confident.tolist()
    ends = rolled.posteriors[torch.arange(IMAGES), counts]
    torch.testing.assert_close(found.posterior, ends)


def test_images_stop_at_different_lengths_in_these_tests(
    pursuit: Pursuit, answers: torch.Tensor
) -> None:
    lengths = pursuit.ask_until(answers, StoppingRule(0.6, None)).length
    assert len(lengths.unique()) > 2


@pytest.mark.parametrize("budget", [-1, K + 1])
def test_a_budget_beyond_the_dictionary_is_refused(pursuit: Pursuit, budget: int) -> None:
    with pytest.raises(InputError, match=f"a budget of {budget} queries; expected 0 to {K}"):
        pursuit.roll_out(unit(1, 0), budget)
