"""What a person writes down of classes, read as a knowledge table.

The file has one JSON object a line (UTF-8). The first line may say that its author went through all
texts of the universe:

    {"complete": true}
    {"class": "zebra", "yes": ["striped coat", "four legs"], "sometimes": ["tall grass"]}
    {"class": "bus", "yes": ["four wheels"], "sometimes": ["red body"]}

A text that some class lists is known of every class: it is not true of those that do not list it.
A text that no class lists is true of none where the file is complete, and unknown otherwise. A file
with the line {"complete": false} alone says nothing of anything: such a one ships as
params/no_knowledge.jsonl.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit.core.errors import InputError
from infopursuit.core.text_files import json_lines
from infopursuit.queries.knowledge import (
    NOT_TRUE,
    SOMETIMES,
    TRUE,
    KnowledgeTable,
    read_knowledge,
)
from infopursuit.queries.normalization import normalize

LIST_SUFFIX, TABLE_SUFFIX, PROMPT_SUFFIX = ".jsonl", ".parquet", ".jinja"
KEYS = {"class": str, "yes": list, "sometimes": list}
FIRST = 'expected {"complete": true} or {"complete": false} in the first line'
FORM = 'expected {"class": NAME, "yes": [TEXT, ...], "sometimes": [TEXT, ...]}'


def is_prompt(path: str | Path) -> bool:
    """Whether knowledge is a prompt for the language model, not a file that holds it.

    Raises:
        InputError: the suffix is none that knowledge may have.
    """
    suffix = Path(path).suffix
    if suffix not in (LIST_SUFFIX, TABLE_SUFFIX, PROMPT_SUFFIX):
        raise InputError(
            f"{path}: unknown kind of knowledge {suffix!r}; expected a prompt (.jinja), lists "
            "written by a person (.jsonl) or a table (.parquet)"
        )
    return suffix == PROMPT_SUFFIX


def open_knowledge(path: str | Path, texts: Sequence[str] = ()) -> KnowledgeTable:
    """The knowledge that a file holds: lists (.jsonl) or a table (.parquet).

    Args:
        path: the file.
        texts: of the universe; those that complete lists do not name are true of no class.

    Raises:
        InputError: the file is missing or has a mistake, or its suffix is another.
    """
    if Path(path).suffix == TABLE_SUFFIX:
        return read_knowledge(path)
    if Path(path).suffix == LIST_SUFFIX:
        return read_knowledge_lists(path, texts)
    raise InputError(f"{path}: expected lists written by a person (.jsonl) or a table (.parquet)")


def knowledge_of_universe(
    path: str | Path, classes: Sequence[str], texts: Sequence[str]
) -> KnowledgeTable:
    """What a file says of the classes of a data set and the texts of a universe.

    Args:
        path: the file.
        classes: c names.
        texts: u texts, no two of one normalised spelling. What the file says of others is left out.

    Returns:
        A (c, u) table with NaN where the file says nothing.

    Raises:
        InputError: as `open_knowledge` and `check_classes`.
    """
    knowledge = open_knowledge(path, texts)
    check_classes(path, knowledge, classes)
    values = knowledge.for_classes_and_texts(classes, texts)
    return KnowledgeTable(tuple(classes), tuple(texts), values)


def check_classes(path: str | Path, knowledge: KnowledgeTable, classes: Sequence[str]) -> None:
    """Raise InputError unless a file is about the classes of the data set, or says nothing at all.

    Args:
        path: the file, for messages.
        knowledge: what was read from it.
        classes: of the data set.
    """
    if not knowledge.classes:
        return
    for name in knowledge.classes:
        if name not in classes:
            raise InputError(
                f"{path}: {name!r} is no class of the data set; expected {', '.join(classes)}"
            )
    for name in classes:
        if name not in knowledge.classes:
            raise InputError(f"{path}: nothing about the class {name!r}; expected every class")


def read_knowledge_lists(path: str | Path, texts: Sequence[str] = ()) -> KnowledgeTable:
    """Read lists that a person wrote; see above.

    Args:
        path: the file.
        texts: of the universe. Where the file is complete they are known, too.

    Returns:
        A table of the classes in the file's order and the texts in the order in which they are
        first named, then those of `texts` that nobody named.

    Raises:
        InputError: the file is missing or not UTF-8, a line is no JSON object with the right keys,
            a class comes twice, or a class names a text twice.
    """
    path = Path(path)
    entries = list(_lines(path))
    if not entries:
        raise InputError(f"{path}: the file is empty; {FIRST}, then a line for each class")
    complete = _said_to_be_complete(*entries[0])
    if complete is not None:
        del entries[0]
    column_of: dict[str, int] = {}
    spellings: list[str] = []
    given: dict[str, dict[int, float]] = {}
    where_of: dict[str, str] = {}
    for where, entry in entries:
        name = _checked_entry(where, entry)
        if name in given:
            raise InputError(
                f"{where} is about the class {name!r}, as {where_of[name]} is; expected one line "
                "for each class"
            )
        where_of[name] = where.removeprefix(f"{path}: ")
        given[name] = {}
        for key, value in (("yes", TRUE), ("sometimes", SOMETIMES)):
            for text in entry[key]:
                column = column_of.setdefault(normalize(text), len(spellings))
                if column == len(spellings):
                    spellings.append(text)
                if column in given[name]:
                    raise InputError(
                        f"{where}: the class {name!r} has the text {text!r} twice; expected it "
                        "once, in yes or in sometimes"
                    )
                given[name][column] = value
    if complete:
        for text in texts:
            if column_of.setdefault(normalize(text), len(spellings)) == len(spellings):
                spellings.append(text)
    values = np.full((len(given), len(spellings)), NOT_TRUE, np.float32)
    for row, cells in enumerate(given.values()):
        values[row, list(cells)] = list(cells.values())
    return KnowledgeTable(tuple(given), tuple(spellings), values)


def _lines(path: Path) -> Iterator[tuple[str, Any]]:
    expected = "expected knowledge of classes (JSON lines)"
    for number, entry in json_lines(path, expected, FORM):
        yield f"{path}: line {number}", entry


def _said_to_be_complete(where: str, entry: Any) -> bool | None:
    """What a first line says; None where it is about a class already."""
    if not isinstance(entry, dict) or "complete" not in entry:
        return None
    if list(entry) != ["complete"] or not isinstance(entry["complete"], bool):
        raise InputError(f"{where} is {_shown(entry)}; {FIRST}")
    return entry["complete"]


def _checked_entry(where: str, entry: Any) -> str:
    """The name of the class that a line is about."""
    if not isinstance(entry, dict) or set(entry) != set(KEYS):
        raise InputError(f"{where} is {_shown(entry)}; {FORM}")
    for key, kind in KEYS.items():
        if not isinstance(entry[key], kind):
            raise InputError(f"{where}: {key} is {_shown(entry[key])}; {FORM}")
    for key in ("yes", "sometimes"):
        for text in entry[key]:
            if not isinstance(text, str) or not normalize(text):
                raise InputError(f"{where}: {key} holds {_shown(text)}; expected a text")
    if not entry["class"].strip():
        raise InputError(f"{where}: class is blank; expected the name of a class")
    return entry["class"]


def _shown(value: Any) -> str:
    shown = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 100 else f"{shown[:100]}..."
