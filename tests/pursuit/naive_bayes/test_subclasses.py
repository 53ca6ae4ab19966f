"""Subclasses of classes: the mixture against its definition, and what it learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from infopursuit.pursuit.answers.subclasses import SubclassTable
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.naive_bayes.subclasses import SubclassBayes, fit_subclasses
from infopursuit.pursuit.rollout import roll_out

OF = torch.tensor([0, 0, 1, 2, 2, 2])


def made_up(seed: int = 0, k: int = 4) -> tuple[SubclassTable, torch.Tensor]:
    """Return a table of six subclasses of three classes, and answers of rows."""
    generator = torch.Generator().manual_seed(seed)
    rates = torch.randn(3, k, 6, generator=generator).softmax(dim=0)
    prior = torch.randn(6, generator=generator).softmax(dim=0)
    answers = torch.randint(3, (12, k), generator=generator) / 2
    return SubclassTable(rates.log(), prior.log(), of=OF), answers


def joint(table: SubclassTable, row: torch.Tensor, asked: list[int]) -> list[float]:
    """Return P(answers that were asked for, class) of each class, from the definition."""
    rates, prior = table.log_likelihood.double().exp(), table.log_prior.double().exp()
    shares = [0.0] * 3
    for number, of in enumerate(OF.tolist()):
        share = float(prior[number])
        for query in asked:
            share *= float(rates[int(2 * row[query]), query, number])
        shares[of] += share
    return shares


@pytest.mark.parametrize("asked", [[], [0], [1, 3], [0, 1, 2, 3]])
def test_the_posterior_is_that_of_the_mixture(asked: list[int]) -> None:
    table, answers = made_up()
    mask = torch.zeros_like(answers)
    mask[:, asked] = 1
    found = SubclassBayes(table)(answers, mask).softmax(dim=1)
    for row, posterior in zip(answers, found, strict=True):
        shares = np.array(joint(table, row, asked))
        assert posterior.tolist() == pytest.approx((shares / shares.sum()).tolist(), rel=1e-5)


def test_gains_are_about_the_class_not_the_subclass() -> None:
    table, answers = made_up()
    querier = InformationGain(table)
    for asked in ([], [2], [0, 3]):
        mask = torch.zeros_like(answers)
        mask[:, asked] = 1
        gains = querier(answers, mask)
        for row, found in zip(answers, gains, strict=True):
            before = np.array(joint(table, row, asked))
            before /= before.sum()
            entropy = -(before * np.log(before)).sum()
            for query in set(range(4)) - set(asked):
                left = 0.0
                for answer in (0.0, 0.5, 1.0):
                    given = row.clone()
                    given[query] = answer
                    shares = np.array(joint(table, given, [*asked, query]))
                    shares /= sum(joint(table, row, asked))
                    after = shares / shares.sum()
                    left -= shares.sum() * (after * np.log(after)).sum()
                assert float(found[query]) == pytest.approx(entropy - left, abs=1e-6)


def test_one_subclass_a_class_is_naive_bayes() -> None:
    table, answers = made_up()
    plain = AnswerTable(table.log_likelihood, table.log_prior)
    same = SubclassTable(table.log_likelihood, table.log_prior, of=torch.arange(6))
    expected = roll_out(InformationGain(plain), NaiveBayes(plain), answers, 4)
    found = roll_out(InformationGain(same), SubclassBayes(same), answers, 4)
    assert torch.equal(found.order, expected.order)
    assert torch.allclose(found.posteriors, expected.posteriors, atol=1e-6)
    assert SubclassBayes(same).table is None is SubclassBayes(same).exact
    assert NaiveBayes(plain).table is plain


def test_some_classes_keep_their_subclasses() -> None:
    table, answers = made_up()
    some = SubclassBayes(table).for_classes(torch.tensor([0, 2]))
    mask = torch.ones_like(answers)
    whole = SubclassBayes(table)(answers, mask).softmax(dim=1)[:, [0, 2]]
    expected = whole / whole.sum(dim=1, keepdim=True)
    assert torch.allclose(some(answers, mask).softmax(dim=1), expected, atol=1e-6)
    assert torch.allclose(table.marginal.log_likelihood.exp().sum(dim=0), torch.ones(4, 3))


def repeated(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, InformationGain]:
    """Answers of which four say one thing and two each another, and the counted table."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(2, (count,), generator=generator)
    said = (labels + (torch.rand(count, generator=generator) < 0.25)) % 2
    columns = [said] * 4
    columns += [(labels + (torch.rand(count, generator=generator) < 0.3)) % 2 for _ in range(2)]
    answers = torch.stack(columns, dim=1).float()
    yes = torch.stack([answers[labels == each].mean(dim=0) for each in (0, 1)], dim=1)
    table = AnswerTable(torch.stack([1 - yes, yes]).log(), torch.tensor([0.5, 0.5]).log())
    return answers, labels, InformationGain(table)


