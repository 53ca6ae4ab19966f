"""Training learns what it should, repeats bit by bit, and resumes exactly."""

from pathlib import Path

import pytest
import torch
from torch.nn.functional import normalize

from infopursuit.pursuit.checkpoints import Checkpoint
from infopursuit.pursuit.images import LabelledImages
from infopursuit.pursuit.recipe import Recipe
from infopursuit.pursuit.training import Trained, Trainer

K, D, CLASSES = 8, 24, 6
RECIPE = Recipe(
    dictionary="alternating",
    hidden=(32, 16),
    random_updates=24,
    biased_updates=24,
    batch_size=32,
    learning_rate=5e-3,
    dictionary_learning_rate=1e-2,
    schedule="cosine",
    temperature=(1.0, 0.2),
    validate_every=12,
)


def planted(images: int, seed: int) -> tuple[LabelledImages, torch.Tensor]:
    """Images near one of six class points, and 60 texts, the last of them near classes."""
    points = normalize(torch.randn(CLASSES, D, generator=torch.Generator().manual_seed(1)), dim=1)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(images) % CLASSES
    noise = 0.1 * torch.randn(images, D, generator=generator)
    names = tuple(f"class {label}" for label in range(CLASSES))
    ids = tuple(f"image {row}" for row in range(images))
    texts = normalize(torch.randn(60, D, generator=torch.Generator().manual_seed(2)), dim=1)
    texts[-2 * CLASSES :] = normalize(points.repeat(2, 1) + 0.1 * texts[-2 * CLASSES :], dim=1)
    return LabelledImages(ids, labels, normalize(points[labels] + noise, dim=1), names), texts


def run(path: Path, method: str = "alternating", seed: int = 0, **settings: object) -> Trained:
    train, universe = planted(240, seed=10)
    validation, _ = planted(60, seed=11)
    recipe = Recipe(**{**RECIPE.__dict__, "dictionary": method, **settings})  # type: ignore[arg-type]
    trainer = Trainer(train, validation, universe, torch.arange(K), recipe, K, seed)
    return trainer.train(Checkpoint(path, seconds=1e9))


def weights(trained: Trained) -> list[torch.Tensor]:
    networks = (trained.querier, trained.classifier)
    return [trained.queries, *(p for n in networks for p in n.state_dict().values())]


@pytest.mark.parametrize("method", ["fixed", "alternating", "joint"])
def test_every_method_learns_the_planted_classes(tmp_path: Path, method: str) -> None:
    trained = run(tmp_path / "run.pt", method, random_updates=150, biased_updates=150)
    assert trained.selected["validation_auc"] > 0.6
    # After all queries the planted classes are told apart almost without error.
    assert trained.log[-1]["loss"] < trained.log[0]["loss"]


def test_fixed_keeps_its_dictionary_and_alternating_moves_it(tmp_path: Path) -> None:
    fixed = run(tmp_path / "a.pt", "fixed")
    assert all(torch.equal(rows, torch.arange(K)) for rows in fixed.rows.values())
    assert [row["dictionary_updates"] for row in fixed.log] == [0, 0, 0, 0]
    learned = run(tmp_path / "b.pt", "alternating", dictionary_learning_rate=0.1)
    assert learned.log[-1]["queries_changed"] > 0
    assert not torch.equal(learned.rows["final"], learned.rows["initial"])


def test_methods_compare_update_for_update(tmp_path: Path) -> None:
    counts = {m: run(tmp_path / f"{m}.pt", m).log[-1] for m in ("fixed", "alternating", "joint")}
    assert {row["updates"] for row in counts.values()} == {48}
    # The last validation comes before the dictionary's update on the same batch.
    assert counts["alternating"]["dictionary_updates"] == 48 // 4 - 1
    assert counts["joint"]["dictionary_updates"] == 48


def test_final_queries_are_texts_of_the_universe(tmp_path: Path) -> None:
    trained = run(tmp_path / "run.pt", dictionary_learning_rate=0.1)
    _, universe = planted(6, seed=0)
    expected = normalize(universe[trained.rows["final"]], dim=1)
    torch.testing.assert_close(trained.queries, expected)


def test_without_query_quantisation_queries_leave_the_universe(tmp_path: Path) -> None:
    trained = run(tmp_path / "run.pt", quantize_queries=False, dictionary_learning_rate=0.05)
    _, universe = planted(6, seed=0)
    assert torch.cdist(trained.queries, normalize(universe, dim=1)).min(dim=1).values.max() > 1e-3
    torch.testing.assert_close(trained.queries.norm(dim=1), torch.ones(K))


def test_the_same_seed_gives_the_same_bits_and_another_does_not(tmp_path: Path) -> None:
    first, second = run(tmp_path / "a.pt"), run(tmp_path / "b.pt")
    assert first.log == second.log
    assert all(map(torch.equal, weights(first), weights(second)))
    assert run(tmp_path / "c.pt", seed=1).log != first.log


@pytest.mark.parametrize("rollouts", ["per_update", "per_batch"])
def test_a_run_interrupted_anywhere_ends_in_the_same_bits(tmp_path: Path, rollouts: str) -> None:
    whole = run(tmp_path / "whole.pt", rollouts=rollouts)
    for interruption in (1, 5, 8):  # batches: random stage, its end, biased stage
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

        train, universe = planted(240, seed=10)
        validation, _ = planted(60, seed=11)
        recipe = Recipe(**{**RECIPE.__dict__, "rollouts": rollouts})
        trainer = Trainer(train, validation, universe, torch.arange(K), recipe, K, 0)
        with pytest.raises(KilledError):
            trainer.train(Interrupted(path, 0.0))
        resumed = run(path, rollouts=rollouts)
        assert resumed.log == whole.log
        assert resumed.selected == whole.selected
        assert all(map(torch.equal, weights(resumed), weights(whole)))
        assert all(torch.equal(resumed.rows[m], whole.rows[m]) for m in whole.rows)


def test_selection_keeps_the_best_validation(tmp_path: Path) -> None:
    trained = run(tmp_path / "run.pt", learning_rate=0.05)
    assert trained.selected["validation_auc"] == max(r["validation_auc"] for r in trained.log)
