"""The contract of every peer: scikit-learn's interface, and explanations that sum to scores."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from infopursuit_study.comparison.entries import ENTRIES, named
from infopursuit_study.peers.peer import Peer
from tests.study.comparison.tasks import small_task

TASK = small_task()
X, y = named(TASK.test)
# Of the paper's networks one: the others differ in what the estimator does.
NAMES = [
    name for name, entry in ENTRIES.items() if not entry.network or name in ("gdfs", "vip_fixed")
]
UPDATES = (60, 30)  # of networks


@pytest.fixture(scope="module")
def fitted() -> dict[str, Peer]:
    task, peers = replace(TASK, listed=TASK.texts[:8]), {}
    for name in NAMES:
        peer = ENTRIES[name].make(task, task.texts, task.embeddings)
        assert peer is not None
        settings: dict = {"updates": UPDATES} if ENTRIES[name].network else {}
        settings |= {"budgets": (2, 4)} if "budgets" in peer.get_params() else {}
        peers[name] = peer.set_params(**settings).fit(*named(task.train))
    return peers


@pytest.mark.parametrize("name", NAMES)
def test_contributions_and_offset_are_the_scores(name: str, fitted: dict[str, Peer]) -> None:
    whole = fitted[name]
    for model in (whole, *(whole.at(count) for count in whole.budgets_)):
        told, shares = model.explain(X[:9]), model.predict_proba(X[:9])
        odds = np.exp(told.scores - told.scores.max(axis=1, keepdims=True))
        np.testing.assert_allclose(odds / odds.sum(axis=1, keepdims=True), shares, atol=1e-4)
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)
        assert told.predicted.tolist() == model.predict(X[:9]).tolist()
        assert not (told.shows & ~told.used).any()
        assert set(told.texts) <= set(TASK.texts) | set(y)
        sizes = f"{len(told.texts)} texts? to {len(told.classes)} classes in 9 rows"
        assert re.fullmatch(f"<Contributions of {sizes}>", repr(told))
        assert not told.values[~np.broadcast_to(told.used[:, None], told.values.shape)].any()


@pytest.mark.parametrize("name", NAMES)
def test_scores_by_budget_are_those_of_the_smaller_models(
    name: str, fitted: dict[str, Peer]
) -> None:
    model = fitted[name]
    found = model.decisions_by_budget(X)
    assert tuple(found) == (*model.budgets_, None)
    for count, scores in found.items():
        expected = model.at(count).decision_function(X)
        # A number that all classes share decides nothing.
        apart = [each - each.max(axis=1, keepdims=True) for each in (scores, expected)]
        np.testing.assert_allclose(*apart, atol=1e-3)
