"""The cuts that `benchmarks.cuts` compares."""

import torch

from benchmarks.cuts import TEMPERINGS, equal_bins, stated
from infopursuit.pursuit.answers.table import AnswerTable, answer_probabilities
from infopursuit.pursuit.naive_bayes.model import NaiveBayes


def test_equal_bins_hold_equally_many_images() -> None:
    scores = torch.randn(700, 3, generator=torch.Generator().manual_seed(0))
    cuts = equal_bins(scores, 7)
    levels = (scores.unsqueeze(2) > cuts).sum(dim=2)
    counts = torch.stack([torch.bincount(column, minlength=7) for column in levels.T])
    assert ((counts - 100).abs() <= 1).all()


def test_a_score_that_is_not_a_number_is_in_no_bin() -> None:
    scores = torch.arange(12.0).unsqueeze(1)
    left_out = torch.cat([scores, torch.full((50, 1), torch.nan)])
    assert torch.equal(equal_bins(left_out, 3), equal_bins(scores, 3))


def test_stated_probabilities_are_those_of_a_tempered_table() -> None:
    generator = torch.Generator().manual_seed(0)
    rates = answer_probabilities(torch.rand(4, 6, generator=generator)).clamp(0.01, 0.99)
    table = AnswerTable(rates.log(), torch.full((4,), 0.25).log())
    answers = torch.randint(0, 2, (5, 6), generator=generator).float()
    masks = torch.ones(6, 7).triu(1).T  # the first t = 0..6 questions
    tempered = TEMPERINGS[1].of(table)
    plain, wanted = (
        torch.stack([NaiveBayes(each)(answers, mask.expand(5, -1)).softmax(dim=1) for mask in masks])
        for each in (table, tempered)
    )
    found = stated(tempered, plain.transpose(0, 1))
    torch.testing.assert_close(found, wanted.transpose(0, 1).amax(dim=2))
