"""Fitting naive Bayes: rates against loops, and the tempering against a search."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from infopursuit.answers.moments import class_moments
from infopursuit.answers.rates import LEAST, MOST
from infopursuit.answers.rules import (
    AnswerRule,
    ColumnAnswers,
    MinMaxAnswers,
    ThresholdAnswers,
)
from infopursuit.answers.table import AnswerTable
from infopursuit.datasets.rows import Rows
from infopursuit.naive_bayes import fit
from infopursuit.naive_bayes.fit import INDEPENDENT_ANSWERS, fit_independence, fit_table
from infopursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.rollout import roll_out
from tests.answers.drawn import counts, drawn, unit
from tests.naive_bayes import textbook

K, D, C, N = 7, 6, 3, 60
RULES: dict[str, AnswerRule] = {
    "minmax": MinMaxAnswers(unit(K, D, seed=1)),
    "threshold": ThresholdAnswers(unit(K, D, seed=1), 0.2 * drawn(K, seed=2)),
    "columns": ColumnAnswers(torch.arange(K) % D, 0.2 * drawn(K, seed=2).double()),
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
        close(fit_table(RULES[name], Rows(shown).blocks(size), labels, given), expected, prior)


def test_with_moments_a_threshold_rule_draws_rates_towards_a_gaussian() -> None:
    shown, labels = images()
    rule, weights = RULES["threshold"], drawn(N, seed=3).abs().double() + 0.1
    assert isinstance(rule, ThresholdAnswers)
    moments = class_moments(Rows(shown).blocks(), labels, weights)
    found = fit_table(rule, Rows(shown).blocks(), labels, weights, moments)
    scores, answers = shown.double() @ rule.directions.double().T, rule.answers(shown)
    spread = moments.score_spread(rule.directions)
    for label in range(C):
        members = labels == label
        share = weights[members] / weights[members].sum()
        mean = (share.unsqueeze(1) * scores[members]).sum(dim=0)
        smooth = torch.special.ndtr((mean - rule.thresholds) / spread)
        yes = (weights[members].unsqueeze(1) * answers[members]).sum(dim=0)
        frequency = (yes + 2 * smooth) / (weights[members].sum() + 2)
        expected = ((frequency.clamp(LEAST, MOST) + smooth) / 2).clamp(LEAST, MOST)
        rates = found.log_likelihood[1, :, label].exp().double()
        torch.testing.assert_close(rates, expected, atol=1e-5, rtol=1e-4)
    plain = fit_table(RULES["minmax"], Rows(shown).blocks(), labels, weights, moments)
    close(
        plain,
        rates_slowly(RULES["minmax"], shown, labels, weights),
        torch.bincount(labels, weights) / weights.sum(),
    )


def test_a_weight_is_so_many_equal_images() -> None:
    shown, labels = images()
    repeats, rule = counts(N), RULES["threshold"]
    rows = torch.arange(N).repeat_interleave(repeats)
    tables = [
        fit_table(
            rule, Rows(some).blocks(), of, weight, class_moments(Rows(some).blocks(), of, weight)
        )
        for some, of, weight in (
            (shown, labels, repeats.double()),
            (shown[rows], labels[rows], None),
        )
    ]
    torch.testing.assert_close(tables[0].log_likelihood, tables[1].log_likelihood)
    torch.testing.assert_close(tables[0].log_prior, tables[1].log_prior)


def test_what_all_images_answer_alike_is_finite_and_tells_next_to_nothing() -> None:
    labels = torch.arange(N) % C
    shown = torch.full((N, D), 0.5)
    for rule in (ThresholdAnswers(torch.ones(K, D), torch.zeros(K)), RULES["minmax"]):
        moments = class_moments(Rows(shown).blocks(), labels)
        table = fit_table(rule, Rows(shown).blocks(), labels, None, moments)
        assert torch.isfinite(table.log_likelihood).all()
        gains = InformationGain(table)(torch.zeros(1, K), torch.zeros(1, K))
        assert gains.amax() < 1e-3


def losses_slowly(
    of: AnswerTable, answers: Tensor, labels: Tensor, weights: Tensor, budget: int
) -> dict[float, float]:
    """Mean cross-entropy of roll-outs with a table tempered like this, over t = 1 to budget."""
    found = {}
    for worth in INDEPENDENT_ANSWERS:
        tempered = replace(of, independent_answers=worth)
        total = 0.0
        for given, label, weight in zip(answers, labels, weights, strict=True):
            _, posteriors = textbook.pursue(tempered, given, budget)
            told = [-math.log(each[int(label)]) for each in posteriors[1:]]
            total += float(weight) * sum(told) / budget
        found[worth] = total / float(weights.sum())
    return found


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_tempering_is_that_of_the_least_cross_entropy(
    levels: int, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit, "images_at_once", lambda budget, classes: 8 * fit.TABLES)
    of = replace(textbook.table(levels), independent_answers=math.inf)
    answers = textbook.answers(levels, count=20)
    labels = NaiveBayes(of)(answers, torch.ones_like(answers)).argmax(dim=1)
    labels[::4] = (labels[::4] + 1) % 4
    weights = (
        torch.rand(20, generator=torch.Generator().manual_seed(0)) if weighted else torch.ones(20)
    )
    expected = losses_slowly(of, answers, labels, weights, 5)
    given = weights.double() if weighted else None
    worth, loss = fit_independence(InformationGain(of), answers, labels, 5, given)
    assert worth == min(expected, key=expected.__getitem__)
    assert loss == pytest.approx(min(expected.values()))


def test_repeated_answers_are_found_to_be_worth_few_and_independent_ones_many() -> None:
    """Of ten queries nine repeat the first: ten answers are worth about one."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(600) % 2
    rates = torch.tensor([0.3, 0.7])
    found = []
    for copies in (True, False):
        drawn_once = torch.rand(600, 1 if copies else 10, generator=generator)
        answers = (drawn_once < rates[labels].unsqueeze(1)).float().expand(-1, 10)
        likelihood = torch.stack([1 - rates, rates]).unsqueeze(1).expand(2, 10, 2)
        of = AnswerTable(likelihood.log(), torch.full((2,), math.log(0.5)))
        found.append(fit_independence(InformationGain(of), answers.contiguous(), labels, 10)[0])
    assert found[0] <= 2
    assert found[1] >= 64


def test_a_fitted_table_classifies_unseen_images() -> None:
    points = unit(C, D, seed=5)
    labels = torch.arange(300) % C
    shown = torch.nn.functional.normalize(points[labels] + 0.3 * drawn(300, D, seed=6), dim=1)
    train, test = slice(0, 200), slice(200, 300)
    rule = ThresholdAnswers(unit(20, D, seed=7), torch.zeros(20))
    moments = class_moments(Rows(shown[train]).blocks(), labels[train])
    table = fit_table(rule, Rows(shown[train]).blocks(), labels[train], None, moments)
    rolled = roll_out(InformationGain(table), NaiveBayes(table), rule.answers(shown[test]), 10)
    right = (rolled.posteriors.argmax(dim=2) == labels[test].unsqueeze(1)).float().mean(dim=0)
    assert right[10] > 0.9
    assert right[10] > right[1] > right[0]
