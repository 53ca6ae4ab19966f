"""The cuts that `benchmarks.cuts` compares."""

import torch

from benchmarks.cuts import equal_bins


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
