"""PCBM against scikit-learn's stochastic solver, which the authors use; and its residual."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression, SGDClassifier

from infopursuit.peers.elastic_net import ElasticNet
from infopursuit.peers.pcbm import PCBM, HybridPCBM, fit_residual
from tests.peers.planted import planted


def test_the_head_predicts_as_the_authors_solver_does_at_the_same_penalty() -> None:
    data = planted(noise=0.5)
    model = PCBM(data.texts, data.embeddings, budgets=(3,)).fit(data.X, data.y)
    concepts = model.concepts(torch.from_numpy(data.X))
    labels = torch.from_numpy(np.unique(data.y, return_inverse=True)[1])
    penalty = 0.01
    ours = ElasticNet(concepts, labels, "one_vs_rest", 0.99).fitted(penalty)
    theirs = SGDClassifier(
        loss="log_loss", penalty="elasticnet", alpha=penalty, l1_ratio=0.99, tol=1e-6,
        max_iter=5000, random_state=0,
    ).fit(concepts.numpy(), data.y)  # fmt: skip
    shown = model.concepts(torch.from_numpy(data.X_test))
    expected = theirs.decision_function(shown.numpy())
    # Stochastic steps end near the minimum, not at it (test_elastic_net has the exact comparison).
    assert np.corrcoef(ours(shown).numpy().ravel(), expected.ravel())[0, 1] > 0.98
    assert (ours(shown).numpy().argmax(axis=1) == expected.argmax(axis=1)).mean() > 0.95


def test_projections_are_scaled_by_one_number() -> None:
    data = planted()
    model = PCBM(data.texts, data.embeddings, budgets=(2,)).fit(data.X, data.y)
    scores = data.X @ data.embeddings.T
    shown = model.concepts(torch.from_numpy(data.X)).numpy()
    ratio = (scores - scores.mean(axis=0)) / shown
    np.testing.assert_allclose(ratio, np.full_like(ratio, scores.std(axis=0).mean()), rtol=1e-2)


def test_the_residual_alone_is_a_logistic_regression() -> None:
    data = planted(noise=0.8)
    labels = torch.from_numpy(np.unique(data.y, return_inverse=True)[1])
    X = torch.from_numpy(data.X)
    weights, intercepts = fit_residual(X, labels, torch.zeros(len(X), 4), 0.01)
    peer = LogisticRegression(C=1 / (0.01 * len(X)), tol=1e-8, max_iter=5000)
    peer.fit(data.X, labels.numpy())
    found = (X @ weights + intercepts).softmax(dim=1).numpy()
    np.testing.assert_allclose(found, peer.predict_proba(data.X), atol=2e-3)


def test_the_hybrid_is_a_pcbm_and_a_residual_that_has_no_words() -> None:
    data = planted(noise=0.8)
    plain = PCBM(data.texts, data.embeddings, budgets=(1, 2)).fit(data.X, data.y)
    hybrid = HybridPCBM(data.texts, data.embeddings, 1e-3, budgets=(1, 2)).fit(data.X, data.y)
    torch.testing.assert_close(hybrid.head.weights, plain.at(2).head.weights)
    assert hybrid.score(data.X, data.y) > plain.score(data.X, data.y)
    told, without = hybrid.explain(data.X_test), plain.at(2).explain(data.X_test)
    np.testing.assert_allclose(told.values, without.values)
    assert told.offset.std(axis=0).min() > 0.1
    assert hybrid.budgets_ == ()
