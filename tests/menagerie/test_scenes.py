"""Scenes: deterministic, extendable, and true to what their species can show."""

import collections

from hypothesis import given
from hypothesis import strategies as st
from menagerie.scenes import (
    ATTRIBUTE_NAMES,
    COLOURS,
    PART_ATTRIBUTES,
    PLACES,
    scene_for,
)
from menagerie.species import CLASS_NAMES, SPECIES

INDICES = st.integers(min_value=0, max_value=5000)


def test_sixteen_distinct_classes_whose_parts_are_attributes() -> None:
    assert len(set(CLASS_NAMES)) == len(CLASS_NAMES) == 16
    for species in SPECIES:
        assert {part.name for part in species.parts} <= set(PART_ATTRIBUTES)
        assert set(species.colours) <= set(COLOURS)


def test_attribute_names_are_distinct_and_in_the_order_of_the_truth() -> None:
    scene, _ = scene_for(2, "test", 5)
    assert tuple(scene.truth) == ATTRIBUTE_NAMES
    assert len(set(ATTRIBUTE_NAMES)) == len(ATTRIBUTE_NAMES)


@given(INDICES)
def test_equal_seeds_give_equal_scenes_and_classes_come_in_turn(index: int) -> None:
    scene, rng = scene_for(7, "train", index)
    again, rng_again = scene_for(7, "train", index)
    assert scene == again
    assert rng.random() == rng_again.random()
    assert scene.species.name == CLASS_NAMES[index % 16]


@given(INDICES)
def test_the_truth_holds_what_the_scene_says(index: int) -> None:
    scene, _ = scene_for(7, "train", index)
    true = {name for name, holds in scene.truth.items() if holds}
    assert scene.colour in true
    assert len(true & set(COLOURS)) == 1
    assert {name for name in true if name.startswith("place_")} == {f"place_{scene.place}"}
    assert scene.place in PLACES
    assert ("animal" in true) != ("vehicle" in true)
    assert true & set(PART_ATTRIBUTES) == set(scene.visible)
    assert scene.visible <= set(scene.parts)
    assert ("partly_hidden" in true) == (scene.cover != "nothing")


def test_what_hides_an_end_hides_the_parts_there() -> None:
    seen = collections.Counter()
    for index in range(1600):
        scene, _ = scene_for(7, "train", index)
        for part in scene.species.parts:
            if part.region == scene.hidden:
                assert part.name not in scene.visible
                seen[scene.hidden] += 1
    assert min(seen["front"], seen["rear"], seen["low"]) > 10


def test_every_attribute_varies() -> None:
    truths = [tuple(scene_for(7, "train", index)[0].truth.values()) for index in range(1600)]
    for name, column in zip(ATTRIBUTE_NAMES, zip(*truths, strict=True), strict=True):
        assert 0 < sum(column) < len(column), name
