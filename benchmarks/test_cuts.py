"""The cuts that `benchmarks.cuts` compares."""

import torch
from torch import Tensor

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
    tempered = TEMPERINGS[1].of(table)
    plain, wanted = (of_all(NaiveBayes(each), answers) for each in (table, tempered))
    torch.testing.assert_close(stated(tempered, plain), wanted.amax(dim=2))


def of_all(classifier: NaiveBayes, answers: Tensor) -> Tensor:
    """Return the posteriors after the first t = 0..k answers, one history at a time."""
    n, k = answers.shape
    masks = torch.ones(k, k + 1).triu(1).T
    return torch.stack(
        [classifier(answers, mask.expand(n, -1)).softmax(dim=1) for mask in masks], dim=1
    )
