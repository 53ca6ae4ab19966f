"""Stopping rules on summaries of posteriors, the same as on the posteriors themselves."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.core.errors import InputError
from infopursuit.evaluation.posteriors import PosteriorSummary, summarize
from infopursuit.evaluation.stopping import StoppingPoint, stopped, sweep
from infopursuit.explanation.stopping import StoppingRule


def summary_of(posteriors: list[list[list[float]]], labels: list[int]) -> PosteriorSummary:
    return summarize(torch.tensor(posteriors), torch.tensor(labels))


def random_posteriors(
    seed: int, n: int = 20, budgets: int = 9
) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, budgets, 4, generator=generator).cumsum(dim=1)
    return logits.softmax(dim=2), torch.randint(0, 4, (n,), generator=generator)


@given(
    seed=st.integers(0, 10_000),
    probability=st.none() | st.floats(0.3, 1.0),
    entropy=st.none() | st.floats(0.0, 1.4),
    stability=st.none() | st.integers(1, 4),
    most=st.none() | st.integers(0, 12),
)
def test_a_rule_stops_a_summary_where_it_stops_the_posteriors(
    seed: int,
    probability: float | None,
    entropy: float | None,
    stability: int | None,
    most: int | None,
) -> None:
    posteriors, labels = random_posteriors(seed)
    rule = StoppingRule(probability, most, entropy, stability)
    steps, confident = rule.steps(posteriors)
    predicted = posteriors.argmax(dim=2)[torch.arange(len(steps)), steps]
    found = stopped(summarize(posteriors, labels), rule)
    assert found.mean_length == steps.double().mean().item()
    assert found.accuracy == (predicted == labels).double().mean().item()
    assert found.confident == confident.double().mean().item()


def test_a_rule_out_of_range_is_refused() -> None:
    with pytest.raises(InputError, match="stability is 0; expected a whole number from 1 on"):
        sweep(summary_of([[[0.5, 0.5], [0.9, 0.1]]], [0]), {"stability": [0]})


def test_sweep_of_two_images_by_hand() -> None:
    """Image 0 is sure after one query and wrong later; image 1 never gets sure."""
    summary = summary_of(
        [
            [[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]],
            [[0.5, 0.5], [0.6, 0.4], [0.4, 0.6]],
        ],
        [0, 1],
    )
    thresholds = {"max_probability": [0.85, 1.0], "entropy": [0.4], "stability": [1]}
    assert sweep(summary, thresholds) == [
        StoppingPoint("max_probability", 0.85, 1.5, 1.0),
        StoppingPoint("max_probability", 1.0, 2.0, 0.5),
        StoppingPoint("entropy", 0.4, 1.5, 1.0),
        StoppingPoint("stability", 1.0, 1.0, 0.5),
    ]
    assert stopped(summary, StoppingRule(0.85)).confident == 0.5


def test_a_classifier_that_is_sure_at_once_asks_nothing() -> None:
    summary = summary_of([[[0.99, 0.01], [0.99, 0.01]]], [0])
    assert sweep(summary, {"max_probability": [0.85]})[0].mean_length == 0.0


def test_a_limit_ends_questions_that_a_threshold_would_not() -> None:
    posteriors, labels = random_posteriors(1)
    summary = summarize(posteriors, labels)
    assert stopped(summary, StoppingRule(0.999, None)).mean_length > 3
    assert stopped(summary, StoppingRule(0.999, 3)).mean_length <= 3


def test_stricter_thresholds_never_ask_less() -> None:
    summary = summarize(*random_posteriors(0, n=50, budgets=12))
    thresholds = {
        "max_probability": [0.4, 0.6, 0.8, 0.95],
        "entropy": [1.2, 0.8, 0.4, 0.1],
        "stability": [1, 2, 4, 8],
    }
    for rule, values in thresholds.items():
        lengths = [point.mean_length for point in sweep(summary, {rule: values})]
        assert lengths == sorted(lengths), rule
