"""Clavis 1.0, a JSON format of identification keys (Artsdatabanken/Clavis), both ways.

The `frequency` of a state in a taxon is our P(answer | class). What a taxon says holds of the taxa
in it; taxa without others in them are the classes. Characters whose states do not exclude each
other become a question for each state.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import math
import re
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_json, write_text
from infopursuit.core.numbers import counted
from infopursuit.datasets.decoding import UnreadableError, thumbnail
from infopursuit.keys.cells import MOST_STATES, NO, YES, with_unit
from infopursuit.keys.key import Character, Key, check_pictures, checked, yes_or_no

logger = logging.getLogger(__name__)

SCHEMA = "https://github.com/Artsdatabanken/Clavis"
# Taxa of shorter names are labels: the schema wants five letters of a scientific name.
SHORTEST_NAME = 5
NAMES = ("scientificName", "vernacularName", "placeholderName", "label")
# Pixels of the longer side of a picture that is written.
SIDE = 1024
PICTURE = re.compile(r"data:image/[a-z0-9.+-]+;base64,([A-Za-z0-9+/=]+)")


def read_clavis(path: Path) -> Key:
    """Read a key.

    Raises:
        InputError: it is no Clavis key, or it tells no taxa apart.
    """
    content = read_json(path, "expected a Clavis key (JSON)")
    try:
        return checked(_read(content, path), path)
    except (LookupError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: not a Clavis 1.0 key ({type(error).__name__}: {error})"
        ) from error


def _read(content: dict[str, Any], path: Path) -> Key:
    languages = _list(content["language"])
    if not languages or not all(isinstance(each, str) and each for each in languages):
        raise InputError(
            f"{path}: language is {content['language']!r}; expected a language, such as 'en'"
        )
    if not isinstance(content["title"], str | dict):
        raise TypeError(f"the title {content['title']!r}; expected a text")
    language = languages[0]
    media = {each["id"]: each for each in content.get("mediaElements", [])}
    classes: list[str] = []
    within: dict[str, list[int]] = {}  # the classes that a taxon is or holds
    pictures: dict[str, Path | bytes] = {}

    def add(taxon: dict[str, Any], above: list[str]) -> None:
        for each in [*above, taxon["id"]]:
            within.setdefault(each, [])
        inner = taxon.get("children", [])
        if inner:
            for child in inner:
                add(child, [*above, taxon["id"]])
            return
        named = [_text(taxon[name], language) for name in NAMES if name in taxon]
        name = named[0] if named else taxon["id"]
        if "scientificName" in taxon and taxon.get("label"):
            name = f"{name} ({taxon['label']})"
        picture = _picture(taxon.get("media"), media)
        if picture:
            pictures[name] = picture
        for each in [*above, taxon["id"]]:
            within[each].append(len(classes))
        classes.append(name)

    for taxon in content["taxa"]:
        add(taxon, [])
    left_out = sum("logicalPremise" in each for each in content["characters"])
    if left_out:
        message = "character is asked whatever its premise says"
        message = message if left_out == 1 else "characters are asked whatever their premises say"
        logger.warning("%s: %d %s", path, left_out, message)
    groups: dict[str, list[dict[str, Any]]] = {}
    for statement in content["statements"]:
        groups.setdefault(statement["character"], []).append(statement)
    characters: list[Character] = []
    for each in content["characters"]:
        # What a taxon says itself comes after what the taxa above it say.
        statements = sorted(groups.get(each["id"], []), key=lambda one: -len(within[one["taxon"]]))
        characters += _characters(each, statements, within, len(classes), language, path)
    return Key(_text(content["title"], language), tuple(classes), tuple(characters), pictures)


def _characters(
    character: dict[str, Any],
    statements: list[dict[str, Any]],
    within: dict[str, list[int]],
    count: int,
    language: str,
    path: Path,
) -> list[Character]:
    name, kind = _text(character["title"], language), character.get("type", "exclusive")
    if kind == "numerical":
        ranges = np.full((count, 2), np.nan)
        for each in statements:
            ranges[within[each["taxon"]]] = _ends(each, f"{path}: {name!r} of {each['taxon']!r}")
        name = with_unit(name, character.get("unit") or None, f"{path}: {name!r}")
        return [] if np.isnan(ranges).all() else [Character.of_numbers(name, ranges)]
    listed = _list(character["states"])
    if len(listed) > MOST_STATES:
        states_found = counted(len(listed), "state")
        raise InputError(f"{path}: {name!r} has {states_found}; expected at most {MOST_STATES}")
    states = {each["id"]: _state(each, language) for each in listed}
    numbers = {state: number for number, state in enumerate(states)}
    frequency = np.full((count, len(states)), np.nan)
    speaker: dict[int, str] = {}
    for each in statements:
        for row in within[each["taxon"]]:
            if speaker.get(row) != each["taxon"]:  # the first that a taxon says: the rest is 0
                speaker[row], frequency[row] = each["taxon"], 0.0
            frequency[row, numbers[each["value"]]] = _share(
                each["frequency"], f"{path}: {name!r} of {each['taxon']!r}"
            )
    if not speaker:
        return []
    if kind == "non-exclusive":
        return [
            Character(f"{name}: {state}", (YES, NO), np.stack([yes, 1 - yes], axis=1))
            for state, yes in zip(states.values(), frequency.T, strict=True)
        ]
    total = frequency.sum(axis=1, keepdims=True)
    frequency = np.where(total > 1, frequency / np.where(total > 0, total, 1), frequency)
    return [Character(name, yes_or_no(list(states.values())), frequency)]


def _share(value: Any, where: str) -> float:
    if not _is_number(value) or not 0 <= value <= 1:
        raise InputError(f"{where}: the frequency {value!r}; expected a number from 0 to 1")
    return float(value)


def _ends(statement: dict[str, Any], where: str) -> list[float]:
    value = statement["value"]
    two = isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))
    if not two or value[0] > value[1]:
        raise InputError(f"{where}: the value {value!r}; expected [least, largest] of two numbers")
    return [float(end) for end in value]


def _is_number(value: Any) -> bool:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and abs(value) < 1e300 and not math.isnan(value)


def _state(state: dict[str, Any], language: str) -> str:
    return _text(state["title"], language) if "title" in state else state["id"].split(":")[-1]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(value: Any, language: str) -> str:
    if isinstance(value, dict):
        value = value.get(language) or next(filter(None, value.values()), None)
    if not isinstance(value, str | int | float) or not str(value).strip():
        raise TypeError(f"the text {value!r}")
    return " ".join(str(value).split())


def _picture(named: Any, media: dict[str, Any]) -> bytes | None:
    """Return the first picture that is in the key itself; addresses are not followed."""
    for name in _list(named) if named else []:
        element = media.get(name, {}).get("mediaElement", {})
        for file in _list(element.get("file", [])):
            match = PICTURE.fullmatch(file.get("file", ""))
            if match:
                try:
                    return base64.b64decode(match[1], validate=True)
                except binascii.Error:
                    continue
    return None


def write_clavis(
    key: Key,
    path: Path,
    creator: str,
    license: str,
    modified: datetime | None = None,
) -> None:
    """Write a key that `read_clavis`, and other tools, read.

    Args:
        key: to write.
        path: the file.
        creator: who made it.
        license: its address, such as https://creativecommons.org/licenses/by/4.0/.
        modified: when it was last changed; None for now.
    """
    check_pictures(key)
    media = {
        name: {
            "id": f"media:{number}",
            "mediaElement": {"file": {"file": _data(name, picture)}},
        }
        for number, (name, picture) in enumerate(key.pictures.items())
    }
    ranges = [each.ranges for each in key.characters if each.ranges is not None]
    if odd := [each for each in ranges if np.isinf(each).any()]:
        message = (
            "%s: %s with a range of one end, such as <5: the farthest number of all is the other"
        )
        logger.warning(message, path, counted(len(odd), "character"))
    taxa = []
    for number, name in enumerate(key.classes):
        called = {"scientificName" if len(name) >= SHORTEST_NAME else "label": name}
        pictured = {"media": media[name]["id"]} if name in media else {}
        taxa.append({"id": f"taxon:{number}", **called, **pictured})
    characters, statements = [], []
    for number, character in enumerate(key.characters):
        described: dict[str, Any] = {"id": f"character:{number}", "title": character.name}
        if character.ranges is not None:
            finite = character.ranges[np.isfinite(character.ranges)]
            least, most = finite.min(), finite.max()
            described |= {"type": "numerical", "min": least, "max": most, "stepSize": 1, "unit": ""}
        else:
            described |= {
                "type": "exclusive",
                "states": [
                    {"id": f"state:{number}_{state}", "title": title}
                    for state, title in enumerate(character.states)
                ],
            }
        characters.append(described)
        for row in range(len(key.classes)):
            for value, frequency in _said(character, number, row):
                statements.append(
                    {
                        "id": f"statement:{len(statements)}",
                        "taxon": f"taxon:{row}",
                        "character": f"character:{number}",
                        "value": value,
                        "frequency": frequency,
                    }
                )
    when = modified or datetime.now(UTC)
    content = {
        "$schema": SCHEMA,
        "title": key.title,
        "language": "en",
        "license": license,
        "creator": "person:1",
        "lastModified": f"{when:%Y-%m-%d %H:%M:%S}",
        "identifier": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{SCHEMA}/{key.title}")),
        "taxa": taxa,
        "characters": characters,
        "statements": statements,
        "persons": [{"id": "person:1", "name": creator}],
        "mediaElements": list(media.values()),
    }
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def _said(character: Character, number: int, row: int) -> list[tuple[Any, float]]:
    if character.ranges is not None:
        finite = character.ranges[np.isfinite(character.ranges)]
        ends = character.ranges[row].clip(finite.min(), finite.max()).tolist()
        return [] if np.isnan(ends).any() else [(ends, 1.0)]
    frequency = character.frequency[row]
    if np.isnan(frequency).any():
        return []
    return [
        (f"state:{number}_{state}", float(share))
        for state, share in enumerate(frequency)
        if share or not frequency.any()
    ]


def _data(name: str, picture: Path | bytes) -> str:
    """Return a picture as a data address, decoded and encoded again: no other file, no metadata."""
    try:
        return thumbnail(picture, SIDE)
    except UnreadableError as reason:
        shown = picture if isinstance(picture, Path) else f"the picture of {name!r}"
        raise InputError(f"{shown}: {reason}; expected a picture") from reason
