"""Evidence of a table against sums over answers, for two, three and four levels."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from infopursuit.answers.table import AnswerTable
from tests.answers.drawn import drawn

K, C = 7, 4
LEVELS = pytest.mark.parametrize("levels", [2, 3, 4])


def table(levels: int, independent_answers: float = 3.0) -> AnswerTable:
    likelihood = drawn(levels, K, C).double().log_softmax(dim=0)
    return AnswerTable(
        likelihood, drawn(C, seed=1).double().log_softmax(dim=0), independent_answers
    )


def answers(levels: int, count: int = 30) -> Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randint(levels, (count, K), generator=generator).double() / (levels - 1)


@LEVELS
def test_evidence_is_the_sum_over_the_answers_that_were_asked(levels: int) -> None:
    given, mask = answers(levels), (drawn(30, K, seed=3) > 0).double()
    of = table(levels)
    found = of.evidence(given, mask)
    for image in range(30):
        for label in range(C):
            total = float(of.log_prior[label])
            for query in range(K):
                if mask[image, query]:
                    level = round(float(given[image, query]) * (levels - 1))
                    total += float(of.log_likelihood[level, query, label])
            assert math.isclose(float(found[image, label]), total, rel_tol=1e-9)


@LEVELS
def test_every_level_is_found_again_in_single_precision(levels: int) -> None:
    of = table(levels)
    numbers = torch.arange(levels)
    assert torch.equal(of.level_of(numbers.float() / (levels - 1)), numbers)
    told = of.told(torch.zeros(levels, dtype=torch.long), numbers.float() / (levels - 1))
    assert torch.equal(told, of.log_likelihood[:, 0])


@LEVELS
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_between_two_levels_an_answer_is_one_of_them_or_the_other(
    levels: int, share: float
) -> None:
    of = table(levels)
    given = torch.full((1, K), share / (levels - 1), dtype=torch.float64)
    low, high = of.log_likelihood[:2].exp()
    expected = ((1 - share) * low + share * high).log()
    torch.testing.assert_close(of.told(torch.arange(K), given[0]), expected)
    mask = torch.ones(1, K).double()
    torch.testing.assert_close(of.evidence(given, mask)[0], of.log_prior + expected.sum(dim=0))


def test_not_sure_between_no_and_yes_tells_nothing_and_is_no_no() -> None:
    of, given = table(2), answers(2)
    unsure = given.clone()
    unsure[:, 3] = 0.5
    mask = torch.ones_like(given)
    without = mask.clone()
    without[:, 3] = 0
    found = of.evidence(unsure, mask).softmax(dim=1)
    torch.testing.assert_close(found, of.evidence(given, without).softmax(dim=1))
    assert not torch.allclose(
        found[given[:, 3] == 0], of.evidence(given, mask).softmax(dim=1)[given[:, 3] == 0]
    )


def test_tempering_divides_and_keeps_the_most_probable_class() -> None:
    of, given = table(2, 4.0), answers(2)
    mask = (drawn(30, K, seed=3) > 0).double()
    evidence, asked = of.evidence(given, mask), mask.sum(dim=1, keepdim=True)
    for row in range(30):
        expected = evidence[row] / (1 + float(asked[row]) / 4)
        torch.testing.assert_close(of.tempered(evidence, asked)[row], expected)
    assert torch.equal(of.tempered(evidence, 6), evidence / 2.5)
    assert torch.equal(table(2, math.inf).tempered(evidence, 6), evidence)


@LEVELS
def test_a_smaller_table_has_the_same_evidence_for_what_it_has(levels: int) -> None:
    of, given, columns = table(levels), answers(levels), torch.tensor([5, 0, 2])
    mask = torch.zeros(30, K).double()
    mask[:, columns] = 1
    fewer = of.select(columns)
    assert fewer.independent_answers == of.independent_answers
    found = fewer.evidence(given[:, columns], mask[:, columns])
    torch.testing.assert_close(found, of.evidence(given, mask))


@pytest.mark.parametrize("worth", [16.0, math.inf])
def test_tensors_give_the_table_back(worth: float) -> None:
    of = table(3, worth)
    again = AnswerTable.from_tensors(of.tensors())
    assert torch.equal(again.log_likelihood, of.log_likelihood)
    assert torch.equal(again.log_prior, of.log_prior)
    assert again.independent_answers == worth
    assert (again.levels, again.to("cpu").levels) == (3, 3)
