"""The nouns of WordNet that ship, and the senses of classes."""

from __future__ import annotations

from importlib.resources import files

import pytest

from infopursuit.texts.class_kinds import class_senses
from infopursuit.texts.normalization import number_forms
from infopursuit.texts.wordnet import packaged_nouns, read_nouns

# Lemmas, and the places of the sets that each is a kind of, seen from its own.
LINES = [
    "entity\t",
    "physical_entity\t-1",
    "bat:2 chiropteran\t-1",
    "batman\t-1=",
    "bat\t-3",
    "wing\t-4",
]


def test_lines_are_sets_of_synonyms_and_what_they_are_kinds_of() -> None:
    nouns = read_nouns(LINES)
    assert nouns.senses("bat") == [4, 2]
    assert nouns.is_instance(3) and not nouns.is_instance(2)
    assert nouns.kinds(3) == {3, 2, 1, 0}
    assert nouns.things("bats") == [[4, 2]] and nouns.things("wombat") == []


def test_the_licence_ships_with_the_nouns() -> None:
    licence = files("infopursuit.texts").joinpath("wordnet_licence.txt").read_text()
    assert "WordNet 3.1 Copyright 2011 by Princeton University" in licence
    assert "Permission to use, copy, modify and distribute" in licence


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("wheels", "wheel"), ("boxes", "box"), ("glasses", "glass"), ("churches", "church"),
        ("brushes", "brush"), ("puppies", "puppy"), ("women", "woman"), ("leaves", "leaf"),
        ("buses", "bus"), ("tails", "tail"), ("feet", "foot"), ("mice", "mouse"),
        ("binocular", "binoculars"),
    ],
)  # fmt: skip
def test_number(plural: str, singular: str) -> None:
    assert number_forms(plural)[0] == plural
    nouns = packaged_nouns()
    assert nouns.things(singular)[0] in nouns.things(plural)
    assert (len(nouns.things(plural)) == 2) == (plural in ("glasses", "tails"))  # lemmas, too


ANIMALS = ["dog", "parrot", "lizard", "trout"]


@pytest.mark.parametrize(
    ("name", "others", "kind"),
    [
        ("SeaHorse", [], "seahorse"),
        ("oak_trees", [], "oak tree"),
        ("Scottish Terrier", [], "terrier"),
        ("tabby terrier", ANIMALS, "terrier"),  # its last word
        ("crocodile head", ANIMALS, "crocodile"),  # its first, of the kind of the others
        ("Siamese", ANIMALS, "cat"),  # no person and no pipe
        ("Chihuahua", [], "dog"),  # no place
        ("crane", [], "lifting device"),  # no Stephen Crane
        ("crane", ANIMALS, "bird"),
        ("Bombay", ANIMALS, None),  # a place among animals
        ("zyzzogeton plus", [], None),
    ],
)
def test_senses_of_classes(name: str, others: list[str], kind: str | None) -> None:
    nouns = packaged_nouns()
    sense = class_senses(nouns, [name, *others])[0]
    if kind is None:
        assert sense is None
    else:
        assert sense is not None and not nouns.kinds(sense).isdisjoint(nouns.things(kind)[0])
