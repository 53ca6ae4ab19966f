"""Identification keys: a table of classes by characters, as naturalists have them.

A CSV file has a row for each class: its name, then a cell for each character (docs/keys.md):

    species,leaves,flowers yellow,height (cm),picture
    Sorrel,alternate,no,30-100,sorrel.jpg
    Buttercup,alternate|basal,yes,,
    Nettle,opposite:0.9|alternate:0.1,no,50-150,

`|` stands between states that occur, `:` before how often one does, an empty cell or `?` for what
is not known. A column of yes and no is a question; one of numbers and ranges becomes questions
(`height (cm) > 40?`); `picture` is a file beside the table. `clavis.py` and `sdd.py` read other
formats.
"""

from __future__ import annotations

import csv
import logging
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from infopursuit.core.errors import InputError

logger = logging.getLogger(__name__)

YES, NO = "yes", "no"
PICTURE = "picture"
UNKNOWN = ("", "?")
# Questions about one column of numbers.
CUTS = 8
NUMBER = r"[-+]?\d+(?:\.\d+)?"
RANGE = re.compile(rf"\s*({NUMBER})\s*(?:(?:-|–|to|\.\.)\s*({NUMBER}))?\s*")
FREQUENCY = re.compile(r"(.*):\s*(0?\.\d+|[01](?:\.\d*)?)")


@dataclass(frozen=True, eq=False)
class Character:
    """One character of c classes; a specimen has one of its states, or a number.

    Attributes:
        name: such as `leaves`.
        states: such as `opposite`; `yes` and `no` for a question; `> 40` for numbers.
        frequency: (c, s) how often a class has each state, in [0, 1]; NaN if it is not known.
        ranges: (c, 2) the least and the largest number of each class; None if they are not numbers.
    """

    name: str
    states: tuple[str, ...]
    frequency: Float[np.ndarray, "c s"]
    ranges: Float[np.ndarray, "c 2"] | None = None

    @classmethod
    def of_numbers(cls, name: str, ranges: Float[np.ndarray, "c 2"]) -> Character:
        """Return questions about numbers: cuts between the ranges of classes."""
        ends = np.unique(ranges[~np.isnan(ranges)])
        middles = (ends[:-1] + ends[1:]) / 2
        if len(middles) > CUTS:
            middles = middles[np.linspace(0, len(middles) - 1, CUTS).round().astype(int)]
        low, high = ranges[:, :1], ranges[:, 1:]
        width = np.where(high > low, high - low, 1)
        above = np.where(high > low, (high - middles) / width, low > middles)
        above = np.where(np.isnan(low), np.nan, above.clip(0, 1))
        states = tuple(f"> {cut:.4g}" for cut in middles)
        return cls(name, states, above, ranges)

    @classmethod
    def of_question(cls, name: str, yes: Float[np.ndarray, " c"]) -> Character:
        """Return a character that a class has, or not."""
        return cls(name, (YES, NO), np.stack([yes, 1 - yes], axis=1))

    @property
    def asked(self) -> tuple[int, ...]:
        """The states that are asked about: of yes and no, yes; of two others, the first."""
        if set(self.states) <= {YES, NO}:
            return (self.states.index(YES),) if YES in self.states else ()
        one_says_all = self.ranges is None and len(self.states) == 2
        return (0,) if one_says_all else tuple(range(len(self.states)))

    def question(self, state: int) -> str:
        """Return the question about a state."""
        if set(self.states) <= {YES, NO}:
            return f"{self.name.rstrip('?')}?"
        between = " " if self.ranges is not None else ": "
        return f"{self.name}{between}{self.states[state]}?"


class Question(NamedTuple):
    """A question of a key: a state of a character."""

    text: str
    character: int
    state: int


