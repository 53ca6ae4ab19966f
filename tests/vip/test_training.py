"""Training learns what it should, repeats bit by bit, and resumes exactly."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.nn.functional import normalize

from infopursuit.answers.rules import MinMaxAnswers, ThresholdAnswers, fit_threshold_rule
from infopursuit.core.errors import InputError
from infopursuit.datasets.rows import UnitRows
from infopursuit.datasets.samples import even_sample
from infopursuit.vip import answering
from infopursuit.vip.checkpoints import Checkpoint
from infopursuit.vip.training import InitialDictionary, Trained, Trainer, TrainingImages
from tests.vip.planted import SETTINGS, K, planted, trainer, weights


def run(method: str = "alternating", seed: int = 0, **chosen: object) -> Trained:
    return trainer(method, seed, **chosen).train()


@pytest.mark.parametrize("method", ["fixed", "alternating", "joint"])
def test_every_method_learns_the_planted_classes(method: str) -> None:
    trained = run(method, random_updates=150, biased_updates=150)
    assert trained.selected["validation_auc"] > 0.6
    # After all queries the planted classes are told apart almost without error.
    assert trained.log[-1]["loss"] < trained.log[0]["loss"]


def test_fixed_keeps_its_dictionary_and_alternating_moves_it() -> None:
    fixed = run("fixed")
    assert all(torch.equal(rows, torch.arange(K)) for rows in fixed.rows.values())
    assert [row["dictionary_updates"] for row in fixed.log] == [0, 0, 0, 0]
    learned = run("alternating", dictionary_learning_rate=0.1)
    assert learned.log[-1]["queries_changed"] > 0
    assert not torch.equal(learned.rows["final"], learned.rows["initial"])


def test_methods_compare_update_for_update() -> None:
    counts = {m: run(m).log[-1] for m in ("fixed", "alternating", "joint")}
    assert {row["updates"] for row in counts.values()} == {48}
    # The last validation comes before the dictionary's update on the same batch.
    assert counts["alternating"]["dictionary_updates"] == 48 // 4 - 1
    assert counts["joint"]["dictionary_updates"] == 48


def test_final_queries_are_texts_of_the_universe() -> None:
    trained = run(dictionary_learning_rate=0.1)
    _, universe = planted(6, seed=0)
    expected = normalize(universe[trained.rows["final"]], dim=1)
    torch.testing.assert_close(trained.queries, expected)


def test_without_query_quantisation_queries_leave_the_universe() -> None:
    trained = run(quantize_queries=False, dictionary_learning_rate=0.05)
    _, universe = planted(6, seed=0)
    assert torch.cdist(trained.queries, normalize(universe, dim=1)).min(dim=1).values.max() > 1e-3
    torch.testing.assert_close(trained.queries.norm(dim=1), torch.ones(K))


def test_the_same_seed_gives_the_same_bits_and_another_does_not() -> None:
    first, second = run(), run()
    assert first.log == second.log
    assert all(map(torch.equal, weights(first), weights(second)))
    assert run(seed=1).log != first.log


def test_a_run_interrupted_anywhere_ends_in_the_same_bits(tmp_path: Path) -> None:
    whole = run()
    for interruption in (1, 5, 8):  # batches: random phase, its end, biased phase
        path = tmp_path / f"{interruption}.pt"

        class KilledError(Exception):
            pass

        class Interrupted(Checkpoint):
            batches = interruption

            def save_if_due(self, run: Trainer) -> None:
                self.batches -= 1
                if self.batches == 0:
                    self.save(run)
                if self.batches < 0:
                    raise KilledError  # one batch after the checkpoint, so that work is lost

        with pytest.raises(KilledError):
            trainer().train(Interrupted(path, 0.0))
        resumed = trainer().train(Checkpoint(path, seconds=1e9))
        assert resumed.log == whole.log
        assert resumed.selected == whole.selected
        assert all(map(torch.equal, weights(resumed), weights(whole)))
        assert all(torch.equal(resumed.rows[m], whole.rows[m]) for m in whole.rows)


def fitted_on(
    texts: torch.Tensor, reference: torch.Tensor, train: TrainingImages
) -> ThresholdAnswers:
    rows = UnitRows(reference, "texts"), UnitRows(train.embeddings, "images")
    return fit_threshold_rule(texts[:K], *rows, train.labels)


def test_the_answers_setting_gives_the_rule() -> None:
    train, universe = planted(240, seed=10)
    hard, soft = run().rule, run(answers="soft").rule
    assert isinstance(hard, MinMaxAnswers)
    assert isinstance(soft, MinMaxAnswers)
    assert (hard.hard, soft.hard) == (True, False)
    fitted = run("fixed", answers="threshold").rule
    assert isinstance(fitted, ThresholdAnswers)
    expected = fitted_on(universe, universe, train)
    torch.testing.assert_close(fitted.thresholds, expected.thresholds)


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


def test_threshold_answers_are_relative_to_the_reference() -> None:
    train, universe = planted(240, seed=10)
    validation, _ = planted(60, seed=11)
    settings = replace(SETTINGS, dictionary="fixed", answers="threshold")
    words = InitialDictionary(universe[:20], torch.arange(K), reference=universe)
    rule = Trainer(train, validation, words, settings, K).train().rule
    assert isinstance(rule, ThresholdAnswers)
    for reference, same in ((universe, True), (universe[:20], False)):
        expected = fitted_on(universe, reference, train)
        assert torch.allclose(rule.directions, expected.directions, atol=1e-4) is same


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"answers": "threshold"}, "a threshold belongs to a text"),
        ({"network_updates": 0}, "network_updates is 0; expected more than 0"),
        ({"temperature": (1.0, 0.0)}, "temperature is 0.0"),
        ({"random_updates": 0, "biased_updates": 0}, "not both 0"),
    ],
)
def test_settings_that_make_no_sense_are_told(chosen: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(SETTINGS, **chosen)


def test_selection_keeps_the_best_validation() -> None:
    trained = run(learning_rate=0.05)
    assert trained.selected["validation_auc"] == max(r["validation_auc"] for r in trained.log)


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


def test_plateau_stops_at_its_limits_too() -> None:
    trained = run(schedule="plateau", patience=10_000)
    assert [row["updates"] for row in trained.log] == [12, 24, 36, 48]
    assert [row["phase"] for row in trained.log] == ["random"] * 2 + ["biased"] * 2


def test_rates_and_temperature_change_when_the_auc_stalls() -> None:
    watched = trainer("fixed", schedule="plateau", patience=12, random_updates=4000)
    seen = []
    while watched.random_ended is None:
        watched.train_on_batch()
        rate = watched.step.network_optimizer.param_groups[0]["lr"]
        seen.append((round(rate / 5e-3, 9), round(watched.step.temperature.item(), 9)))
    assert list(dict.fromkeys(seen)) == [(1.0, 1.0), (0.3, 0.6), (0.09, 0.2)]


def test_a_run_with_plateaus_resumes_in_the_same_bits(tmp_path: Path) -> None:
    chosen = {"schedule": "plateau", "patience": 12, "random_updates": 60, "biased_updates": 60}
    whole = trainer(**chosen).train()
    stopped, path = trainer(**chosen), tmp_path / "state.pt"
    for batches in (2, 9, 16):
        while stopped.updates < 4 * batches and not stopped._over():
            stopped.train_on_batch()
        Checkpoint(path, 0.0).save(stopped)
        stopped = trainer(**chosen)
        Checkpoint(path, 0.0).restore(stopped)
    again = stopped.train()
    assert again.log == whole.log
    assert all(map(torch.equal, weights(again), weights(whole)))
