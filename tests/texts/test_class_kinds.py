"""Texts that classes may look like."""

from __future__ import annotations

import pytest

from infopursuit.texts.class_kinds import comparable_texts

PETS = ("beagle", "Siamese cat", "pug")


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
