"""Texts of other kinds than the classes, and texts that classes may look like."""

from __future__ import annotations

import pytest

from infopursuit.texts.class_kinds import comparable_texts, of_other_kinds
from infopursuit.texts.vocabulary import visual_vocabulary

PETS = ("beagle", "Siamese cat", "pug")
DISHES = ("pizza", "guacamole", "sushi")


def other(classes: tuple[str, ...], *texts: str) -> list[str]:
    return [texts[place] for place in of_other_kinds(classes, texts).nonzero()[0]]


@pytest.mark.parametrize(
    ("classes", "vetoed", "possible"),
    [
        (PETS, ["prune", "mop", "jean", "ottoman", "sour cream", "trumpet"], ["wolf", "paw"]),
        (PETS, ["melted butter", "ruffled petals", "swept wings"], ["long tail", "dark blue"]),
        (DISHES, ["kangaroo", "calculator", "udder"], ["avocado", "tortilla", "ruffled petals"]),
        (("car", "truck", "bus"), ["sparrow", "lettuce", "udder"], ["wheel", "rear window"]),
    ],
)
def test_things_of_other_kinds(
    classes: tuple[str, ...], vetoed: list[str], possible: list[str]
) -> None:
    assert other(classes, *vetoed, *possible) == vetoed


def test_a_text_is_possible_if_any_sense_or_color_of_it_is() -> None:
    assert other(PETS, "crane", "mouse", "bat") == [], "an animal is among the senses"
    assert other(PETS, "pink", "orange", "silver") == [], "a color, too"
    assert other(PETS, "baozi", "very long words", "is striped") == [], "no noun of WordNet"
    assert other(PETS, "roundness", "curly coat", "text 7") == [], "no thing, or none for sure"


def test_pets_are_no_buildings_people_compounds_and_abstract_things() -> None:
    texts = ["lighthouse", "bride", "kitchen knife", "bronze sculpture", "tennis", "award"]
    texts += ["human ear", "human head"]
    assert other(PETS, *texts, "wild bird", "ear", "human") == texts


@pytest.mark.parametrize(
    "classes",
    [
        ("Anna", "Ben"),
        ("kitchen", "bedroom"),
        ("surgeon", "bride"),
        ("beach", "desert"),
        ("a", "b"),
    ],
    ids=" ".join,
)
def test_classes_beside_which_anything_may_be(classes: tuple[str, ...]) -> None:
    assert other(classes, *visual_vocabulary()) == []


def test_what_classes_may_look_like() -> None:
    found = comparable_texts(
        PETS, ["wolf", "dog", "animal", "puppy", "mop", "crane", "long tail", "bat"]
    )
    assert found == {
        "wolf": False, "dog": True, "animal": True, "puppy": False, "crane": False, "bat": False
    }  # fmt: skip
    assert comparable_texts(("car", "bus"), ["truck", "vehicle", "sedan", "wheel"]) == {
        "truck": False, "vehicle": True, "sedan": True
    }  # fmt: skip


@pytest.mark.parametrize(
    "classes",
    [("rose", "tulip"), ("kitchen", "bedroom"), ("cat", "jeep"), ("Anna", "Ben")],
    ids=" ".join,
)
def test_classes_that_are_likened_to_nothing(classes: tuple[str, ...]) -> None:
    assert comparable_texts(classes, ["tree", "daisy", "hall", "toilet", "wolf", "truck"]) == {}
