"""The paper's networks as a peer: the estimator's decisions, and what its answers added."""

from __future__ import annotations

import numpy as np
import pytest

from infopursuit import VariationalInformationPursuit
from infopursuit.peers.paper_networks import TRIED, PaperNetworks
from tests.peers.planted import planted

DATA = planted(noise=0.3)


@pytest.fixture(scope="module")
def peer() -> PaperNetworks:
    made = PaperNetworks(
        DATA.texts, DATA.embeddings, DATA.texts[:8], patience=50, updates=(300, 300), budgets=(2, 5)
    )
    return made.fit(DATA.X, DATA.y, validation=(DATA.X_test[::2], DATA.y_test[::2]))


def test_it_decides_as_the_estimator(peer: PaperNetworks) -> None:
    alone = VariationalInformationPursuit(
        DATA.texts, DATA.embeddings, queries=DATA.texts[:8], schedule="plateau", patience=50,
        random_updates=300, biased_updates=300,
    ).fit(DATA.X, DATA.y, validation=(DATA.X_test[::2], DATA.y_test[::2]))  # fmt: skip
    curve = alone.accuracy_by_budget(DATA.X_test, DATA.y_test)
    np.testing.assert_allclose(peer.curve(DATA.X_test, DATA.y_test), curve)
    for count in (2, 5):
        assert peer.at(count).score(DATA.X_test, DATA.y_test) == pytest.approx(curve[count])
    assert peer.facts_["selected"] <= peer.facts_["updates"] <= 600


def test_contributions_are_what_each_answer_added(peer: PaperNetworks) -> None:
    told = peer.at(2).explain(DATA.X_test[:6])
    for row, each in enumerate(peer.model_.explain(DATA.X_test[:6])):
        before = np.array(each.prior)
        for step in each.steps[:2]:
            after = np.array(step.posterior)
            place = told.texts.index(step.query)
            np.testing.assert_allclose(
                told.values[row, :, place], np.log(after) - np.log(before), atol=1e-3
            )
            before = after


def test_a_try_is_short_and_leaves_the_peer_as_it_is(peer: PaperNetworks) -> None:
    tried = peer.for_a_try(10)
    assert (tried.updates, tried.schedule) == (TRIED, "cosine")
    assert (peer.updates, peer.schedule) == ((300, 300), "plateau")
