"""Whether an image looks like any class: p-values that hold, and strangers."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.conformity import Conformity

K, C = 30, 4


def sure_table(levels: int, most: float = 0.95) -> AnswerTable:
    """Of each query one answer is far more probable in each class than the others."""
    generator = torch.Generator().manual_seed(levels)
    usual = torch.randint(levels, (K, C), generator=generator).unsqueeze(0)
    sure = 0.75 + (most - 0.75) * torch.rand(1, K, C, generator=generator).double()
    likelihood = ((1 - sure) / (levels - 1)).expand(levels, K, C).scatter(0, usual, sure)
    return AnswerTable(likelihood.log(), torch.full((C,), 1 / C).double().log())


def drawn_answers(of: AnswerTable, count: int, seed: int) -> Tensor:
    """Of images of the classes in turn, drawn from the table."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % C
    chances = of.log_likelihood.exp()[:, :, labels].permute(2, 1, 0).reshape(-1, of.levels)
    levels = torch.multinomial(chances, 1, generator=generator).view(count, K)
    return levels.double() / (of.levels - 1)


@pytest.mark.parametrize("levels", [2, 3])
def test_a_p_value_is_the_share_of_held_out_images_as_unlikely(levels: int) -> None:
    of = sure_table(levels)
    found = Conformity(of, drawn_answers(of, 19, seed=1))
    given = drawn_answers(found.table, 12, seed=2)

    def likelihood(answers: Tensor) -> float:
        totals = []
        for label in range(C):
            of_class = found.table.log_likelihood[:, :, label]
            given = enumerate(answers.tolist())
            totals.append(sum(float(of_class[round(a * (levels - 1)), i]) for i, a in given))
        return max(totals)

    before = [likelihood(row) for row in found.held_out]
    for row, value in zip(given, found.p_values(given).tolist(), strict=True):
        as_unlikely = sum(each <= likelihood(row) + 1e-9 for each in before)
        assert math.isclose(value, (1 + as_unlikely) / 20, rel_tol=1e-6)


def test_ties_are_ties_in_every_batch() -> None:
    """All answers are equally sure: likelihoods count the unusual ones, and most are tied."""
    of = sure_table(2, most=0.75)
    of = AnswerTable(of.log_likelihood.float(), of.log_prior.float())
    held_out = drawn_answers(of, 200, seed=1).float()
    found = Conformity(of, held_out)
    unusual = (of.log_likelihood[1] > of.log_likelihood[0]).float().T.unsqueeze(1) != held_out
    counts = unusual.sum(dim=2).amin(dim=0)
    expected = (1 + (counts >= counts.unsqueeze(1)).sum(dim=1)) / 201
    assert len(counts.unique()) < 15
    torch.testing.assert_close(found.p_values(held_out), expected)
    for row in range(20):
        assert torch.equal(
            found.p_values(held_out[row : row + 1]), found.p_values(held_out)[row : row + 1]
        )