@dataclass(frozen=True, eq=False)
class Key:
    """A key to c classes.

    Attributes:
        title: of the page.
        classes: names, all different.
        characters: what tells them apart.
        pictures: of classes: a file, or its content.
    """

    title: str
    classes: tuple[str, ...]
    characters: tuple[Character, ...]
    pictures: dict[str, Path | bytes] = field(default_factory=dict)

    @property
    def questions(self) -> list[Question]:
        """All questions, in the order of the characters."""
        return [
            Question(character.question(state), number, state)
            for number, character in enumerate(self.characters)
            for state in character.asked
        ]

    def truth(self) -> Float[np.ndarray, "c k"]:
        """Return how often the answer to each question is yes in each class; NaN if not known."""
        return np.stack(
            [self.characters[each.character].frequency[:, each.state] for each in self.questions], 1
        )

    def redundant(self) -> list[tuple[int, int, int]]:
        """Return which questions need no asking after which answers (`RedundantQuestions`).

        After a yes the other states of a character are no; if a person cannot tell, others of the
        same character are of no use. More than 5 is more than 4.
        """
        pairs: list[tuple[int, int, int]] = []
        of_character: dict[int, list[int]] = {}
        for place, each in enumerate(self.questions):
            of_character.setdefault(each.character, []).append(place)
        for number, places in of_character.items():
            character = self.characters[number]
            for rank, first in enumerate(places):
                for other_rank, other in enumerate(places):
                    if first == other:
                        continue
                    if character.ranges is None:
                        pairs += [(first, other, 1), (first, other, 3)]
                    else:
                        pairs.append((first, other, 1 if other_rank < rank else 2))
        return pairs


def yes_or_no(states: Sequence[str]) -> tuple[str, ...]:
    """Return states as they are, or in small letters if they are yes and no."""
    small = tuple(each.casefold() for each in states)
    return small if set(small) <= {YES, NO} else tuple(states)


def checked(key: Key, where: object) -> Key:
    """Return a key that can tell classes apart; warn of those that it cannot.

    Raises:
        InputError: it has fewer than two classes, a class twice, or nothing tells them apart.
    """
    if len(key.classes) < 2:
        raise InputError(f"{where}: {len(key.classes)} classes; expected at least two")
    if len(set(key.classes)) < len(key.classes):
        name = next(each for each in key.classes if key.classes.count(each) > 1)
        raise InputError(f"{where}: the class {name!r} is there twice")
    if not key.questions:
        raise InputError(f"{where}: no character with a state; expected something to ask about")
    texts = [each.text for each in key.questions]
    if len(set(texts)) < len(texts):
        text = next(each for each in texts if texts.count(each) > 1)
        raise InputError(f"{where}: the question {text!r} is there twice; expected one of each")
    alike = [names for names in _alike(key) if len(names) > 1]
    if alike:
        of_two = f"{where}: no character tells {alike[0][0]!r} and {alike[0][1]!r} apart"
        if len(alike[0]) == len(key.classes):
            raise InputError(f"{of_two}, nor any other classes")
        classes = sum(map(len, alike))
        logger.warning("%s%s", of_two, f" ({classes} classes in all)" if classes > 2 else "")
    return key


def _alike(key: Key) -> list[list[str]]:
    """Return the names of the classes in groups that have the same states."""
    truth = np.nan_to_num(key.truth(), nan=-1.0)
    groups = np.unique(truth, axis=0, return_inverse=True)[1].ravel()
    named: dict[int, list[str]] = {}
    for name, group in zip(key.classes, groups.tolist(), strict=True):
        named.setdefault(group, []).append(name)
    return list(named.values())


# -- CSV ------------------------------------------------------------------------------------------


