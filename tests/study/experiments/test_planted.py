"""The planted world is what it says, and its best possible answer is Bayes' rule."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from infopursuit_study.experiments import many_classes
from infopursuit_study.experiments.planted import (
    CONCEPTS,
    DUPLICATES,
    ELSEWHERE,
    FAMILY,
    OWN,
    SHARED,
    THERE,
    PlantedWorld,
    best_possible,
    hits,
    planted_world,
    posterior,
)


@pytest.fixture(scope="module")
def world() -> PlantedWorld:
    return planted_world(20, 10, 400, width=64)


def test_classes_of_a_family_share_concepts_and_have_others(world: PlantedWorld) -> None:
    present = world.tables == THERE
    assert torch.equal(world.tables[~present], torch.full_like(world.tables[~present], ELSEWHERE))
    assert (present.sum(dim=1) == SHARED + OWN).all()
    assert present.view(-1, FAMILY, CONCEPTS).all(dim=1).sum(dim=1).tolist() == [SHARED, SHARED]


def test_images_show_concepts_as_often_as_their_class_says(world: PlantedWorld) -> None:
    labels = world.task.test.labels
    for label in range(20):
        shown = world.shown[labels == label].double()
        assert len(shown) == 20
        for expected in (THERE, ELSEWHERE):
            some = shown[:, world.tables[label] == expected]
            spread = (expected * (1 - expected) / some.numel()) ** 0.5
            assert abs(some.mean().item() - expected) <= 5 * spread


def test_a_text_is_nearest_to_images_that_show_what_it_names(world: PlantedWorld) -> None:
    scores = world.task.test.embeddings @ torch.from_numpy(world.task.embeddings).T
    shown = world.shown.double()
    lead = (shown.T @ scores.double()) / shown.sum(dim=0)[:, None]
    lead -= ((1 - shown).T @ scores.double()) / (1 - shown).sum(dim=0)[:, None]
    often = (shown.mean(dim=0) > 0.1).nonzero().squeeze(1)
    assert len(often) >= SHARED
    assert (lead[often, often] > 0.02).all()
    distractors = scores[:, CONCEPTS + DUPLICATES :]
    assert distractors.mean() > 0.1  # no cosine of image and text is near zero


def test_the_knowledge_is_that_of_the_tables(world: PlantedWorld) -> None:
    known = world.task.knowledge
    assert known is not None
    for number in (0, 7):
        assert known.texts[number] == f"concept {number}"
        assert (known.values[:, number] == (world.tables[:, number] == THERE).numpy()).all()
    original = known.texts.index(known.texts[CONCEPTS].removesuffix(", in other words"))
    np.testing.assert_array_equal(known.values[:, CONCEPTS], known.values[:, original])
    assert not known.values[:, CONCEPTS + DUPLICATES :].any()


def test_the_posterior_is_bayes_rule(world: PlantedWorld) -> None:
    yes, shown = world.tables.double().numpy(), world.shown[:3].numpy()
    likelihoods = np.where(shown[:, None], yes, 1 - yes).prod(axis=2)
    expected = likelihoods / likelihoods.sum(axis=1, keepdims=True)
    measured = posterior(world.tables, world.shown[:3]).numpy()
    np.testing.assert_allclose(measured, expected, rtol=1e-6, atol=1e-12)


def test_all_concepts_give_the_best_possible_accuracy(world: PlantedWorld) -> None:
    best = best_possible(world, (0, 5, CONCEPTS))
    assert best[0] == pytest.approx(1 / 20)
    assert best[0] < best[5] < best["all"] == pytest.approx(best[CONCEPTS])
    expected = posterior(world.tables, world.shown).amax(dim=1).mean().item()
    assert best["all"] == pytest.approx(expected, abs=0.03)  # what Bayes' rule itself expects


def test_equally_probable_classes_share_a_hit() -> None:
    posteriors = torch.tensor([[0.4, 0.4 - 1e-12, 0.2], [0.1, 0.8, 0.1]], dtype=torch.float64)
    assert hits(posteriors, torch.tensor([0, 1])) == hits(posteriors, torch.tensor([1, 1])) == 1.5
    assert hits(posteriors, torch.tensor([2, 0])) == 0


def test_growth_is_the_power_of_the_size() -> None:
    sizes = (200, 400, 1000)
    assert many_classes.exponent(sizes, [3e-5 * size**1.5 for size in sizes]) == pytest.approx(1.5)
    taken = {size: {"fit_seconds": size**2, "predict_milliseconds": 0.0} for size in (200, 400)}
    assert many_classes.foreseen(taken, 1000) == pytest.approx(1e6)
    assert many_classes.foreseen({200: taken[200]}, 400) == pytest.approx(160_000)
    assert many_classes.foreseen({}, 200) is None


def test_slow_and_finished_runs_are_left_out_and_chosen_settings_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs: list[tuple] = []

    def alone(peer: str, classes: int, settings: dict | None) -> dict:
        runs.append((peer, classes, settings))
        slow = peer == "label_free"
        return {
            "settings": {"ridge": 1}, "fit_seconds": (float(slow) + 0.1) * classes / 200,
            "predict_milliseconds": 0.001, "peak_mebibytes": 1.0,
        }  # fmt: skip

    monkeypatch.setattr(many_classes, "_alone", alone)
    monkeypatch.setattr(many_classes, "KEPT", tmp_path / "kept.json")
    peers = ("probe", "label_free")
    results = many_classes.measure(peers, [200, 400], 3.0, choose=True, resume=False)
    assert runs == [("probe", 200, None), ("label_free", 200, None), ("probe", 400, {"ridge": 1})]
    assert results["label_free"][400] == pytest.approx(4.404)
    many_classes.measure(peers, [200, 400], 3.0, choose=True, resume=True)
    assert len(runs) == 3
    assert math.isclose(many_classes.seconds(results["probe"][200]), 0.101)
