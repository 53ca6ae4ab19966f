"""One order for all images: forward selection, residual concepts, a searched dictionary."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import mahalanobis
from sklearn.linear_model import LogisticRegression

from infopursuit.peers.lm4cv import LM4CV, Mahalanobis, nearest_once
from infopursuit.peers.res_cbm import ResCBM
from infopursuit.peers.selected_texts import SelectedTexts
from tests.peers.planted import planted


@pytest.mark.parametrize("answers", ["informative", "median", None])
def test_the_head_is_scikit_learns_on_the_first_texts(answers: str | None) -> None:
    data = planted(noise=0.5)
    model = SelectedTexts(data.texts, data.embeddings, answers, budgets=(3, 6))
    model.fit(data.X, data.y)
    scores = data.X @ data.embeddings.T, data.X_test @ data.embeddings.T
    if answers is None:
        mean, spread = scores[0].mean(axis=0), scores[0].std(axis=0)
        seen, shown = ((each - mean) / spread for each in scores)
    else:
        assert model.rule_ is not None
        seen, shown = (
            2 * model.rule_.of_scores(model.rule_.scores(torch.from_numpy(each))).numpy() - 1
            for each in (data.X, data.X_test)
        )
    for count in (3, 6):
        texts = model.order_[:count]
        peer = LogisticRegression(C=1.0, max_iter=1000).fit(seen[:, texts], data.y)
        expected = peer.predict_proba(shown[:, texts])
        np.testing.assert_allclose(model.at(count).predict_proba(data.X_test), expected, atol=2e-3)


def test_the_planted_texts_are_selected_first() -> None:
    data = planted()
    model = SelectedTexts(data.texts, data.embeddings, None, budgets=(3,)).fit(data.X, data.y)
    assert set(model.order_) <= {0, 1, 2, 3}


@pytest.mark.parametrize("wanted", [0, 5, 17])
def test_a_residual_concept_is_what_the_bottleneck_lacks(wanted: int) -> None:
    """Classes differ in one direction, which one text names, and nothing is known so far."""
    data = planted()
    model = ResCBM(data.texts, data.embeddings, budgets=(4,)).fit(data.X, data.y)
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(200) % 2
    texts = torch.from_numpy(data.embeddings)
    away = texts[wanted] - texts.mean(dim=0)
    X = labels[:, None] * away + 0.2 * torch.randn(200, texts.shape[1], generator=generator)
    nothing = torch.zeros(200, 2)
    assert model._discovered(X - X.mean(dim=0), labels, nothing, []) == wanted
    assert model._discovered(X - X.mean(dim=0), labels, nothing, [wanted]) != wanted


def test_a_bottleneck_of_residual_concepts_tells_the_classes_apart() -> None:
    data = planted()
    model = ResCBM(data.texts, data.embeddings, begin=1, budgets=(4,)).fit(data.X, data.y)
    assert model.score(data.X_test, data.y_test) > 0.95


def test_a_stronger_pull_ends_nearer_to_a_text() -> None:
    data = planted(noise=0.5)
    model = ResCBM(data.texts, data.embeddings, begin=2, pull=0.0, budgets=(5,))
    loose = model.fit(data.X, data.y).order_
    tight = ResCBM(data.texts, data.embeddings, begin=2, pull=5.0, budgets=(5,))
    assert len(set(loose)) == len(set(tight.fit(data.X, data.y).order_)) == 5


def test_the_distance_is_mahalanobis_and_one_is_usual() -> None:
    texts = torch.randn(200, 5, generator=torch.Generator().manual_seed(0)) * torch.arange(1, 6)
    distances = Mahalanobis(texts)
    assert distances(texts).mean().item() == pytest.approx(1.0, abs=1e-5)
    covariance = np.cov(texts.numpy().T)
    inverse = np.linalg.inv(covariance + 1e-2 * np.diag(covariance).mean() * np.eye(5))
    row = texts[7].numpy()
    expected = mahalanobis(row, texts.numpy().mean(axis=0), inverse) ** 2
    assert distances(texts)[7].item() * distances.usual.item() == pytest.approx(expected, rel=1e-3)


def test_a_text_that_is_taken_is_not_taken_again() -> None:
    texts = torch.eye(3)
    vectors = torch.tensor([[1.0, 0.2, 0.0], [1.0, 0.3, 0.1], [1.0, 0.1, 0.2]])
    assert nearest_once(vectors, texts) == [0, 1, 2]


def test_the_search_improves_on_where_it_starts() -> None:
    data = planted(noise=0.3, per_class=80)
    start = LM4CV(data.texts, data.embeddings, updates=0, budgets=(4,), random_state=1)
    ended = LM4CV(data.texts, data.embeddings, updates=300, budgets=(4,), random_state=1)
    before = start.fit(data.X, data.y).score(data.X_test, data.y_test)
    after = ended.fit(data.X, data.y).score(data.X_test, data.y_test)
    assert after > before + 0.05
