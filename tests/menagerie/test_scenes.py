"""The drawn world: scenes and captions repeat, are true, and keep some compositions for tests."""

import collections
import hashlib
import random

from hypothesis import given
from hypothesis import strategies as st

from menagerie import wordings
from menagerie.captions import coco_captions
from menagerie.compositions import NEW_COATS, NEW_SCENES, is_new_composition
from menagerie.facts import Text, facts_of
from menagerie.phrases import NOUNS, PHRASES, description
from menagerie.scenes import ATTRIBUTE_NAMES, COLOURS, PART_ATTRIBUTES, PLACES, scene_for
from menagerie.species import CLASS_NAMES, SPECIES
from menagerie.training_pictures import twin_scenes
from menagerie.truths import CLAIMS

INDICES = st.integers(min_value=0, max_value=5000)


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


def captions_of(document: dict[str, object]) -> list[str]:
    annotations = document["annotations"]
    assert isinstance(annotations, list)
    return [annotation["caption"] for annotation in annotations]


def test_the_captions_that_the_recorded_answers_belong_to_stay_as_they_are() -> None:
    text = "\n".join(captions_of(coco_captions(2, 240, 64)))
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "491805aedd3be5495ebb3565aae52638907f5942a019f2f253aac901cb45876a"
    )


def test_a_larger_count_begins_with_the_captions_of_a_smaller_one() -> None:
    few, many = coco_captions(5, 20, 64), coco_captions(5, 50, 64)
    assert captions_of(many)[:20] == captions_of(few)
    assert set(few) == {"info", "licenses", "images", "annotations"}


def test_the_list_is_of_coats_and_places_that_the_world_has() -> None:
    by_name = {species.name: species for species in SPECIES}
    assert len(NEW_COATS | NEW_SCENES) == 12
    for name, coat in NEW_COATS:
        assert coat in {**by_name[name].colours, **by_name[name].patterns}
    for name, place in NEW_SCENES:
        assert place in {setting[0] for setting in by_name[name].settings}
    # What a class is told by must not be lost with it: some colour and some place remain.
    for species in SPECIES:
        assert set(species.colours) - {coat for name, coat in NEW_COATS if name == species.name}
        places = {setting[0] for setting in species.settings}
        assert places - {place for name, place in NEW_SCENES if name == species.name}


def test_either_the_coat_or_the_place_makes_a_composition_new() -> None:
    assert is_new_composition("tiger", "white", "striped", "grass")
    assert is_new_composition("horse", "brown", "spotted", "grass")
    assert is_new_composition("zebra", "white", "striped", "snow")
    assert not is_new_composition("tiger", "orange", "striped", "snow")
    assert not is_new_composition("zebra", "white", "striped", "grass")


def test_the_parts_of_a_composition_are_familiar_one_by_one() -> None:
    scenes = [scene for index in range(1600) for scene in twin_scenes(2, index)[0]]
    shown = {(scene.species.name, scene.pattern) for scene in scenes}
    shown |= {(scene.species.name, scene.colour) for scene in scenes}
    shown |= {(scene.species.name, scene.place) for scene in scenes}
    assert not shown & (NEW_COATS | NEW_SCENES)
    for _, side in NEW_COATS | NEW_SCENES:
        assert {name for name, other in shown if other == side}, side
        assert side in (*COLOURS, *PLACES, "spotted")


@given(INDICES)
def test_no_training_picture_is_new(index: int) -> None:
    assert not scene_for(2, "train", index)[0].is_new
    assert not any(scene.is_new for scene in twin_scenes(2, index)[0])


def test_a_tenth_of_the_test_pictures_is_new() -> None:
    new = [scene_for(2, "test", index)[0].is_new for index in range(960)]
    assert 0.07 < sum(new) / len(new) < 0.13


@given(INDICES)
def test_facts_are_the_truth_and_more(index: int) -> None:
    scene, _ = scene_for(11, "test", index)
    facts = facts_of(scene)
    assert {name for name, holds in scene.truth.items() if holds} == facts & set(ATTRIBUTE_NAMES)
    assert f"species_{scene.species.name}" in facts
    for name in ("wheels", "wings", "rider", "tail"):
        assert (name in facts) != (f"no_{name}" in facts)
    assert ("no_legs" in facts) != bool(facts & {"four_legs", "two_legs"})


@given(INDICES)
def test_descriptions_are_true_and_name_no_other_class(index: int) -> None:
    scene = twin_scenes(11, index)[0][1]
    facts = facts_of(scene)
    rng = random.Random(index)
    others = set(CLASS_NAMES) - {scene.species.name, "horse"}
    for _ in range(8):
        text = description(facts, rng)
        assert text.words and "{" not in text.words
        assert text.is_true(facts)
        # "elephant trunk" is said of elephants, "horse like animal" of zebras.
        assert not others & set(text.words.replace(",", "").split()) or "trunk" in text.words


def test_a_text_needs_one_fact_of_each_of_its_needs() -> None:
    text = Text("red bird", (frozenset({"red"}), frozenset({"species_swan", "species_parrot"})))
    assert text.is_true(frozenset({"red", "species_parrot", "wings"}))
    assert not text.is_true(frozenset({"blue", "species_parrot"}))
    assert not text.is_true(frozenset({"red"}))


def test_unheard_phrases_are_made_of_heard_words() -> None:
    words = {word for text in (*PHRASES, *NOUNS) for word in text.split()}
    assert len(set(wordings.UNHEARD)) == len(wordings.UNHEARD) > 20
    for phrase in wordings.UNHEARD:
        assert phrase in CLAIMS
        assert phrase not in PHRASES
        assert set(phrase.split()) <= words


def test_phrases_and_claims_agree_on_what_is_true() -> None:
    """A claimed phrase that is taught must be taught as what it claims."""
    same = {
        "flying": {"action_flying", "place_sky"},
        "far_away": {"far_distance"},
        "close_up": {"close_distance"},
    }
    taught = [phrase for phrase in CLAIMS if phrase in PHRASES]
    assert len(taught) > 80
    for phrase in taught:
        attribute, holds = CLAIMS[phrase]
        facts = same.get(attribute, {attribute}) if holds else {f"no_{attribute}"}
        assert facts & PHRASES[phrase], phrase
