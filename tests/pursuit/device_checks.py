"""Answers and roll-outs on a device, against the CPU. Needs torch alone."""

from __future__ import annotations

import torch

from infopursuit.pursuit.answers.rules import AnswerRule, MinMaxAnswers, ThresholdAnswers
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.gaussian.model import GaussianClassifier, GaussianQuerier
from infopursuit.pursuit.gaussian.scores import NormalScores
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.rollout import ask_until, roll_out
from infopursuit.pursuit.stopping import StoppingRule

IMAGES, WIDTH, K, CLASSES = 500, 64, 60, 12


def drawn(*shape: int, seed: int) -> torch.Tensor:
    """Gaussian, float64."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def counted() -> tuple[InformationGain, NaiveBayes]:
    """Rates of three answers, stored in float32 as a model's are."""
    likelihood = (2 * drawn(3, K, CLASSES, seed=4)).softmax(dim=0).log()
    prior = drawn(CLASSES, seed=5).log_softmax(dim=0)
    table = AnswerTable(likelihood.float(), prior.float(), 16.0)
    return InformationGain(table), NaiveBayes(table)


def normal() -> tuple[GaussianQuerier, GaussianClassifier]:
    """Scores that share some of their variance, with deviations of a hundredth."""
    shared = drawn(K, 5, seed=6)
    covariance = (shared @ shared.T + 5 * torch.eye(K)) / 1e5
    means = 0.5 + drawn(CLASSES, K, seed=7) / 50
    words = drawn(4, K, seed=8)
    tensors = drawn(CLASSES, seed=5).log_softmax(dim=0), means, covariance, words, words.square()
    scores = NormalScores(*(each.float() for each in tensors), torch.tensor([0.6, 8.0, 0.5]))
    return GaussianQuerier(scores), GaussianClassifier(scores)


def check_answers(device: str) -> None:
    """The same answers by every rule."""
    images = drawn(IMAGES, WIDTH, seed=0)
    rules: list[AnswerRule] = [
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
    """The same questions are asked, with the same posteriors, and end at the same places."""
    thirds = (drawn(IMAGES, K, seed=0).clamp(-1, 1).round() + 1) / 2
    near = 0.5 + drawn(IMAGES, K, seed=9) / 50
    for (querier, classifier), answers in ((counted(), thirds.float()), (normal(), near.float())):
        expected = roll_out(querier, classifier, answers, K)
        there = querier.to(device), classifier.to(device), answers.to(device)
        found = roll_out(*there, K)
        assert torch.equal(found.order.cpu(), expected.order)
        torch.testing.assert_close(found.posteriors.cpu(), expected.posteriors, atol=1e-6, rtol=0)
        stop = StoppingRule()
        ending, other = ask_until(querier, classifier, answers, stop), ask_until(*there, stop)
        assert ending.length.unique().numel() >= 2
        assert torch.equal(other.length.cpu(), ending.length)
