"""A judge's table: text by text, of which classes it is true.

One JSON object a line (UTF-8). The first line says that the judge went through all texts:

    {"complete": true}
    {"text": "striped coat", "true": ["zebra"], "often": ["cat"]}

A text that is not named fits no class.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from infopursuit.core.errors import InputError
from infopursuit.queries.knowledge import NOT_TRUE, SOMETIMES, TRUE, KnowledgeTable


def read_judge(path: str | Path, classes: Sequence[str], texts: Sequence[str]) -> KnowledgeTable:
    """The table of all classes and texts; texts of another universe are passed over.

    Raises:
        InputError: the file is missing or malformed, or names a class that is not there.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        entries = [json.loads(line) for line in lines if line.strip()]
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; expected a judge's table (.jsonl)") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: not lines of JSON ({error})") from error
    if not entries or entries[0] != {"complete": True}:
        raise InputError(f'{path}: expected {{"complete": true}} in the first line')
    rows = {name: row for row, name in enumerate(classes)}
    columns = {text: column for column, text in enumerate(texts)}
    table = np.full((len(classes), len(texts)), NOT_TRUE, dtype=np.float32)
    for number, entry in enumerate(entries[1:], start=2):
        if not isinstance(entry, dict) or set(entry) != {"text", "true", "often"}:
            raise InputError(f"{path}: line {number}; expected the keys text, true and often")
        column = columns.get(entry["text"])
        for key, value in (("often", SOMETIMES), ("true", TRUE)):
            for name in entry[key]:
                if name not in rows:
                    raise InputError(f"{path}: line {number}: no class {name!r}")
                if column is not None:
                    table[rows[name], column] = value
    return KnowledgeTable(tuple(classes), tuple(texts), table)
