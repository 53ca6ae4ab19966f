"""A yes is compared with how often the label is true of the same class."""

from __future__ import annotations

import numpy as np

from infopursuit_study.experiments.skin import confirmed


def test_a_yes_that_knows_nothing_gains_nothing_and_one_that_knows_does() -> None:
    draw = np.random.default_rng(0)
    true = draw.random(600) < 0.3
    blind = draw.random((600, 2)) < 0.2
    count, share, base, (low, high) = confirmed(blind, true)
    assert (count, base) == (blind.sum(), 100 * true.mean())
    assert low < share - base < high and low < 0 < high
    _, share, base, (low, _) = confirmed(blind | true[:, None], true)
    assert share > 60 and share - base > low > 20
    assert np.isnan(confirmed(np.zeros((600, 1), dtype=bool), true)[1])
