"""The planted world is what it says, and its best possible answer is Bayes' rule."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from benchmarks import many_classes
from benchmarks.planted import (
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
from benchmarks.querier_step import exponent


@pytest.fixture(scope="module")
def world() -> PlantedWorld:
    return planted_world(20, 10, 400, width=64)


def test_classes_of_a_family_share_concepts_and_have_some_of_their_own(world) -> None:
    there = world.tables == THERE
    assert set(world.tables.unique().tolist()) == {
        torch.tensor(x).item() for x in (ELSEWHERE, THERE)
    }
    assert (there.sum(dim=1) == SHARED + OWN).all()
    assert [int(there[start : start + FAMILY].all(dim=0).sum()) for start in (0, FAMILY)] == (
        [SHARED, SHARED]
    )


def test_images_show_concepts_as_often_as_their_class_says(world) -> None:
    labels = world.task.test.labels
    for label in range(20):
        shown = world.shown[labels == label].double()
        assert len(shown) == 20
        for expected in (THERE, ELSEWHERE):
            some = shown[:, world.tables[label] == expected]
            spread = (expected * (1 - expected) / some.numel()) ** 0.5
            assert abs(some.mean().item() - expected) <= 5 * spread


def test_a_text_is_nearest_to_images_that_show_what_it_names(world) -> None:
    scores = world.task.test.embeddings @ torch.from_numpy(world.task.embeddings).T
    shown = world.shown.double()
    share = shown.mean(dim=0)
    lead = (shown.T @ scores.double()) / shown.sum(dim=0)[:, None]
    lead -= ((1 - shown).T @ scores.double()) / (1 - shown).sum(dim=0)[:, None]
    often = (share > 0.1).nonzero().squeeze(1)
    assert len(often) >= SHARED
    assert (lead[often, often] > 0.02).all()
    distractors = scores[:, CONCEPTS + DUPLICATES :]
    assert distractors.mean() > 0.1  # the cone: no cosine of image and text is near zero


def test_what_is_true_of_the_classes_is_what_they_were_drawn_from(world) -> None:
    told = world.task.knowledge
    assert told is not None
    for number, name in ((0, 0), (7, 7)):
        assert told.texts[number] == f"concept {name}"
        assert (told.values[:, number] == (world.tables[:, name] == THERE).numpy()).all()
    again = told.texts[CONCEPTS]
    original = told.texts.index(again.removesuffix(", in other words"))
    np.testing.assert_array_equal(told.values[:, CONCEPTS], told.values[:, original])
    assert not told.values[:, CONCEPTS + DUPLICATES :].any()


def test_the_posterior_is_bayes_rule(world) -> None:
    found = posterior(world.tables, world.shown[:3])
    for row in range(3):
        likelihoods = []
        for table in world.tables.tolist():
            likelihood = 1.0
            for probability, there in zip(table, world.shown[row].tolist(), strict=True):
                likelihood *= probability if there else 1 - probability
            likelihoods.append(likelihood)
        expected = np.array(likelihoods) / sum(likelihoods)
        np.testing.assert_allclose(found[row].numpy(), expected, rtol=1e-6, atol=1e-12)


def test_whoever_asks_for_all_concepts_is_as_good_as_can_be(world) -> None:
    found = best_possible(world, (0, 5, CONCEPTS))
    assert found[0] == pytest.approx(1 / 20)
    assert found[0] < found[5] < found["all"] == pytest.approx(found[CONCEPTS])
    expected = posterior(world.tables, world.shown).amax(dim=1).mean().item()
    assert found["all"] == pytest.approx(expected, abs=0.03)  # what Bayes' rule itself expects


def test_equally_probable_classes_take_turns() -> None:
    posteriors = torch.tensor([[0.4, 0.4 - 1e-12, 0.2], [0.1, 0.8, 0.1]], dtype=torch.float64)
    assert hits(posteriors, torch.tensor([0, 1])) == hits(posteriors, torch.tensor([1, 1])) == 1.5
    assert hits(posteriors, torch.tensor([2, 0])) == 0


def test_growth_is_the_power_of_the_size() -> None:
    sizes = (200, 400, 1000)
    assert exponent(sizes, [3e-5 * size**1.5 for size in sizes]) == pytest.approx(1.5)
    taken = {size: {"fit_seconds": size**2, "predict_milliseconds": 0.0} for size in (200, 400)}
    assert many_classes.foreseen(taken, 1000) == pytest.approx(1e6)
    assert many_classes.foreseen({200: taken[200]}, 400) == pytest.approx(160_000)
    assert many_classes.foreseen({}, 200) is None


def test_what_would_take_too_long_is_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """Nor is what was found before; settings that were chosen once are kept."""
    asked: list[tuple] = []

    def alone(peer: str, classes: int, settings: dict | None) -> dict:
        asked.append((peer, classes, settings))
        slow = peer == "label_free"
        return {
            "settings": {"ridge": 1}, "fit_seconds": (float(slow) + 0.1) * classes / 200,
            "predict_milliseconds": 0.001, "peak_mebibytes": 1.0,
        }  # fmt: skip

    monkeypatch.setattr(many_classes, "_alone", alone)
    monkeypatch.setattr(many_classes, "KEPT", tmp_path / "kept.json")
    peers = ("probe", "label_free")
    found = many_classes.measure(peers, [200, 400], 3.0, choose=True, resume=False)
    assert asked == [("probe", 200, None), ("label_free", 200, None), ("probe", 400, {"ridge": 1})]
    assert found["label_free"][400] == pytest.approx(4.404)
    table = many_classes.costs(found, (200, 400))
    assert "not run (about 4)" in table
    assert "0.1 | 0.2 | 1.0" in table
    many_classes.measure(peers, [200, 400], 3.0, choose=True, resume=True)
    assert len(asked) == 3
    assert math.isclose(many_classes.seconds(found["probe"][200]), 0.101)
