"""Pursuits as peers: generative IP by hand, ours and the paper's networks as the estimators."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from infopursuit import InformationPursuitClassifier, VariationalInformationPursuit
from infopursuit_study.peers.binary_answers import answers_of
from infopursuit_study.peers.pursuits import GenerativeIP, Ours, PaperNetworks
from tests.planted import Planted, planted


def by_hand(data: Planted, answers: np.ndarray, asked: np.ndarray, steps: int):
    """Posteriors and questions of one image, from counts and the definition of information."""
    classes, labels = np.unique(data.y, return_inverse=True)
    totals = np.bincount(labels)
    rates = np.array([answers[labels == c].sum(axis=0) + 1 for c in range(len(classes))])
    rates = rates / (totals[:, None] + 2)
    posterior, order = totals / totals.sum(), []
    for _ in range(steps):
        gains = []
        for text in range(answers.shape[1]):
            joint = np.stack([posterior * (1 - rates[:, text]), posterior * rates[:, text]])
            apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
            gains.append(-1.0 if text in order else (joint * np.log(joint / apart)).sum())
        text = int(np.argmax(gains))
        order.append(text)
        posterior = posterior * np.where(asked[text], rates[:, text], 1 - rates[:, text])
        posterior = posterior / posterior.sum()
    return order, posterior


@pytest.mark.parametrize("threshold", ["median", "informative"])
def test_generative_ip_asks_and_concludes_as_the_definition_says(threshold: str) -> None:
    data = planted(noise=0.5)
    model = GenerativeIP(data.texts, data.embeddings, threshold, budgets=(3,))
    model.fit(data.X, data.y)
    X = torch.from_numpy(data.X)
    answers = answers_of(model.pursuit_.rule, X).numpy()
    tested = answers_of(model.pursuit_.rule, torch.from_numpy(data.X_test)).numpy()
    found = model.at(3).predict_proba(data.X_test)
    told = model.at(3).explain(data.X_test[:12])
    for row in range(12):
        order, posterior = by_hand(data, answers, tested[row], 3)
        np.testing.assert_allclose(found[row], posterior, atol=1e-4)
        used = {told.texts[place] for place in np.flatnonzero(told.used[row])}
        assert used == {data.texts[text] for text in order}


def test_ours_is_the_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    data = planted(noise=0.5)
    model = Ours(data.texts, data.embeddings, 12, budgets=(2, 5)).fit(data.X, data.y)
    peer = InformationPursuitClassifier(data.texts, data.embeddings, 12).fit(data.X, data.y)
    curve = peer.accuracy_by_budget(data.X_test, data.y_test)
    np.testing.assert_allclose(model.curve(data.X_test, data.y_test), curve)
    with monkeypatch.context() as few:
        few.setattr("infopursuit_study.peers.pursuits.images_at_once", lambda *_: 7)
        few.setattr("infopursuit.estimators.base.images_at_once", lambda *_: 9)
        np.testing.assert_allclose(model.curve(data.X_test, data.y_test), curve)
        np.testing.assert_allclose(peer.accuracy_by_budget(data.X_test, data.y_test), curve)
    for count in (2, 5):
        assert model.at(count).score(data.X_test, data.y_test) == pytest.approx(curve[count])
    asked = model.at(5).explain(data.X_test[:3])
    for row, each in enumerate(peer.explain(data.X_test[:3])):
        first = {step.query for step in each.steps[:5]}
        used = {asked.texts[place] for place in np.flatnonzero(asked.used[row])}
        assert first <= used


NET = planted(noise=0.3)


@pytest.fixture(scope="module")
def peer() -> PaperNetworks:
    made = PaperNetworks(
        NET.texts, NET.embeddings, NET.texts[:8], patience=50, updates=(100, 100), budgets=(2, 5)
    )
    return made.fit(NET.X, NET.y, validation=(NET.X_test[::2], NET.y_test[::2]))


def test_it_decides_as_the_estimator(peer: PaperNetworks) -> None:
    alone = VariationalInformationPursuit(
        NET.texts, NET.embeddings, queries=NET.texts[:8], schedule="plateau", patience=50,
        random_updates=100, biased_updates=100,
    ).fit(NET.X, NET.y, validation=(NET.X_test[::2], NET.y_test[::2]))  # fmt: skip
    curve = alone.accuracy_by_budget(NET.X_test, NET.y_test)
    np.testing.assert_allclose(peer.curve(NET.X_test, NET.y_test), curve)
    for count in (2, 5):
        assert peer.at(count).score(NET.X_test, NET.y_test) == pytest.approx(curve[count])
    assert peer.facts_["selected"] <= peer.facts_["updates"] <= 200


def test_contributions_are_what_each_answer_added(peer: PaperNetworks) -> None:
    told = peer.at(2).explain(NET.X_test[:6])
    for row, each in enumerate(peer.model_.explain(NET.X_test[:6])):
        before = np.array(each.prior)
        for step in each.steps[:2]:
            after = np.array(step.posterior)
            place = told.texts.index(step.query)
            np.testing.assert_allclose(
                told.values[row, :, place], np.log(after) - np.log(before), atol=1e-3
            )
            before = after
