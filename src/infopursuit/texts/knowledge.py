"""What is known of classes before any image is looked at: the knowledge table.

A value says how a text stands to a class: 1 if it is true of the class, 0.5 if it differs between
pictures of the class, 0 if it is not true, NaN if it is unknown. Here is also the CSV table that a
person edits and a saved model holds, with a row for each class and a column for each text; other
files are in `texts.knowledge_files`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from infopursuit.core.csv_tables import csv_text, read_csv_table
from infopursuit.core.errors import InputError
from infopursuit.core.names import composed
from infopursuit.texts.normalization import normalize

TRUE, SOMETIMES, NOT_TRUE = 1.0, 0.5, 0.0
VALUES = (NOT_TRUE, SOMETIMES, TRUE)
# The name of the first column of a CSV table, and how its cells are written.
CLASS_COLUMN = "class"
CELLS = {NOT_TRUE: "0", SOMETIMES: "0.5", TRUE: "1"}
# The spellings of spreadsheets and of R; a cell that was cut, such as "0.", is none.
READ = {"0": NOT_TRUE, "1": TRUE, "": np.nan, "NA": np.nan}
READ |= {f"0{point}0": NOT_TRUE for point in ".,"} | {f"1{point}0": TRUE for point in ".,"}
READ |= {f"{zero}{point}5": SOMETIMES for point in ".," for zero in ("0", "")}


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
        """Check names, shape and values."""
        shape = (len(self.classes), len(self.texts))
        if self.values.shape != shape:
            raise ValueError(f"the values have the shape {self.values.shape}; expected {shape}")
        composed_names = list(map(composed, self.classes))
        for what, names in (("class", composed_names), ("text", self._spellings())):
            if len(set(names)) < len(names):
                repeated = next(name for name in names if names.count(name) > 1)
                raise InputError(f"knowledge: the {what} {repeated!r} is there twice")
        allowed = np.isin(self.values, VALUES) | np.isnan(self.values)
        if not allowed.all():
            row, column = np.argwhere(~allowed)[0]
            raise InputError(
                f"knowledge: {self.texts[column]!r} has the value {self.values[row, column]} for "
                f"the class {self.classes[row]!r}; expected 0, 0.5, 1 or NaN"
            )

    def _spellings(self) -> list[str]:
        return [normalize(text) for text in self.texts]

    def for_classes_and_texts(
        self, classes: Sequence[str], texts: Sequence[str]
    ) -> Float32[np.ndarray, "c u"]:
        """Return the values of c classes and u texts, in that order.

        Args:
            classes: names, matched as they are written, but for the form of their accents.
            texts: matched by their normalised spelling; texts that differ only in spelling have
                the same values.

        Returns:
            NaN if this table knows nothing, of classes and texts that it lacks as well.
        """
        row_of = {composed(name): row for row, name in enumerate(self.classes)}
        column_of = {text: column for column, text in enumerate(self._spellings())}
        rows = np.array([row_of.get(composed(name), -1) for name in classes], np.int64)
        columns = np.array([column_of.get(normalize(text), -1) for text in texts], np.int64)
        values = np.full((len(rows), len(columns)), np.nan, np.float32)
        known = np.ix_(rows >= 0, columns >= 0)
        values[known] = self.values[np.ix_(rows[rows >= 0], columns[columns >= 0])]
        return values

    def counts(self) -> dict[str, int]:
        """Return how many values are true, sometimes, not true and unknown."""
        named = zip(("true", "sometimes", "not_true"), (TRUE, SOMETIMES, NOT_TRUE), strict=True)
        counts = {name: int((self.values == value).sum()) for name, value in named}
        return {**counts, "unknown": int(np.isnan(self.values).sum())}


def knowledge_csv(knowledge: KnowledgeTable) -> str:
    """Return a table as CSV: a row for each class, a column for each text; empty if unknown."""
    rows = zip(knowledge.classes, knowledge.values.tolist(), strict=True)
    cells = ([name, *(CELLS.get(value, "") for value in values)] for name, values in rows)
    return csv_text(chain([[CLASS_COLUMN, *knowledge.texts]], cells))


def read_knowledge_csv(path: str | Path, content: bytes | None = None) -> KnowledgeTable:
    """Read a CSV table, as `knowledge_csv` writes it and spreadsheets save it.

    Halves may be written with a comma, as spreadsheets do in many languages. `content` is that of
    the file, if it is read already.
    """
    expected = "expected a CSV table of classes and texts"
    table = read_csv_table(path, [CLASS_COLUMN], expected, content)
    if table.place(CLASS_COLUMN):
        first = table.names[0]
        raise InputError(f"{path}: the first column is {first!r}; expected {CLASS_COLUMN!r}")
    texts = table.names[1:]
    values = np.full((len(table.rows), len(texts)), np.nan, np.float32)
    classes: dict[str, None] = {}
    for row, (name, *cells) in enumerate(table.rows):
        if not name or name in classes:
            what = f"{name!r} again" if name else "none"
            raise InputError(f"{table.where(row)}: expected another class, found {what}")
        classes[name] = None
        for column, cell in enumerate(map(str.strip, cells)):
            if cell not in READ:
                where = table.where(row, texts[column])
                raise InputError(f"{where}: {cell!r}; expected 0, 0.5, 1 or an empty cell")
            values[row, column] = READ[cell]
    try:
        return KnowledgeTable(tuple(classes), tuple(texts), values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
