"""Sparse logistic regression finds planted texts, and rests on as many as it says."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from infopursuit.core.errors import InputError
from infopursuit.peers.sparse_logistic import SparseLogistic
from tests.peers.planted import planted


def test_few_concepts_are_the_planted_ones() -> None:
    data = planted()
    model = SparseLogistic(data.texts, data.embeddings, budgets=(1, 2)).fit(data.X, data.y)
    head = model.at(1).head
    assert head.effective_concepts == 1
    used = set(np.flatnonzero((head.weights != 0).any(dim=1).numpy()))
    assert used <= set(range(4))
    assert model.at(2).score(data.X_test, data.y_test) > 0.9


def test_with_every_weight_it_is_the_regression_of_scikit_learn() -> None:
    data = planted(noise=0.8)
    model = SparseLogistic(data.texts, data.embeddings, ridge=0.01, budgets=(24,))
    model.fit(data.X, data.y)
    scores = data.X @ data.embeddings.T
    z = ((scores - scores.mean(axis=0)) / scores.std(axis=0)).astype(np.float64)
    peer = LogisticRegression(C=1 / (0.01 * len(z)), max_iter=5000).fit(z, data.y)
    assert model.head.effective_concepts > 18  # the others are left out by the path's last penalty
    off = np.abs(model.predict_proba(data.X) - peer.predict_proba(z))
    assert off.mean() < 0.01
    agreed = model.predict(data.X) == peer.predict(z)
    assert agreed.mean() > 0.95


def test_fewer_texts_are_those_asked_for() -> None:
    data = planted()
    model = SparseLogistic(data.texts, data.embeddings, budgets=(1, 3)).fit(data.X, data.y)
    assert model.budgets_ == (1, 3)
    for count, scores in model.decisions_by_budget(data.X_test).items():
        np.testing.assert_array_equal(scores, model.at(count).decision_function(data.X_test))
    with pytest.raises(InputError, match=r"SparseLogistic.at\(2\): expected one of 1, 3"):
        model.at(2)
