"""Training learns what it should, repeats bit by bit, and resumes exactly."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch.nn.functional import normalize

from infopursuit.core.repeatable import compute_repeatably
from infopursuit.datasets.labelled_images import even_sample
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pursuit.answers.rules import ThresholdAnswers
from infopursuit.pursuit.vip import updates as answering
from infopursuit.pursuit.vip.batches import HistoryDraws
from infopursuit.pursuit.vip.checkpoints import Checkpoint
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.pursuit.vip.training import Trained, Trainer, TrainingImages
from infopursuit.pursuit.vip.updates import fit_threshold_rule
from tests.devices import DEVICES
from tests.pursuit.vip.device_checks import (
    assert_same_bits,
    check_never_waits,
    check_repeats,
    check_resumes,
)
from tests.pursuit.vip.planted import K, planted, trainer


def run(method: str = "alternating", seed: int = 0, **chosen: object) -> Trained:
    return trainer(method, seed, **chosen).train()


@pytest.mark.parametrize("method", ["fixed", "alternating", "joint"])
def test_every_method_learns_the_planted_classes(method: str) -> None:
    trained = run(method, random_updates=150, biased_updates=150)
    assert trained.selected["validation_auc"] > 0.6
    # After all queries the planted classes are told apart almost without error.
    assert trained.log[-1]["loss"] < trained.log[0]["loss"]


def test_methods_compare_update_for_update_and_move_the_dictionary() -> None:
    runs = {method: run(method) for method in ("fixed", "alternating", "joint")}
    last = {method: trained.log[-1] for method, trained in runs.items()}
    assert {row["updates"] for row in last.values()} == {48}
    # The last validation comes before the dictionary's update on the same batch.
    updates = {method: row["dictionary_updates"] for method, row in last.items()}
    assert updates == {"fixed": 0, "alternating": 48 // 4 - 1, "joint": 48}
    assert all(torch.equal(rows, torch.arange(K)) for rows in runs["fixed"].rows.values())
    assert run(seed=1).log != runs["alternating"].log
    learned = run("alternating", dictionary_learning_rate=0.1)
    assert learned.log[-1]["queries_changed"] > 0
    assert not torch.equal(learned.rows["final"], learned.rows["initial"])


def test_final_queries_are_texts_of_the_universe_unless_they_are_free() -> None:
    _, universe = planted(6, seed=0)
    trained = run(dictionary_learning_rate=0.1)
    torch.testing.assert_close(trained.queries, normalize(universe[trained.rows["final"]], dim=1))
    free = run(quantize_queries=False, dictionary_learning_rate=0.05).queries
    assert torch.cdist(free, normalize(universe, dim=1)).min(dim=1).values.max() > 1e-3
    torch.testing.assert_close(free.norm(dim=1), torch.ones(K))


PLATEAUS = {"schedule": "plateau", "patience": 12, "random_updates": 60, "biased_updates": 60}


@pytest.mark.parametrize(("chosen", "every"), [({}, 1), (PLATEAUS, 7)])
def test_a_run_that_is_killed_again_and_again_ends_in_the_same_bits(
    tmp_path: Path, chosen: dict, every: int
) -> None:
    class KilledError(Exception):
        pass

    class Interrupted(Checkpoint):
        batches = every

        def save_if_due(self, run: Trainer) -> None:
            self.batches -= 1
            if self.batches == 0:
                self.save(run)
            if self.batches < 0:
                raise KilledError  # one batch after the checkpoint, so that work is lost

    kills = 0
    while True:
        try:
            resumed = trainer(**chosen).train(Interrupted(tmp_path / "run.pt", 0.0))
            break
        except KilledError:
            kills += 1
    assert kills > 2
    assert_same_bits(resumed, run(**chosen))


def fitted_on(
    texts: torch.Tensor, reference: torch.Tensor, train: TrainingImages
) -> ThresholdAnswers:
    rows = UnitMatrix(reference, "texts"), UnitMatrix(train.embeddings, "images")
    return fit_threshold_rule(texts[:K], *rows, train.labels)


def test_thresholds_of_many_images_are_fitted_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "THRESHOLD_IMAGES", 90)
    train, universe = planted(240, seed=10)
    rows = even_sample(train.labels, 90, torch.Generator().manual_seed(0))
    assert isinstance(train.embeddings, torch.Tensor)
    sample = TrainingImages(train.embeddings[rows], train.labels[rows], train.classes)
    rule = run("fixed", answers="threshold").rule
    assert isinstance(rule, ThresholdAnswers)
    expected = fitted_on(universe, universe, sample)
    torch.testing.assert_close(rule.thresholds, expected.thresholds)
    assert not torch.allclose(rule.thresholds, fitted_on(universe, universe, train).thresholds)


def test_plateau_ends_each_phase_when_the_auc_has_stopped_rising() -> None:
    """Patience of one validation: three without a better AUC end a phase."""
    limits = {"random_updates": 4000, "biased_updates": 4000, "validate_every": 12}
    trained = run("fixed", schedule="plateau", patience=12, **limits)
    assert trained.log[-1]["updates"] < 8000
    for phase in ("random", "biased"):
        areas = [row["validation_auc"] for row in trained.log if row["phase"] == phase]
        rises = [area > max([-1.0, *areas[:place]]) for place, area in enumerate(areas)]
        assert rises.count(False) == 3
        assert not rises[-1]
    assert trained.selected["validation_auc"] == max(row["validation_auc"] for row in trained.log)


def test_rates_and_temperature_change_when_the_auc_stalls() -> None:
    watched = trainer("fixed", schedule="plateau", patience=12, random_updates=4000)
    seen = []
    while watched.random_ended is None:
        watched.train_on_batch()
        rate = watched.step.network_optimizer.param_groups[0]["lr"]
        seen.append((round(rate / 5e-3, 9), round(watched.step.temperature.item(), 9)))
    assert list(dict.fromkeys(seen)) == [(1.0, 1.0), (0.3, 0.6), (0.09, 0.2)]


@pytest.fixture
def repeatable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(os, "environ", os.environ.copy())
    compute_repeatably()
    yield
    torch.set_deterministic_debug_mode("default")


@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("check", [check_repeats, check_resumes, check_never_waits])
def test_training_on_a_device(device: str, check: Callable[[str], None]) -> None:
    check(device)


def test_histories_are_as_long_as_the_dictionary() -> None:
    sizes = HistoryDraws(200, VariationalSettings().sizes(200), 512, seed=0).sizes(20)
    assert (int(sizes.min()), int(sizes.max())) == (0, 199)
    assert VariationalSettings(max_history=7).sizes(200) == 7
