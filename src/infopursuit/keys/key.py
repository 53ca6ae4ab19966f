"""Identification keys: a table of classes by characters, as naturalists have them.

A CSV file has a row for each class: its name, then a cell for each character (docs/keys.md):

    species,leaves,flowers yellow,height (cm),picture
    Sorrel,alternate,no,30-100,sorrel.jpg
    Buttercup,alternate|basal,yes,,
    Nettle,opposite:0.9|alternate:0.1,no,50-150,

A column of yes and no is a question; one of numbers and ranges becomes questions
(`height (cm) > 40?`); `picture` is a file in the folder of the table.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from infopursuit.core.csv_tables import CsvTable, read_csv_table
from infopursuit.core.errors import InputError
from infopursuit.core.files import is_file
from infopursuit.core.numbers import counted, distinct_numbers
from infopursuit.keys.cells import (
    ANSWERS,
    NO,
    YES,
    alike,
    known_cells,
    read_numbers,
    read_states,
    tidy,
    with_unit,
)

logger = logging.getLogger(__name__)

PICTURE = "picture"
# Questions about one column of numbers.
CUTS = 8
# How often a number is among what is rare, such as the 7 of 2-5(-7).
RARE = 0.1


@dataclass(frozen=True, eq=False)
class Character:
    """One character of c classes; a specimen has one of its states, or a number.

    Attributes:
        name: such as `leaves`.
        states: such as `opposite`; `yes` and `no` for a question; `> 40` for numbers.
        frequency: (c, s) how often a class has each state, in [0, 1]; NaN if it is not known.
        ranges: (c, 2) the least and the largest number of each class, infinite if a range has one
            end; None if they are not numbers.
        cuts: (s,) what the states of numbers compare with, ascending.
    """

    name: str
    states: tuple[str, ...]
    frequency: Float[np.ndarray, "c s"]
    ranges: Float[np.ndarray, "c 2"] | None = None
    cuts: tuple[float, ...] = ()

    @classmethod
    def of_numbers(
        cls,
        name: str,
        ranges: Float[np.ndarray, "c 2"],
        usual: Float[np.ndarray, "c 2"] | None = None,
    ) -> Character:
        """Return questions about numbers: cuts between the ranges of classes.

        A range with one end has a cut there. `usual` are the ranges without what is rare.
        """
        usual = ranges if usual is None else usual
        both = np.concatenate([ranges, usual])
        ends = np.unique(both[np.isfinite(both)])
        open_ends = ranges[np.isinf(ranges).any(axis=1)]
        cuts = np.union1d(ends[:-1] / 2 + ends[1:] / 2, open_ends[np.isfinite(open_ends)])
        if len(cuts) > CUTS:
            cuts = cuts[np.linspace(0, len(cuts) - 1, CUTS).round().astype(int)]
        above = _share_above(usual, cuts, ends)
        rare = (usual != ranges).any(axis=1, keepdims=True) & ~np.isnan(ranges[:, :1])
        above = np.where(rare, (1 - RARE) * above + RARE * _share_above(ranges, cuts, ends), above)
        states = tuple(f"> {cut}" for cut in distinct_numbers(cuts.tolist()))
        return cls(name, states, above, ranges, tuple(cuts.tolist()))

    @property
    def asked(self) -> tuple[int, ...]:
        """The states that tell all: of yes and no, yes; of two others, the first."""
        if self.is_question:
            return (self.states.index(YES),) if YES in self.states else ()
        one_says_all = self.ranges is None and len(self.states) == 2
        return (0,) if one_says_all else tuple(range(len(self.states)))

    @property
    def is_question(self) -> bool:
        """Whether its states are yes and no."""
        return set(self.states) <= {YES, NO}

    @property
    def in_degrees(self) -> bool:
        """Whether a person says yes or no: to a question, or to a state that is the only one."""
        return self.ranges is None and (self.is_question or len(self.states) == 1)

    @property
    def choices(self) -> Float[np.ndarray, "c s"]:
        """How often a class has each of the states that one may choose from; a row sums to 1.

        Numbers lie between the cuts; of yes and no, and of one state alone, there are no and yes.
        """
        if self.ranges is not None:
            ends = np.ones((len(self.frequency), 1)), 0 * self.frequency[:, :1]
            return -np.diff(np.concatenate([ends[0], self.frequency, ends[1]], axis=1))
        if self.in_degrees:
            yes = self.frequency[:, self.asked]
            return np.concatenate([1 - yes, yes], axis=1)
        rest = np.clip(1 - self.frequency.sum(axis=1, keepdims=True), 0, 1)
        other = self.frequency == 0  # what is not named has what is left
        left = rest * other / np.maximum(other.sum(axis=1, keepdims=True), 1)
        total = self.frequency + left
        return total / total.sum(axis=1, keepdims=True)

    def question(self, state: int) -> str:
        """Return the question about a state."""
        name = self.name.rstrip("?: ")
        if self.is_question:
            return f"{name}?"
        if self.ranges is not None:
            return f"{name} {self.states[state]}?"
        asks = self.name.endswith("?")  # What does it look like? A frog?
        return f"{name}{'?' if asks else ':'} {self.states[state].rstrip('?')}?"


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
        """What the characters say as questions for yes and no, in their order."""
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


def _share_above(
    ranges: Float[np.ndarray, "c 2"], cuts: Float[np.ndarray, " s"], ends: Float[np.ndarray, " e"]
) -> Float[np.ndarray, "c s"]:
    """Return how much of each range lies above each cut; NaN if it is not known.

    A range with one end goes on to the farthest of all ends.
    """
    if not len(ends):
        return np.zeros((len(ranges), 0))
    low, high = ranges[:, :1], ranges[:, 1:]
    least, most = np.maximum(low, ends[0]), np.minimum(high, ends[-1])
    wide = most > least
    above = np.where(wide, (most - cuts) / np.where(wide, most - least, 1), least > cuts)
    above = np.where((high == np.inf) & (cuts <= low), 1.0, above.clip(0, 1))
    return np.where(np.isnan(low), np.nan, above)


def yes_or_no(states: Sequence[str]) -> tuple[str, ...]:
    """Return yes and no for states that begin so, `Yes, it has scales`; others as they are."""
    words = tuple(ANSWERS.get(alike(re.split(r"[,.;:(]", each, maxsplit=1)[0])) for each in states)
    return tuple(map(str, words)) if len(set(words) - {None}) == len(words) else (*states,)


def checked(key: Key, where: object) -> Key:
    """Return a key that can tell classes apart; warn of those that it cannot.

    Raises:
        InputError: it has fewer than two classes, a class twice, or nothing tells them apart.
    """
    if len(key.classes) < 2:
        number = counted(len(key.classes), "class")
        raise InputError(f"{where}: {number}; expected at least two")
    if name := _twice(key.classes):
        raise InputError(f"{where}: the class {name!r} is there twice")
    if not key.questions:
        raise InputError(f"{where}: no character with a state; expected something to ask about")
    if name := _twice([each.name.rstrip("? ").casefold() for each in key.characters]):
        raise InputError(f"{where}: the character {name!r} is there twice; expected one of each")
    for each in key.characters:
        if (state := _twice(each.states)) is not None:
            raise InputError(f"{where}: {each.name!r} has the state {state!r} twice")
    alike = [names for names in _alike(key) if len(names) > 1]
    if alike:
        of_two = f"{where}: no character tells {alike[0][0]!r} and {alike[0][1]!r} apart"
        if len(alike[0]) == len(key.classes):
            raise InputError(f"{of_two}, nor any other classes")
        classes = sum(map(len, alike))
        logger.warning("%s%s", of_two, f" ({classes} classes in all)" if classes > 2 else "")
    return key


def _twice(names: Sequence[str]) -> str | None:
    seen = set[str]()
    return next((name for name in names if name in seen or seen.add(name)), None)


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
    expected = "expected a row for each class and a column for each character"
    table = read_csv_table(path, expected=expected)
    if not table.rows or len(table.names) < 2:
        raise InputError(f"{path}: {expected}")
    header = [tidy(name) for name in table.names]
    if "" in header[1:]:
        column = header.index("", 1) + 1
        raise InputError(f"{path}: column {column} has no name; expected one for each character")
    if (name := _twice([each.casefold() for each in header])) is not None:
        raise InputError(f"{path}: the column {name!r} is there twice; expected distinct names")
    classes = tuple(tidy(row[0]) for row in table.rows)
    if "" in classes:
        where = table.where(classes.index(""))
        raise InputError(f"{where}: no name; expected one for each class")
    pictures: dict[str, Path | bytes] = {}
    characters = []
    for column, name in enumerate(header[1:], start=1):
        cells = [row[column] for row in table.rows]
        if name.casefold() == PICTURE:
            pictures = {
                each: _picture(path, cell.strip(), table.where(row, name))
                for row, (each, cell) in enumerate(zip(classes, cells, strict=True))
                if cell.strip()
            }
        else:
            character = _character(table, name, [tidy(cell) for cell in cells])
            characters += [] if character is None else [character]
    return checked(Key(path.stem, classes, tuple(characters), pictures), path)


def _picture(table: Path, cell: str, where: str) -> Path:
    """Return the file of a picture, which has to be in the folder of the table."""
    try:
        folder = table.parent.resolve()
        file = (folder / cell).resolve()
        inside = file.is_relative_to(folder)
    except (OSError, ValueError, RuntimeError):  # no file can have this name, or links in a ring
        inside = False
    if not inside:
        raise InputError(f"{where}: {cell!r}; expected a picture in the folder of the table")
    return table.parent / cell


def check_pictures(key: Key) -> None:
    """Raise InputError for a picture that is no regular file."""
    for name, picture in key.pictures.items():
        if isinstance(picture, Path) and not is_file(picture):
            raise InputError(f"{picture}: no regular file; expected the picture of {name!r}")


def _character(table: CsvTable, name: str, cells: Sequence[str]) -> Character | None:
    """Return what a column says; None if it says nothing, or names the classes."""

    def where(row: int) -> str:
        return table.where(row, name)

    known = known_cells(cells)
    if not any(known):
        return None
    numbers = read_numbers(known, where, not table.decimal_comma)
    if numbers is not None:
        shown = with_unit(name, numbers.unit, f"{table.path}, column {name!r}")
        return Character.of_numbers(shown, numbers.ends[:, [0, 3]], numbers.ends[:, [1, 2]])
    states = read_states(known, where)
    return None if states is None else Character(name, states.names, states.frequency)
