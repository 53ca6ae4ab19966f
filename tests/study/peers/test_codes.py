"""Codes and their heads against scikit-learn and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso, LogisticRegression

from infopursuit_study.peers import lasso
from infopursuit_study.peers.codes import IPOMP, SpLiCE
from infopursuit_study.peers.heads import logistic_head
from tests.planted import planted


def test_codes_of_ip_omp_have_as_many_texts_as_asked_for() -> None:
    data = planted()
    model = IPOMP(data.texts, data.embeddings, budgets=(1, 3)).fit(data.X, data.y)
    for count in (1, 3):
        told = model.at(count).explain(data.X_test)
        assert told.used.sum(axis=1).tolist() == [count] * len(data.X_test)
    first = model.at(1).explain(data.X_test)
    best = np.array(first.texts)[first.used.argmax(axis=1)]
    wanted = [f"concept {['cat', 'dog', 'emu', 'fox'].index(label)}" for label in data.y_test]
    assert (best == wanted).mean() > 0.7


@pytest.mark.parametrize("nearest", [1, 4, 300])
def test_codes_of_splice_are_those_of_the_lasso_that_the_authors_solve(
    nearest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lasso, "NEAREST", nearest)
    data = planted()
    model = SpLiCE(data.texts, data.embeddings, budgets=(2, 4)).fit(data.X, data.y)
    X = torch.from_numpy(data.X_test[:20])
    atoms, signals = model.space_.atoms.numpy(), model.space_(X).numpy()
    for count, codes in model._codes(X, (2, 4)).items():
        alpha = model.penalties_[count] / atoms.shape[1]
        for code, signal in zip(codes.numpy(), signals, strict=True):
            peer = Lasso(alpha=alpha, fit_intercept=False, positive=True, tol=1e-6, max_iter=10_000)
            np.testing.assert_allclose(code, peer.fit(atoms.T, signal).coef_, atol=0.02)


def test_the_head_of_two_classes_gives_both_scores() -> None:
    draw = np.random.default_rng(0)
    codes = np.maximum(draw.normal(size=(80, 5)), 0).astype(np.float32)
    labels = (codes[:, 0] > codes[:, 1]).astype(np.int64)
    head = logistic_head(codes.astype(np.float64), torch.from_numpy(labels), 1.0)
    peer = LogisticRegression(C=1.0, tol=1e-8).fit(codes, labels)
    found = head(torch.from_numpy(codes)).softmax(dim=1).numpy()
    np.testing.assert_allclose(found, peer.predict_proba(codes), atol=0.01)
