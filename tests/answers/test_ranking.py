"""Pairs of images that scores rank rightly, with weights and with ties."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from infopursuit.answers.ranking import ranked_pairs


@pytest.mark.parametrize("seed", range(5))
def test_as_scikit_learn_has_it(seed: int) -> None:
    draw = np.random.default_rng(seed)
    truth, scores = draw.integers(0, 2, 60).astype(float), draw.integers(0, 8, 60) / 8
    weights = draw.uniform(0.1, 3, 60)
    for given in (None, weights):
        right, pairs = ranked_pairs(scores, truth, given)
        assert right / pairs == pytest.approx(roc_auc_score(truth, scores, sample_weight=given))


def test_what_is_not_known_is_in_no_pair() -> None:
    scores, truth = np.array([3.0, 2.0, 1.0, 0.0]), np.array([1.0, np.nan, 0.0, 0.5])
    assert ranked_pairs(scores, truth) == (1.0, 1.0)
    assert ranked_pairs(scores, np.ones(4)) == (0.0, 0.0)
    assert ranked_pairs(scores, np.zeros(4)) == (0.0, 0.0)
