"""The knowledge table: what everybody knows of classes, before any image is looked at.

A value says how a text stands to a class: 1 where it is true of the class, 0.5 where it differs
between pictures of the class, 0 where it is not true, NaN where nobody has said. Files hold a row
for each value that is known (`core.tables.KNOWLEDGE`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Float32

from infopursuit.core.errors import InputError
from infopursuit.core.tables import KNOWLEDGE, read_table, write_table
from infopursuit.queries.normalization import normalize

TRUE, SOMETIMES, NOT_TRUE = 1.0, 0.5, 0.0
VALUES = (NOT_TRUE, SOMETIMES, TRUE)


@dataclass(frozen=True, eq=False)
class KnowledgeTable:
    """What is known of c classes and u texts.

    Attributes:
        classes: names, all different.
        texts: no two of one normalised spelling.
        values: (c, u) float32, each 0, 0.5, 1 or NaN.
    """

    classes: tuple[str, ...]
    texts: tuple[str, ...]
    values: Float32[np.ndarray, "c u"]

    def __post_init__(self) -> None:
        """Check names, shape and values.

        Raises:
            InputError: a class or a text is there twice, or a value is none of those above.
            ValueError: `values` has another shape than classes and texts say.
        """
        shape = (len(self.classes), len(self.texts))
        if self.values.shape != shape:
            raise ValueError(f"the values have the shape {self.values.shape}; expected {shape}")
        for what, names in (("class", self.classes), ("text", self._keys())):
            seen: set[str] = set()
            for name in names:
                if name in seen:
                    raise InputError(f"knowledge: the {what} {name!r} is there twice")
                seen.add(name)
        allowed = np.isin(self.values, VALUES) | np.isnan(self.values)
        if not allowed.all():
            row, column = np.argwhere(~allowed)[0]
            raise InputError(
                f"knowledge: {self.texts[column]!r} has the value {self.values[row, column]} for "
                f"the class {self.classes[row]!r}; expected 0, 0.5, 1 or NaN"
            )

    def _keys(self) -> list[str]:
        return [normalize(text) for text in self.texts]

    def for_classes_and_texts(
        self, classes: Sequence[str], texts: Sequence[str]
    ) -> Float32[np.ndarray, "c u"]:
        """The values of c classes and u texts, in that order.

        Args:
            classes: names, matched as they are written.
            texts: matched by their normalised spelling, as in the universe; two that differ only
                in spelling have the same values.

        Returns:
            NaN where this table knows nothing, of classes and texts that it lacks as well.
        """
        row_of = {name: row for row, name in enumerate(self.classes)}
        column_of = {key: column for column, key in enumerate(self._keys())}
        rows = np.array([row_of.get(name, -1) for name in classes], np.int64)
        columns = np.array([column_of.get(normalize(text), -1) for text in texts], np.int64)
        found = np.full((len(rows), len(columns)), np.nan, np.float32)
        in_rows, in_columns = rows >= 0, columns >= 0
        found[np.ix_(in_rows, in_columns)] = self.values[np.ix_(rows[in_rows], columns[in_columns])]
        return found

    def counts(self) -> dict[str, int]:
        """How many values are true, sometimes, not true and unknown."""
        named = zip(("true", "sometimes", "not_true"), (TRUE, SOMETIMES, NOT_TRUE), strict=True)
        counts = {name: int((self.values == value).sum()) for name, value in named}
        return {**counts, "unknown": int(np.isnan(self.values).sum())}


def distinct_texts(texts: Sequence[str]) -> list[str]:
    """The first of all texts that have one normalised spelling, in order."""
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(normalize(text), text)
    return list(first.values())


def write_knowledge(path: str | Path, knowledge: KnowledgeTable) -> None:
    """Write a Parquet file (class, text, value), class by class, without what is unknown."""
    rows, columns = np.nonzero(~np.isnan(knowledge.values))
    names = pa.array(knowledge.classes, pa.string())
    texts = pa.array(knowledge.texts, pa.string())
    values = {
        "class": names.take(pa.array(rows)),
        "text": texts.take(pa.array(columns)),
        "value": knowledge.values[rows, columns],
    }
    write_table(path, KNOWLEDGE, values)


def read_knowledge(path: str | Path) -> KnowledgeTable:
    """Read a Parquet file (class, text, value); what has no row is unknown.

    Raises:
        InputError: the file is missing, is no such table, has a value other than 0, 0.5 and 1, or
            gives a class and a text a value twice; the message names the row.
    """
    path = Path(path)
    table = read_table(path, KNOWLEDGE)
    value = table.column("value").to_numpy()
    wrong = ~np.isin(value, VALUES)
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(f"{path}: the value of row {row} is {value[row]}; expected 0, 0.5 or 1")
    classes, rows = _encoded(table.column("class"))
    spellings, columns = _encoded(table.column("text"))
    column_of: dict[str, int] = {}
    kept = []
    for spelling in spellings:
        if normalize(spelling) not in column_of:
            column_of[normalize(spelling)] = len(kept)
            kept.append(spelling)
    place = np.array([column_of[normalize(spelling)] for spelling in spellings], np.int64)
    cells = rows * len(kept) + place[columns]
    first = np.zeros(len(cells), dtype=bool)
    first[np.unique(cells, return_index=True)[1]] = True
    if not first.all():
        row = int((~first).argmax())
        earlier = int((cells == cells[row]).argmax())
        raise InputError(
            f"{path}: row {row} gives a value to the class {classes[rows[row]]!r} and the text "
            f"{spellings[columns[row]]!r}, as row {earlier} does; expected one row for both"
        )
    values = np.full(len(classes) * len(kept), np.nan, np.float32)
    values[cells] = value
    return KnowledgeTable(tuple(classes), tuple(kept), values.reshape(len(classes), len(kept)))


def _encoded(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """The distinct strings as they come, and for each row the number of its string (int64)."""
    encoded = column.dictionary_encode().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # of a column without rows
        return [], np.empty(0, np.int64)
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
