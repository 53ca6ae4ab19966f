"""Fitted rates against the minimum of what they are to minimise, found by another way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor
from torch.nn import functional

from infopursuit.answers.table import AnswerTable
from infopursuit.naive_bayes import fitted
from infopursuit.naive_bayes.fit import ASSUMED
from infopursuit.naive_bayes.fitted import fit_rates
from infopursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.rollout import asked_orders
from tests.naive_bayes import textbook

COPIES = 6


def repeated(count: int = 1200, levels: int = 3) -> tuple[Tensor, Tensor, AnswerTable]:
    """Answers, labels and the counted table of three classes.

    The first question is asked in six ways, with the same answer, and tells the classes apart
    badly; three others tell them apart better, independently of one another.
    """
    draw = np.random.default_rng(0)
    labels = draw.integers(3, size=count)
    rates = np.array([[0.7, 0.5, 0.3], [0.9, 0.2, 0.2], [0.2, 0.9, 0.2], [0.2, 0.2, 0.9]])
    answers = (draw.random((count, 4)) < rates[:, labels].T).astype(float)
    if levels == 3:
        answers[draw.random(answers.shape) < 0.1] = 0.5
    answers = np.repeat(answers, [COPIES, 1, 1, 1], axis=1)
    counts = np.ones((levels, answers.shape[1], 3))
    for level, row in enumerate(np.linspace(0, 1, levels)):
        for label in range(3):
            counts[level, :, label] += (answers[labels == label] == row).sum(axis=0)
    table = torch.from_numpy(counts / counts.sum(axis=0)).log()
    prior = torch.from_numpy(np.bincount(labels) / count).log()
    return (
        torch.from_numpy(answers).float(),
        torch.from_numpy(labels),
        AnswerTable(table.float(), prior.float()),
    )


def objective(
    table: Tensor, counted: AnswerTable, answers: Tensor, labels: Tensor, orders: Tensor
) -> Tensor:
    """What fitted rates minimise, with every history in place of a drawn one."""
    k, longest = answers.shape[1], orders.shape[1]
    level = counted.level_of(answers)
    told = torch.stack([table[level[:, query], query] for query in range(k)], dim=1)  # (n, k, c)
    whole = (counted.log_prior.double() + told.sum(dim=1)) / (1 + k / ASSUMED)
    rows = torch.arange(len(answers)).unsqueeze(1)
    sums = counted.log_prior.double() + told[rows, orders].cumsum(dim=1)
    wear = 1 + torch.arange(1, longest + 1).unsqueeze(1) / ASSUMED
    short = functional.cross_entropy((sums / wear).flatten(0, 1), labels.repeat_interleave(longest))
    start = counted.log_likelihood.double()
    held = (start.exp() * (start - table)).sum() * fitted.HELD / len(answers)
    return (functional.cross_entropy(whole, labels) + short) / 2 + held


@pytest.mark.parametrize("levels", [2, 3])
def test_rates_come_near_the_minimum(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, labels, counted = repeated(levels=levels)
    querier = InformationGain(counted)
    orders = asked_orders(querier, answers, answers.shape[1])
    monkeypatch.setattr(fitted, "UPDATES", 600)
    found = fit_rates(querier, answers, labels)

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        logits = torch.from_numpy(flat).view(counted.log_likelihood.shape).requires_grad_()
        loss = objective(logits.log_softmax(dim=0), counted, answers, labels, orders)
        loss.backward()
        assert logits.grad is not None
        return loss.item(), logits.grad.flatten().numpy()

    start = counted.log_likelihood.double().flatten().numpy()
    least = minimize(value, start, jac=True, method="L-BFGS-B").fun
    reached = objective(found.log_likelihood.double(), counted, answers, labels, orders).item()
    gain = value(start)[0] - least
    assert gain > 0.01
    assert reached - least < 0.02 * gain


def test_what_is_told_six_times_no_longer_counts_six_times() -> None:
    answers, labels, counted = repeated()
    found = fit_rates(InformationGain(counted), answers, labels)
    assert accuracy(found, answers, labels) > accuracy(counted, answers, labels) + 0.02


def accuracy(table: AnswerTable, answers: Tensor, labels: Tensor) -> float:
    """After all questions."""
    logits = NaiveBayes(table)(answers, torch.ones_like(answers))
    return (logits.argmax(dim=1) == labels).double().mean().item()


def test_the_result_is_a_table_of_probabilities_of_the_same_classes() -> None:
    answers, labels, counted = repeated()
    found = fit_rates(InformationGain(counted), answers, labels)
    torch.testing.assert_close(
        found.log_likelihood.exp().sum(dim=0), torch.ones_like(counted.log_likelihood[0])
    )
    assert torch.equal(found.log_prior, counted.log_prior)
    assert found.log_likelihood.dtype == counted.log_likelihood.dtype


def test_rates_that_are_held_tightly_stay_as_they_were_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers, labels, counted = repeated()
    monkeypatch.setattr(fitted, "HELD", 1e6)
    found = fit_rates(InformationGain(counted), answers, labels)
    moved = (found.log_likelihood.exp() - counted.log_likelihood.exp()).abs().max()
    assert moved < 0.01


def test_images_count_by_their_weights() -> None:
    answers, labels, counted = repeated(count=300)
    querier = InformationGain(counted)
    weights = torch.ones(300, dtype=torch.float64)
    weights[labels == 2] = 1e-6
    alike, hardly = (fit_rates(querier, answers, labels, each) for each in (None, weights))
    third = answers[labels == 2], labels[labels == 2]
    assert accuracy(hardly, *third) < accuracy(alike, *third)


def test_the_same_seed_gives_the_same_bytes() -> None:
    answers, labels, counted = repeated(count=300)
    querier = InformationGain(counted)
    first, again, other = (fit_rates(querier, answers, labels, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.log_likelihood, again.log_likelihood)
    assert not torch.equal(first.log_likelihood, other.log_likelihood)


def test_few_images_of_few_questions_are_enough() -> None:
    table = textbook.table(2)
    counted = replace(table, log_likelihood=table.log_likelihood.float())
    answers, labels = textbook.answers(2, 5).float(), torch.tensor([0, 1, 2, 3, 0])
    found = fit_rates(InformationGain(counted), answers, labels)
    assert found.log_likelihood.isfinite().all()
