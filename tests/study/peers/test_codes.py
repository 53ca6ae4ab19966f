"""Codes and their heads against scikit-learn and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import mahalanobis
from sklearn.linear_model import Lasso, LogisticRegression

from infopursuit_study.peers.codes import (
    IPOMP,
    LM4CV,
    Mahalanobis,
    ResCBM,
    SelectedTexts,
    SpLiCE,
    nearest_once,
)
from infopursuit_study.peers.heads import logistic_head
from tests.study.peers.planted import planted


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


def test_without_a_learned_head_the_nearest_mean_image_wins() -> None:
    data = planted()
    model = IPOMP(data.texts, data.embeddings, learned=False, budgets=(20,)).fit(data.X, data.y)
    signals, test = model.space_(torch.from_numpy(data.X)), torch.from_numpy(data.X_test)
    labels = np.unique(data.y, return_inverse=True)[1]
    means = np.stack([signals.numpy()[labels == label].mean(axis=0) for label in range(4)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    # Twenty of 24 texts span most of the space: the reconstruction is nearly the image.
    nearest = (model.space_(test).numpy() @ means.T).argmax(axis=1)
    assert (model.predict(data.X_test) == model.classes_[nearest]).mean() > 0.95


def test_codes_of_splice_are_those_of_the_lasso_that_the_authors_solve() -> None:
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
