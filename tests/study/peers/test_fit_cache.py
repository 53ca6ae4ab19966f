"""A cache changes what is computed, never what is fitted."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from sklearn.base import clone

from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit_study.peers import elastic_net
from infopursuit_study.peers.elastic_net import ElasticNet
from infopursuit_study.peers.fit_cache import FitCache
from infopursuit_study.peers.heads import Standardisation
from infopursuit_study.peers.pursuits import Ours
from tests.study.peers.planted import made, planted

SHARING = {
    "sparse_logistic": {"ridge": 1e-4},
    "label_free": {"similarity_cutoff": 0.95},
    "pcbm_h": {"ridge": 1e-5},
    "ip_omp": {"strength": 100.0},
    "splice": {"strength": 100.0},
}


@pytest.mark.parametrize("name", sorted(SHARING))
def test_peers_with_one_cache_fit_what_they_fit_alone(name: str) -> None:
    data, other, cache = planted(), planted(seed=3), FitCache()
    for settings in ({}, SHARING[name], {"centre": False} if name == "ip_omp" else {}):
        for images in (data, other):
            alone = made(name, images).set_params(**settings)
            shared = clone(alone).set_params(cache=cache)
            found = shared.fit(images.X, images.y).decision_function(images.X_test)
            expected = alone.fit(images.X, images.y).decision_function(images.X_test)
            np.testing.assert_array_equal(found, expected)


def test_ours_chooses_its_questions_once_for_all_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []
    original = InformationPursuitClassifier.select_queries
    monkeypatch.setattr(
        InformationPursuitClassifier,
        "select_queries",
        lambda self, *given: chosen.append(self.n_queries) or original(self, *given),
    )
    data, cache = planted(), FitCache()
    for k, rates in product((4, 8), ("counted", "fitted")):
        alone = Ours(data.texts, data.embeddings, k, rates, budgets=(2, 4))
        shared = clone(alone).set_params(cache=cache)
        validation = data.X_test, data.y_test
        alone.fit(data.X, data.y, validation)
        shared.fit(data.X, data.y, validation)
        assert shared.pursuit_.queries == alone.pursuit_.queries
        found, expected = shared.decisions_by_budget(data.X), alone.decisions_by_budget(data.X)
        for t in (2, 4):
            np.testing.assert_array_equal(found[t], expected[t])
    assert chosen == [4, 8]


def test_tries_share_one_path(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = []
    original = ElasticNet.fitted
    monkeypatch.setattr(
        ElasticNet, "fitted", lambda *given: fitted.append(given[1]) or original(*given)
    )
    data, cache = planted(), FitCache()
    for ridge in (1e-2, 1e-3, 1e-4):
        model = made("sparse_logistic", data).set_params(ridge=ridge, cache=cache)
        model.fit(data.X, data.y)
    assert len(fitted) == len(set(fitted)) > 0


def test_a_longer_path_goes_on_from_a_shorter_one() -> None:
    data = planted()
    scores = torch.from_numpy(data.X @ data.embeddings.T)
    labels = torch.from_numpy(np.unique(data.y, return_inverse=True)[1])
    concepts = Standardisation.from_data(scores)(scores)
    once = ElasticNet(concepts, labels)
    short, long = once.path(2), once.path(5)
    assert 0 < len(short) < len(long)
    for head, expected in zip(long, ElasticNet(concepts, labels).path(5), strict=True):
        assert torch.equal(head.weights, expected.weights)
    assert once.path(2) == short
    assert elastic_net.STEP ** len(long) >= elastic_net.LAST