def log_loss(table: AnswerTable, answers: torch.Tensor, labels: torch.Tensor) -> float:
    logits = table.pooled(table.evidence(answers, torch.ones_like(answers)))
    return torch.nn.functional.cross_entropy(logits, labels).item()


def test_what_is_told_again_counts_less() -> None:
    answers, labels, counted = repeated(1500, 0)
    found = fit_subclasses(counted, answers, labels)
    of = found.table.log_likelihood.shape[2]
    assert torch.allclose(found.table.log_likelihood.exp().sum(dim=0), torch.ones(6, of))
    new, truth, _ = repeated(1500, 1)
    assert log_loss(found.table, new, truth) < log_loss(counted.table, new, truth) - 0.05
    order = roll_out(found, SubclassBayes(found.table), new, 3).order
    assert ((order < 4).sum(dim=1) == 1).all(), "one of those that say the same"


def test_rows_have_no_order_and_a_repeated_row_weighs_more() -> None:
    answers, labels, counted = repeated(300, 0)
    first = fit_subclasses(counted, answers, labels)
    order = torch.randperm(300, generator=torch.Generator().manual_seed(0))
    again = fit_subclasses(counted, answers[order], labels[order])
    assert torch.equal(first.table.log_likelihood, again.table.log_likelihood)
    twice = fit_subclasses(counted, answers.repeat(2, 1), labels.repeat(2))
    heavy = fit_subclasses(counted, answers, labels, torch.full((300,), 2.0).double())
    assert torch.equal(twice.table.log_likelihood, heavy.table.log_likelihood)


def test_gaps_that_tell_nothing_stay_so() -> None:
    generator = torch.Generator().manual_seed(0)
    answers = torch.randint(3, (400, 5), generator=generator) / 2
    labels = torch.randint(3, (400,), generator=generator)
    rates = torch.rand(3, 5, 3, generator=generator)
    rates[1] = 0.3
    rates[[0, 2]] *= 0.7 / rates[[0, 2]].sum(dim=0)
    counted = InformationGain(AnswerTable(rates.log(), torch.full((3,), 1 / 3).log()))
    found = fit_subclasses(counted, answers, labels, gaps_tell=False).table.log_likelihood.exp()
    assert torch.allclose(found[1], torch.full_like(found[1], 0.3))
    assert torch.allclose(found.sum(dim=0), torch.ones(5, found.shape[2]), atol=1e-5)


@pytest.mark.parametrize("wear", [0.0, 0.5, 1.0])
def test_an_answer_that_is_alike_in_all_subclasses_moves_nothing(wear: float) -> None:
    of = torch.tensor([0, 1, 1, 1, 1])
    rates = torch.tensor([0.3, 0.7]).log()[:, None, None].expand(2, 3, 5)
    prior = torch.tensor([0.5, *[0.125] * 4]).log()
    table = SubclassTable(rates, prior, 6.0, 0.5, 0.5, 1.2, wear, of=of)
    found = SubclassBayes(table)(torch.ones(1, 3), torch.ones(1, 3)).softmax(dim=1)
    assert torch.allclose(found, torch.tensor([[0.5, 0.5]]), atol=1e-6)
    assert torch.allclose(table.logits(torch.zeros(1, 5), 2.0), table.class_prior / 2**wear)
