"""The protocol: what is chosen on what, what is counted, and what is absent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from infopursuit.benchmark import protocol
from infopursuit.benchmark.entries import ENTRIES, TRIES, Entry
from infopursuit.benchmark.protocol import measure_seed
from infopursuit.benchmark.task import Task, named
from infopursuit.benchmark.titles import TITLES
from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from infopursuit.peers import paper_networks
from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.peer import Peer
from infopursuit.peers.selected_texts import SelectedTexts
from tests.benchmark.tasks import NAMES, small_task

TASK = small_task()


def test_every_peer_has_a_name_and_no_more_tries_than_any_other() -> None:
    assert list(ENTRIES) == list(TITLES)
    assert all(1 <= len(entry.tries) <= TRIES for entry in ENTRIES.values())


# The paper's networks, trained to the end, take minutes: they have a test of their own.
NETWORKS = [name for name in ENTRIES if name.startswith("vip_")]


@pytest.mark.parametrize("name", sorted(set(ENTRIES) - set(NETWORKS)))
def test_every_peer_runs_and_tells_the_classes_apart(name: str) -> None:
    found = measure_seed(ENTRIES[name], TASK, 0, 0.2)
    assert found is not None
    metrics, labels = found.metrics, TASK.test.labels.numpy()
    assert metrics["accuracy"] > 0.75
    assert metrics["accuracy"] == pytest.approx((found.predicted[:, -1] == labels).mean())
    assert metrics["settings"] in ENTRIES[name].tries
    bounded = "accuracy_at_5" in metrics
    assert bounded == (TITLES[name].unit != "all")
    for place, t in enumerate(BUDGETS):
        if bounded:
            right = (found.predicted[:, place] == labels).mean()
            assert metrics[f"accuracy_at_{t}"] == pytest.approx(right)
        else:
            assert (found.predicted[:, place] == -1).all()
    assert ("random_words_accuracy" in metrics) == ENTRIES[name].controlled
    assert (metrics["claims_in_model"] > 0) == (name not in ("probe", "mlp"))
    assert all(value >= 0 for value in found.timings.values())


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_run_and_say_how_many_updates_they_took(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper_networks, "TRIED", (60, 40))
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
    listed = replace(entry, make=make)
    assert (measure_seed(listed, TASK, 0, 0.2) is None) == (name != "vip_medoids")


def test_a_model_that_was_tried_as_a_whole_is_not_fitted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fitted = []
    original = protocol._fitted
    monkeypatch.setattr(
        protocol, "_fitted", lambda *given: fitted.append(given[0]) or original(*given)
    )
    for name, fits in (("probe", 4), ("generative_ip", 4 + 1), ("selected_scores", 5 + 1)):
        fitted.clear()
        found = measure_seed(ENTRIES[name], TASK, 0, 0.2)
        assert found is not None
        assert len(fitted) == fits  # one more with words that say nothing
        assert found.timings["fit_seconds"] > 0


def test_what_a_task_lacks_makes_a_peer_absent() -> None:
    bare = small_task(class_embeddings=None, knowledge=None, control=None, judged=None)
    for name in ("zero_shot", "descriptions", "labo_knowing", "ours_knowing"):
        assert measure_seed(ENTRIES[name], bare, 0, 0.2) is None
        assert ENTRIES[name].lacks
    found = measure_seed(ENTRIES["selected_scores"], bare, 0, 0.2)
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
    entry = Entry(lambda _, texts, rows: SelectedTexts(texts, rows, None), strengths)
    found = measure_seed(entry, TASK, 3, 0.2)
    assert found is not None
    _, held_out = hold_out(TASK.train, 0.2, 3)
    assert seen == [len(held_out.ids)] * 2
    train, _ = hold_out(TASK.train, 0.2, 3)
    scores = [
        float(
            SelectedTexts(TASK.texts, TASK.embeddings, None, **settings, budgets=(10,))
            .fit(*named(train))
            .score(*named(held_out))
        )
        for settings in strengths
    ]
    assert found.metrics["settings"] == strengths[int(np.argmax(scores))]
    assert found.metrics["held_out_accuracy"] == pytest.approx(max(scores))


def test_a_peer_is_fitted_on_what_is_not_held_out() -> None:
    shown: list[int] = []

    class Spy(SelectedTexts):
        def _fit(self, X: torch.Tensor, labels: torch.Tensor, texts: torch.Tensor) -> None:
            shown.append(len(X))
            super()._fit(X, labels, texts)

    measure_seed(Entry(lambda _, t, e: Spy(t, e, None), controlled=False), TASK, 0, 0.2)
    train, _ = hold_out(TASK.train, 0.2, 0)
    assert shown == [len(train.ids)]


def test_labels_keep_their_numbers_where_names_are_not_sorted() -> None:
    assert list(NAMES) != sorted(NAMES)
    found = measure_seed(ENTRIES["selected_scores"], TASK, 0, 0.2)
    assert found is not None
    assert (found.predicted[:, -1] == TASK.test.labels.numpy()).mean() > 0.9


def test_random_words_say_less() -> None:
    noisy = small_task(noise=0.5)
    found = measure_seed(ENTRIES["generative_ip"], noisy, 0, 0.2)
    assert found is not None
    assert found.metrics["accuracy_at_5"] > found.metrics["random_words_accuracy_at_5"] + 0.1


def test_another_seed_holds_out_other_images() -> None:
    drawn: list[LabelledImages] = []
    made = protocol.hold_out

    def spied(images: LabelledImages, share: float, seed: int):
        parts = made(images, share, seed)
        drawn.append(parts[1])
        return parts

    protocol.hold_out = spied
    try:
        for seed in (0, 0, 1):
            measure_seed(ENTRIES["selected_scores"], replace(TASK, control=None), seed, 0.2)
    finally:
        protocol.hold_out = made
    assert drawn[0].ids == drawn[1].ids != drawn[2].ids


def test_names_of_classes_are_judged_by_nobody() -> None:
    found = measure_seed(ENTRIES["zero_shot"], TASK, 0, 0.2)
    assert found is not None
    assert found.metrics["claims_true"] is None
    assert found.metrics["claims_texts"] == len(NAMES)
    described = measure_seed(ENTRIES["descriptions"], TASK, 0, 0.2)
    assert described is not None
    assert described.metrics["claims_true"] > 0.5
