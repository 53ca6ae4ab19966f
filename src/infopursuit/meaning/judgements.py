"""What people say of the classes of a data set, against which a model is measured.

Two files of JSON lines (UTF-8). A judge's table goes text by text; its first line may say that the
judge went through all texts of the universe, so that those without a line fit no class:

    {"complete": true}
    {"text": "striped coat", "true": ["zebra"], "often": ["cat"]}

A strict list holds texts whose truth the class tells; of classes in neither list they are not true:

    {"text": "animal", "kind": "hypernym", "true": ["zebra", "cat"], "unknown": ["saddle"]}

A file with the line {"complete": false} alone says nothing, as params/no_knowledge.jsonl does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit.core.errors import InputError
from infopursuit.core.text_files import json_lines
from infopursuit.queries.knowledge import NOT_TRUE, SOMETIMES, TRUE, KnowledgeTable
from infopursuit.queries.normalization import normalize

JUDGE_FORM = '{"text": TEXT, "true": [CLASS, ...], "often": [CLASS, ...]}'
STRICT_FORM = '{"text": TEXT, "kind": KIND, "true": [CLASS, ...], "unknown": [CLASS, ...]}'
# Lines with their numbers.
Entries = list[tuple[int, dict[str, Any]]]


def read_judge(
    path: str | Path, classes: Sequence[str], texts: Sequence[str] = ()
) -> KnowledgeTable:
    """A judge's table of c classes: 1 true, 0.5 often, 0 neither.

    Args:
        path: the file.
        classes: c names; the rows.
        texts: of the universe; where the file is complete, those that it does not name fit no
            class.

    Returns:
        The texts in the order of the file, then those of `texts` that it does not name, if it is
        complete.

    Raises:
        InputError: the file is missing, a line has another form, a text comes twice, or a class is
            none of the data set.
    """
    complete, entries = _read(Path(path), JUDGE_FORM, {"text": str, "true": list, "often": list})
    named = _table(Path(path), entries, classes, {"often": SOMETIMES, "true": TRUE})
    known = {normalize(text) for text in named.texts}
    others = []
    for text in texts if complete else ():
        if normalize(text) not in known:
            known.add(normalize(text))
            others.append(text)
    none = np.full((len(classes), len(others)), NOT_TRUE, np.float32)
    return KnowledgeTable(
        named.classes, (*named.texts, *others), np.concatenate([named.values, none], axis=1)
    )


def read_strict(path: str | Path, classes: Sequence[str]) -> KnowledgeTable:
    """The texts of a strict list: 1 true, 0 not, NaN where the class does not tell.

    Args:
        path: the file.
        classes: c names; the rows.

    Raises:
        InputError: as `read_judge`.
    """
    keys = {"text": str, "kind": str, "true": list, "unknown": list}
    _, entries = _read(Path(path), STRICT_FORM, keys)
    return _table(Path(path), entries, classes, {"unknown": np.nan, "true": TRUE})


def _read(path: Path, form: str, keys: dict[str, type]) -> tuple[bool, Entries]:
    """Whether the file says that it is complete, and its lines with their numbers."""
    complete, entries = False, []
    for number, entry in json_lines(path, "expected judgements (JSON lines)", f"expected {form}"):
        if number == 1 and isinstance(entry, dict) and list(entry) == ["complete"]:
            complete = entry["complete"]
            if not isinstance(complete, bool):
                raise InputError(
                    f"{path}: line 1 says complete: {complete!r}; expected true or false"
                )
            continue
        fits = isinstance(entry, dict) and set(entry) == set(keys)
        if not fits or not all(isinstance(entry[key], kind) for key, kind in keys.items()):
            shown = json.dumps(entry, ensure_ascii=False)[:80]
            raise InputError(f"{path}: line {number} is {shown}; expected {form}")
        entries.append((number, entry))
    return complete, entries


def _table(
    path: Path, entries: Entries, classes: Sequence[str], values: dict[str, float]
) -> KnowledgeTable:
    """A column for each line: the value of each list for its classes, and 0 for all others."""
    row_of = {name: row for row, name in enumerate(classes)}
    table = np.full((len(classes), len(entries)), NOT_TRUE, np.float32)
    line_of: dict[str, int] = {}
    for column, (number, entry) in enumerate(entries):
        where = f"{path}: line {number}, {entry['text']!r}"
        first = line_of.setdefault(normalize(entry["text"]), number)
        if first != number:
            raise InputError(f"{where}: the text is on line {first}, too; expected it once")
        given: set[str] = set()
        for key, value in values.items():
            for name in entry[key]:
                if not isinstance(name, str) or name not in row_of:
                    raise InputError(f"{where}: {name!r} is no class of the data set")
                if name in given:
                    raise InputError(f"{where}: the class {name!r} comes twice; expected it once")
                given.add(name)
                table[row_of[name], column] = value
    texts = tuple(entry["text"] for _, entry in entries)
    return KnowledgeTable(tuple(classes), texts, table)
