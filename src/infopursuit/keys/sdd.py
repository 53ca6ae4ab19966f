"""SDD 1.1 (Structured Descriptive Data, TDWG): XML keys, their categorical characters, read only.

A state that a description names occurs; of several, each counts the same. Characters that a
description does not name are not known of its taxon. Texts are taken in the language of the data
set. Numbers, modifiers and pictures are left out.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_bytes
from infopursuit.core.numbers import counted
from infopursuit.keys.key import (
    Character,
    Key,
    check_states,
    checked,
    yes_or_no,
)

logger = logging.getLogger(__name__)

# Bytes of a file; its elements take ten times as many in memory.
LARGEST = 100_000_000
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def read_sdd(path: Path) -> Key:
    """Read the first data set of a file.

    Raises:
        InputError: it is no SDD, declares a document type, or tells no taxa apart.
    """
    root = _parsed(path)
    data = root.find("{*}Dataset")
    if data is None:
        raise InputError(f"{path}: no Dataset in it; expected SDD 1.1")
    language = data.get(LANGUAGE, "en")
    taxa = {
        each.get("id", ""): _label(each, language)
        for each in data.findall("{*}TaxonNames/{*}TaxonName")
    }
    described: dict[str, dict[str, set[str]]] = {}
    for each in data.iterfind("{*}CodedDescriptions/{*}CodedDescription"):
        scope = each.find("{*}Scope/{*}TaxonName")
        name = _label(each, language) if scope is None else taxa.get(scope.get("ref", ""))
        states = described.setdefault(name or _label(each, language), {})
        for said in each.iterfind("{*}SummaryData/{*}Categorical"):
            there = {state.get("ref", "") for state in said.findall("{*}State")}
            if there:
                states.setdefault(said.get("ref", ""), set()).update(there)
    known = {name: states for name, states in described.items() if states}
    if empty := len(described) - len(known):
        left_out = counted(empty, "taxon is", "taxa are")
        logger.warning("%s: %s left out, without a description", path, left_out)
    if numbers := len(data.findall("{*}Characters/{*}QuantitativeCharacter")):
        left_out = counted(numbers, "character of numbers is", "characters of numbers are")
        logger.warning("%s: %s left out", path, left_out)
    characters, names = [], set[str]()
    for each in data.iterfind("{*}Characters/{*}CategoricalCharacter"):
        states = {
            state.get("id", ""): _label(state, language)
            for state in each.findall("{*}States/{*}StateDefinition")
        }
        check_states(_label(each, language), len(states), path)
        frequency = np.full((len(known), len(states)), np.nan)
        for row, of_taxon in enumerate(known.values()):
            there = of_taxon.get(each.get("id", ""), set()) & set(states)
            if there:
                frequency[row] = [(state in there) / len(there) for state in states]
        if np.isnan(frequency).all():
            continue
        name = _free(_label(each, language), names)
        titles = set[str]()
        named = yes_or_no([_free(title, titles) for title in states.values()])
        characters.append(Character(name, named, frequency))
    title = _label(data, language) or path.stem
    return checked(Key(title, tuple(known), tuple(characters)), path)


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is not taken: with a number if need be."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name} ({number})", number + 1
    taken.add(found)
    return found


def _label(element: ElementTree.Element, language: str) -> str:
    """Return the label in a language, or the first."""
    labels = element.findall("{*}Representation/{*}Label")
    own = [
        each
        for each in labels
        if each.get(LANGUAGE, language) == language and "role" not in each.attrib
    ]
    texts = [" ".join((each.text or "").split()) for each in own or labels]
    return next((text for text in texts if text), element.get("id", ""))


def _parsed(path: Path) -> ElementTree.Element:
    """Return the root of an XML file without a document type: that could declare entities."""
    content = read_bytes(path, "expected SDD 1.1", LARGEST)

    def refuse(name: str, *_: object) -> NoReturn:
        raise InputError(f"{path}: declares a document type ({name}); expected SDD 1.1 without one")

    try:
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = refuse
        parser.Parse(content, True)
        # Without a document type there is no entity that could unpack to much.
        return ElementTree.fromstring(content)  # noqa: S314
    except (expat.ExpatError, ElementTree.ParseError, ValueError, LookupError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not XML ({error}); expected SDD 1.1") from error