def read_csv(path: Path) -> Key:
    """Read a table of classes by characters (see above).

    Raises:
        InputError: a row is malformed; the message names it.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            sample = file.read(4096)
            file.seek(0)
            comma = (
                ";" if sample.split("\n")[0].count(";") > sample.split("\n")[0].count(",") else ","
            )
            rows = [row for row in csv.reader(file, delimiter=comma) if any(map(str.strip, row))]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8 ({error})") from error
    if len(rows) < 2 or len(rows[0]) < 2:
        raise InputError(f"{path}: expected a row for each class and a column for each character")
    header = [name.strip() for name in rows[0]]
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise InputError(
                f"{path}, row {number}: found {len(row)} cells; expected {len(header)}, as in the "
                "header"
            )
    if len(set(header)) < len(header):
        raise InputError(f"{path}: a character is there twice; expected distinct names of columns")
    classes = tuple(row[0].strip() for row in rows[1:])
    if "" in classes:
        raise InputError(
            f"{path}, row {classes.index('') + 2}: no name; expected one for each class"
        )
    pictures: dict[str, Path | bytes] = {}
    characters = []
    for column, name in enumerate(header[1:], start=1):
        cells = [row[column].strip() for row in rows[1:]]
        if name.casefold() == PICTURE:
            pictures = {
                each: path.parent / cell for each, cell in zip(classes, cells, strict=True) if cell
            }
        elif any(cell not in UNKNOWN for cell in cells):
            characters.append(_character(name, cells, path))
    return checked(Key(path.stem, classes, tuple(characters), pictures), path)


def _character(name: str, cells: Sequence[str], path: Path) -> Character:
    known = [cell for cell in cells if cell not in UNKNOWN]
    found = [RANGE.fullmatch(cell) for cell in known]
    if all(found):
        ranges = np.full((len(cells), 2), np.nan)
        for row, cell in enumerate(cells):
            match = RANGE.fullmatch(cell)
            if match:
                low = float(match[1])
                ranges[row] = low, low if match[2] is None else float(match[2])
                if ranges[row, 1] < low:
                    raise InputError(f"{path}, row {row + 2}: {name}: {cell!r}; expected low-high")
        return Character.of_numbers(name, ranges)
    if any(found):
        odd = known[found.index(None)]
        where = f"{path}, row {cells.index(odd) + 2}: {name}"
        logger.warning("%s: %r is not a number, so all cells of %s are states", where, odd, name)
    parsed = [None if cell in UNKNOWN else _states(cell) for cell in cells]
    states = list(dict.fromkeys(state for each in parsed if each for state in each))
    if set(yes_or_no(states)) <= {YES, NO}:
        parsed = [each and {s.casefold(): f for s, f in each.items()} for each in parsed]
        states = [YES, NO]
    frequency = np.full((len(cells), len(states)), np.nan)
    for row, each in enumerate(parsed):
        if each is None:
            continue
        total = sum(each.values())
        if not 0 < total <= 1 + 1e-3:  # frequencies are rounded
            raise InputError(
                f"{path}, row {row + 2}: {name}: the frequencies of {cells[row]!r} sum to "
                f"{total:.3g}; expected more than 0 and at most 1"
            )
        frequency[row] = [each.get(state, 0.0) for state in states]
    return Character(name, tuple(states), frequency)


def _states(cell: str) -> dict[str, float]:
    """Return how often each state of a cell occurs; states without a number share what is left."""
    given: dict[str, float | None] = {}
    for part in cell.split("|"):
        match = FREQUENCY.fullmatch(part.strip())
        given[(match[1] if match else part).strip()] = float(match[2]) if match else None
    left = 1 - sum(share for share in given.values() if share is not None)
    free = sum(share is None for share in given.values())
    return {
        state: max(left, 0) / free if share is None else share for state, share in given.items()
    }


def write_csv(key: Key, path: Path) -> None:
    """Write a table that `read_csv` reads."""
    pictured = {
        name: picture for name, picture in key.pictures.items() if isinstance(picture, Path)
    }
    columns = [key.title, *(each.name for each in key.characters), *([PICTURE] if pictured else [])]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row, name in enumerate(key.classes):
            cells = [_cell(each, row) for each in key.characters]
            picture = pictured.get(name)
            writer.writerow([name, *cells, *([picture or ""] if pictured else [])])


def _cell(character: Character, row: int) -> str:
    if character.ranges is not None:
        low, high = character.ranges[row].tolist()
        return "" if math.isnan(low) else f"{low:g}" if low == high else f"{low:g}-{high:g}"
    frequency = character.frequency[row]
    if np.isnan(frequency).any():
        return ""
    there = [
        (state, share) for state, share in zip(character.states, frequency, strict=True) if share
    ]
    if np.allclose(frequency[frequency > 0], 1 / max(len(there), 1)):
        return "|".join(state for state, _ in there)
    return "|".join(f"{state}:{share:.6g}" for state, share in there)
