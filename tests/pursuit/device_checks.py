"""Answers and roll-outs of naive Bayes on a device, against the CPU. Needs torch alone."""

from __future__ import annotations

import torch

from infopursuit.pursuit.answers.rules import AnswerRule, MinMaxAnswers, ThresholdAnswers
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.rollout import ask_until, roll_out
from infopursuit.pursuit.stopping import StoppingRule

IMAGES, WIDTH, K, CLASSES = 500, 64, 60, 12


def drawn(*shape: int, seed: int) -> torch.Tensor:
    """Gaussian, float64."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def three_valued() -> ThresholdAnswers:
    """A rule with two thresholds a query."""
    return ThresholdAnswers(
        drawn(K, WIDTH, seed=1), drawn(K, seed=2), drawn(K, seed=2) + drawn(K, seed=3).abs()
    )


def table() -> AnswerTable:
    """Rates of three answers, stored in float32 as a model's are."""
    likelihood = (2 * drawn(3, K, CLASSES, seed=4)).softmax(dim=0).log()
    return AnswerTable(likelihood.float(), drawn(CLASSES, seed=5).log_softmax(dim=0).float(), 16.0)


def check_answers(device: str) -> None:
    """The same answers by every rule."""
    images = drawn(IMAGES, WIDTH, seed=0)
    rules: list[AnswerRule] = [
        three_valued(),
        ThresholdAnswers(drawn(K, WIDTH, seed=1), drawn(K, seed=2)),
        MinMaxAnswers(drawn(K, WIDTH, seed=1)),
    ]
    for rule in rules:
        expected = rule.answers(images)
        assert expected.unique().numel() >= 2
        torch.testing.assert_close(
            rule.to(device).answers(images.to(device)).cpu(), expected, atol=1e-9, rtol=0
        )


def check_questions(device: str) -> None:
    """Naive Bayes asks the same questions, with the same posteriors, and stops where it does."""
    answers = three_valued().answers(drawn(IMAGES, WIDTH, seed=0)).float()
    querier, classifier = InformationGain(table()), NaiveBayes(table())
    expected = roll_out(querier, classifier, answers, K)
    there = querier.to(device), classifier.to(device), answers.to(device)
    found = roll_out(*there, K)
    assert torch.equal(found.order.cpu(), expected.order)
    torch.testing.assert_close(found.posteriors.cpu(), expected.posteriors, atol=1e-6, rtol=0)
    stop = StoppingRule()
    ending, other = ask_until(querier, classifier, answers, stop), ask_until(*there, stop)
    assert ending.length.unique().numel() >= 2
    assert torch.equal(other.length.cpu(), ending.length)
