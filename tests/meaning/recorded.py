"""What people say of the classes of real data sets, written down before any answer was looked at.

strict/*.jsonl   texts whose truth the class tells: text, kind, and the classes `true`, `unknown`
judge/*.jsonl    a judge's table, text by text: text, and the classes `true`, `often`
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from infopursuit.queries.knowledge import NOT_TRUE, SOMETIMES, TRUE, KnowledgeTable

HERE = Path(__file__).parent


def strict_truth(name: str, classes: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """The texts of a list and their truth (c, q): 1 true, 0 not, NaN where the class does not tell.

    Args:
        name: of the file, without its suffix.
        classes: c names, in the order of the rows.
    """
    entries = _entries(HERE / "strict" / f"{name}.jsonl")
    table = np.zeros((len(classes), len(entries)), dtype=np.float32)
    for column, entry in enumerate(entries):
        _put(table, column, classes, entry["unknown"], np.nan)
        _put(table, column, classes, entry["true"], TRUE)
    return [entry["text"] for entry in entries], table


def judged_table(name: str, classes: Sequence[str], texts: Sequence[str]) -> KnowledgeTable:
    """The judge's table of all texts: those that he does not name fit no class.

    Args:
        name: of the file, without its suffix.
        classes: c names.
        texts: u texts of a universe.
    """
    path = HERE / "judge" / f"{name}.jsonl"
    first, *entries = _entries(path)
    if first != {"complete": True}:
        raise ValueError(f'{path}: the first line is {first}; expected {{"complete": true}}')
    columns = {text: column for column, text in enumerate(texts)}
    table = np.full((len(classes), len(texts)), NOT_TRUE, dtype=np.float32)
    for entry in entries:
        column = columns.get(entry["text"])
        if column is not None:  # a text of another universe
            _put(table, column, classes, entry["often"], SOMETIMES)
            _put(table, column, classes, entry["true"], TRUE)
    return KnowledgeTable(tuple(classes), tuple(texts), table)


def _entries(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def _put(
    table: np.ndarray, column: int, classes: Sequence[str], named: list[str], value: float
) -> None:
    table[[list(classes).index(name) for name in named], column] = value
