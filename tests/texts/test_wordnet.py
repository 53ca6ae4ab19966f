"""The nouns of WordNet that ship, and the senses of classes."""

from __future__ import annotations

import lzma
import os
from importlib.resources import files
from pathlib import Path

import pytest

from infopursuit.texts.class_kinds import class_senses
from infopursuit.texts.normalization import number_forms
from infopursuit.texts.wordnet import (
    FILE,
    packaged_nouns,
    read_nouns,
)
from tests.texts.wordnet_file import noun_lines, packed

# WordNet 3.1's dict folder, which is not part of the repository.
DICT = os.environ.get("WORDNET_DICT")
HEAD = "  1 This is the licence.\n  2 It has | bars.\n"
# A made-up dict folder: offset, lexicographer's file, kind, lemmas with their ids, pointers.
DATA = """\
00000010 03 n 01 entity 0 001 ~ 00000020 n 0000 | all there is
00000020 03 n 01 physical_entity 0 001 @ 00000010 n 0000 | all that has a body
00000030 05 n 02 Bat 0 chiropteran 0 002 @ 00000020 n 0000 %p 00000050 n 0000 | it flies
00000040 06 n 01 bat 1 003 @ 00000020 n 0000 + 00000099 v 0101 %s 00000050 n 0000 | it hits
00000050 08 n 01 wing 0 002 #p 00000030 n 0000 @ 00000020 n 0000 | it carries
00000060 18 n 01 Batman 0 001 @i 00000030 n 0000 | a name
"""
INDEX = """\
bat n 2 2 @ %p 2 1 00000040 00000030
batman n 1 1 @i 1 0 00000060
chiropteran n 1 2 @ %p 1 0 00000030
entity n 1 1 ~ 1 1 00000010
physical_entity n 1 2 @ ~ 1 1 00000020
wing n 1 2 @ #p 1 1 00000050
"""


def test_the_file_of_a_small_dict(tmp_path: Path) -> None:
    (tmp_path / "data.noun").write_text(HEAD + DATA)
    (tmp_path / "index.noun").write_text(HEAD + INDEX)
    lines = noun_lines(tmp_path)
    assert lines == [
        "entity\t",
        "physical_entity\t-1",
        "bat:2 chiropteran\t-1",
        "batman\t-1=",
        "bat\t-3",
        "wing\t-4",
    ]
    assert packed(lines) == packed(noun_lines(tmp_path))
    nouns = read_nouns(lzma.decompress(packed(lines)).decode().splitlines())
    assert nouns.senses("bat") == [4, 2]
    assert nouns.is_instance(3) and not nouns.is_instance(2)
    assert nouns.kinds(3) == {3, 2, 1, 0}
    assert nouns.things("bats") == [[4, 2]] and nouns.things("wombat") == []


@pytest.mark.skipif(DICT is None, reason="WORDNET_DICT does not name WordNet 3.1's dict folder")
def test_the_shipped_file_is_what_the_script_writes() -> None:
    shipped = files("infopursuit.texts").joinpath(FILE).read_bytes()
    lines = noun_lines(Path(str(DICT)))
    assert lzma.decompress(shipped).decode("ascii").splitlines() == lines
    assert len(shipped) < 1e6


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
