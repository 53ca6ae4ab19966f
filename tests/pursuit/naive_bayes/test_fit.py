"""Fitting naive Bayes: rates against loops, and the calibration against a search."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product, starmap

import pytest
import torch
from torch import Tensor

from infopursuit.datasets.matrix import Matrix
from infopursuit.pursuit.answers.rules import AnswerRule, MinMaxAnswers, ThresholdAnswers
from infopursuit.pursuit.answers.table import LEAST, MOST, AnswerTable
from infopursuit.pursuit.naive_bayes import fit
from infopursuit.pursuit.naive_bayes.fit import (
    Calibration,
    HeldOut,
    expected_ratio,
    fit_calibration,
    fit_table,
)
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.stopping import StoppingRule
from tests.pursuit.answers.drawn import drawn, unit
from tests.pursuit.naive_bayes import textbook

K, D, C, N = 7, 6, 3, 60
SURE = 0.6
RULES: dict[str, AnswerRule] = {
    "minmax": MinMaxAnswers(unit(K, D, seed=1)),
    "threshold": ThresholdAnswers(unit(K, D, seed=1), 0.2 * drawn(K, seed=2)),
}


def images() -> tuple[Tensor, Tensor]:
    labels = torch.arange(N) % C
    return torch.nn.functional.normalize(drawn(N, D) + torch.eye(D)[labels], dim=1), labels


def rates_slowly(rule: AnswerRule, shown: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """(c, k) frequencies with two made-up images that say yes half of the time."""
    answers = rule.answers(shown)
    rates = torch.zeros(C, K, dtype=torch.float64)
    for label in range(C):
        for query in range(K):
            yes = sum(
                float(weights[image] * answers[image, query])
                for image in range(len(shown))
                if labels[image] == label
            )
            total = float(weights[labels == label].sum())
            rates[label, query] = min(max((yes + 1) / (total + 2), LEAST), MOST)
    return rates


def close(table: AnswerTable, rates: Tensor, prior: Tensor) -> None:
    expected = torch.stack([1 - rates.T, rates.T]).float()
    torch.testing.assert_close(table.log_likelihood.exp(), expected)
    torch.testing.assert_close(table.log_prior.exp(), prior.float())
    assert table.independent_answers == math.inf


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("weighted", [False, True])
def test_rates_are_counted_in_any_blocks(name: str, weighted: bool) -> None:
    shown, labels = images()
    weights = drawn(N, seed=3).abs().double() + 0.1 if weighted else torch.ones(N).double()
    expected = rates_slowly(RULES[name], shown, labels, weights)
    prior = torch.bincount(labels, weights) / weights.sum()
    given = weights if weighted else None
    for size in (N, 7):
        close(fit_table(RULES[name], Matrix(shown).blocks(size), labels, given), expected, prior)


def loss_slowly(
    choice: Calibration,
    of: AnswerTable,
    answers: Tensor,
    orders: list[list[int]],
    labels: Tensor,
    weights: Tensor,
) -> float:
    """Mean cross-entropy of roll-outs in these orders with a table calibrated like this.

    Half of it is a mean over t = 1, 2, 3, 4, 5, half at the first t at which a class is as probable
    as the stopping rule asks for, with the calibration that is assumed.
    """
    total = 0.0
    ratio = choice.temperature_ratio
    assumed_calibration = fit.ASSUMED_CALIBRATION._replace(temperature_ratio=ratio)
    for given, order, label, weight in zip(answers, orders, labels, weights, strict=True):
        posteriors = textbook.posteriors(choice.of(of), given, order)
        losses = [-math.log(each[int(label)]) for each in posteriors[1:]]
        assumed = textbook.posteriors(assumed_calibration.of(of), given, order)
        sure = [max(each) >= SURE for each in assumed[1:]]
        stop = sure.index(True) if any(sure) else 4
        total += float(weight) * (sum(losses) / 5 + losses[stop]) / 2
    return total / float(weights.sum())


def by_prior(of: AnswerTable, labels: Tensor, weights: Tensor) -> Tensor:
    """Weights of the same sum by which the classes are as frequent as before any question."""
    wanted = weights.clone()
    for label, share in enumerate(of.log_prior.exp().tolist()):
        wanted[labels == label] *= share / weights[labels == label].sum()
    return wanted * weights.sum() / wanted.sum()


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize(("weighted", "ratio"), [(False, 1.0), (True, 1.0), (False, 1.7)])
def test_the_calibration_is_that_of_the_least_cross_entropy(
    levels: int, weighted: bool, ratio: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit, "images_at_once", lambda budget, classes: 8)
    of = replace(textbook.table(levels), independent_answers=math.inf)
    answers = textbook.answers(levels, count=20)
    labels = NaiveBayes(of)(answers, torch.ones_like(answers)).argmax(dim=1)
    labels[::4] = (labels[::4] + 1) % 4
    monkeypatch.setattr(fit, "ASSUMED_IMAGES", 0.0)
    monkeypatch.setattr(fit, "DEFAULT_STOP", StoppingRule(SURE))
    monkeypatch.setattr(fit, "EVIDENCE_WEIGHTS", (1.0, 0.6))
    weights = torch.linspace(0.1, 1.2, 20) if weighted else torch.ones(20)
    grid = product(fit.INDEPENDENT_ANSWERS[::2], (1.0, 0.6), fit.GROWTHS, [ratio])
    choices = list(starmap(Calibration, grid))
    choices += [choice._replace(prior_exponent=1.0) for choice in choices]
    parts = [slice(12), slice(12, None)]
    held_out = [
        HeldOut(InformationGain(of), answers[part], labels[part], weights[part].double())
        for part in parts
    ]
    calibration, loss = fit_calibration(held_out, 5, ratio)
    weights = torch.cat([by_prior(of, labels[part], weights[part]) for part in parts])
    orders = [textbook.asked(of, given, 5) for given in answers]
    found, *expected = (
        loss_slowly(choice, of, answers, orders, labels, weights)
        for choice in (calibration, *choices)
    )
    assert calibration.temperature_ratio == ratio
    assert loss == pytest.approx(found, abs=2e-3)
    assert loss <= min(expected) + 2e-3


def test_calibrations_are_the_further_apart_the_fewer_images_a_class_has() -> None:
    assert [expected_ratio(count) for count in (4.0, 9.0, 16.0)] == pytest.approx([1.6, 1.4, 1.3])
    assert expected_ratio(1e-3) == expected_ratio(1.0), "weights may be small"
