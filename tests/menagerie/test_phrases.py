"""The texts that the CLIP learns from are true of the pictures they are written of."""

import random

from hypothesis import given
from hypothesis import strategies as st
from menagerie import wordings
from menagerie.captions import NAMES
from menagerie.facts import Text, facts_of
from menagerie.phrases import (
    FACTS,
    NOUNS,
    PHRASES,
    PHRASES_OF,
    any_phrase,
    class_text,
    description,
)
from menagerie.scenes import ATTRIBUTE_NAMES, scene_for
from menagerie.species import CLASS_NAMES
from menagerie.training_pictures import twin_scenes
from menagerie.truths import CLAIMS

INDICES = st.integers(min_value=0, max_value=5000)


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


def test_every_fact_of_a_phrase_occurs_in_some_scene() -> None:
    seen = {
        fact
        for index in range(3000)
        for scene in twin_scenes(2, index)[0]
        for fact in facts_of(scene)
    }
    assert set(FACTS) <= seen
    assert set(PHRASES_OF) <= set(FACTS)


def test_most_things_are_said_in_several_wordings() -> None:
    several = [fact for fact, phrases in PHRASES_OF.items() if len(phrases) >= 3]
    assert len(several) > 0.8 * len(PHRASES_OF)


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


def test_names_of_classes_are_written_in_the_usual_forms() -> None:
    rng = random.Random(0)
    for name in CLASS_NAMES:
        for _ in range(20):
            text = class_text(name, rng)
            assert text.needs == (frozenset({f"species_{name}"}),)
            assert any(noun in text.words for noun in (name, *NAMES.get(name, ())))


def test_phrases_are_drawn_of_all_facts() -> None:
    rng = random.Random(0)
    drawn = {fact for _ in range(4000) for fact in any_phrase(rng).needs[0]}
    assert drawn == set(PHRASES_OF)
