"""The protocol: what is chosen on what, what is counted, and what is absent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from infopursuit.datasets.labelled_images import hold_out
from infopursuit.pipeline.benchmark_settings import TITLES
from infopursuit_study.comparison.entries import ENTRIES, TRIES, Entry, Task, named
from infopursuit_study.comparison.protocol import count_claims, measure_seed
from infopursuit_study.peers import pursuits
from infopursuit_study.peers.codes import SpLiCE
from infopursuit_study.peers.peer import BUDGETS, Contributions, Peer
from tests.study.comparison.tasks import small_task

TASK = small_task()


def test_every_peer_has_a_name_and_no_more_tries_than_any_other() -> None:
    assert list(ENTRIES) == list(TITLES)
    assert all(1 <= len(entry.tries) <= TRIES for entry in ENTRIES.values())


# The paper's networks, trained to the end, take minutes: they have a test of their own.
NETWORKS = [name for name in ENTRIES if name.startswith("vip_")]


@pytest.mark.parametrize("name", sorted(name for name in ENTRIES if not ENTRIES[name].network))
def test_every_peer_runs_and_tells_the_classes_apart(name: str) -> None:
    first, *others = ENTRIES[name].tries
    found = measure_seed(replace(ENTRIES[name], tries=(first, *others[-1:])), TASK, 0, 0.2)
    assert found is not None
    metrics, labels = found.metrics, TASK.test.labels.numpy()
    assert metrics["accuracy"] > 0.75
    predicted = found.predictions.predicted
    assert metrics["accuracy"] == pytest.approx((predicted[:, -1] == labels).mean())
    assert metrics["settings"] in ENTRIES[name].tries
    bounded = "accuracy_at_5" in metrics
    assert bounded == (TITLES[name].unit != "all")
    for place, t in enumerate(BUDGETS):
        if bounded:
            right = (predicted[:, place] == labels).mean()
            assert metrics[f"accuracy_at_{t}"] == pytest.approx(right)
        else:
            assert (predicted[:, place] == -1).all()
    assert ("random_words_accuracy" in metrics) == ENTRIES[name].controlled
    assert (metrics["claims_in_model"] > 0) == (name not in ("probe", "gda"))
    assert all(value >= 0 for value in found.timings.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_run_and_say_how_many_updates_they_took(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pursuits, "TUNING", (60, 40))
    entry, task = ENTRIES[name], replace(TASK, listed=TASK.texts[:12])
    short = {"patience": 20, "updates": (100, 100), "n_queries": 12}

    def make(task: Task, texts: Sequence[str], embeddings: np.ndarray) -> Peer | None:
        made = entry.make(task, texts, embeddings)
        return None if made is None else made.set_params(**short)

    found = measure_seed(replace(entry, make=make, tries=({}, {"weight_decay": 1.0})), task, 0, 0.2)
    assert found is not None
    assert found.metrics["accuracy"] > 0.5  # of four classes
    assert 0 < found.metrics["selected"] <= found.metrics["updates"] <= 200
    assert "accuracy_at_5" in found.metrics
    assert measure_seed(replace(entry, make=make), TASK, 0, 0.2) is None


def test_what_a_task_lacks_makes_a_peer_absent() -> None:
    bare = small_task(class_embeddings=None, knowledge=None, control=None, reference=None)
    for name in ("zero_shot", "labo_knowing", "ours_knowing"):
        assert measure_seed(ENTRIES[name], bare, 0, 0.2) is None
        assert ENTRIES[name].lacks
    found = measure_seed(ENTRIES["splice"], bare, 0, 0.2)
    assert found is not None
    assert found.metrics["claims_true"] is None
    assert "random_words_accuracy" not in found.metrics


def test_settings_are_chosen_on_held_out_images_and_test_is_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The setting with the best held-out score wins, whatever it does on test."""
    seen: list[int] = []
    scored = Peer.score

    def spied(self: Peer, X: np.ndarray, y: np.ndarray, sample_weight: object = None) -> float:
        seen.append(len(X))
        return scored(self, X, y)

    monkeypatch.setattr(Peer, "score", spied)
    strengths = ({"strength": 1e-6}, {"strength": 1.0})
    entry = Entry(lambda _, texts, rows: SpLiCE(texts, rows), strengths)
    found = measure_seed(entry, TASK, 3, 0.2)
    assert found is not None
    _, held_out = hold_out(TASK.train, 0.2, 3)
    assert seen == [len(held_out.ids)] * 2
    train, _ = hold_out(TASK.train, 0.2, 3)
    scores = [
        float(
            SpLiCE(TASK.texts, TASK.embeddings, **settings, budgets=(10,))
            .fit(*named(train))
            .score(*named(held_out))
        )
        for settings in strengths
    ]
    assert found.metrics["settings"] == strengths[int(np.argmax(scores))]
    assert found.metrics["held_out_accuracy"] == pytest.approx(max(scores))


CLASSES = np.array(["cat", "dog"])


def made() -> Any:
    """Two images, three texts; the first is predicted a cat, the second a dog."""
    cat = np.array([[3.0, 1.0, -0.5], [-2.0, 0.5, 1.0]])
    margin = np.array([[0.3, 0.1, -0.2], [-0.1, 0.2, 0.4]])
    values, used = np.stack([cat, -cat], axis=1), np.ones((2, 3), dtype=bool)
    texts = ("whiskers", "tail", "wheel")
    told = Contributions(CLASSES, texts, values, np.zeros((2, 2)), used, margin)
    return Mock(Peer, explain=lambda X: told)


FITS = np.array([[True, True, False], [False, True, False]])  # cat, dog


def test_claims_are_what_images_are_taken_to_show() -> None:
    found = count_claims(
        made(), np.arange(2.0)[:, None], np.array([0, 1]), FITS, ("whiskers", "tail", "wheel")
    )
    # Shown: whiskers and tail of the cat (both fit), tail and wheel of the dog (the tail fits).
    assert found.true == pytest.approx(3 / 4)
    # For the cat speak whiskers and tail. For the dog speak no shown texts: both speak for the cat.
    assert found.supported == pytest.approx(1.0)
    # Of the three texts that each decision rests on, the wheel fits no class.
    assert found.plausible == pytest.approx(4 / 6)
    assert (found.texts, found.in_model) == (3.0, 3)
    # By margin: wheel (no), whiskers (yes), tail of the dog (yes), tail of the cat (yes).
    at = {0.5: 0.0, 1.0: 1 / 2, 1.5: 2 / 3, 2.0: 3 / 4, 3.0: None}
    assert found.true_at == pytest.approx(at)
    # At one an image: those of the wheel, which is wrong, and of the whiskers.
    assert found.by_image == [[1, 1], [1, 0]]
