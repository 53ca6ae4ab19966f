"""Knowledge as a Parquet table with a row for each known value (`core.tables.KNOWLEDGE`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from infopursuit.core.errors import InputError
from infopursuit.core.tables import KNOWLEDGE, read_table, write_table
from infopursuit.texts.knowledge import VALUES, KnowledgeTable
from infopursuit.texts.normalization import normalize


def write_knowledge(path: str | Path, knowledge: KnowledgeTable) -> None:
    """Write a Parquet file (class, text, value), class by class, without what is unknown."""
    rows, columns = np.nonzero(~np.isnan(knowledge.values))
    values = {
        "class": pa.array(knowledge.classes, pa.string()).take(pa.array(rows)),
        "text": pa.array(knowledge.texts, pa.string()).take(pa.array(columns)),
        "value": knowledge.values[rows, columns],
    }
    write_table(path, KNOWLEDGE, values)


def read_knowledge(path: str | Path) -> KnowledgeTable:
    """Read a Parquet file (class, text, value); what has no row is unknown."""
    table = read_table(path, KNOWLEDGE)
    value = table.column("value").to_numpy()
    wrong = ~np.isin(value, VALUES)
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(f"{path}: the value of row {row} is {value[row]}; expected 0, 0.5 or 1")
    classes, rows = _encoded(table.column("class"))
    spellings, columns = _encoded(table.column("text"))
    first_spelling: dict[str, str] = {}
    for spelling in spellings:
        first_spelling.setdefault(normalize(spelling), spelling)
    place_of = {key: place for place, key in enumerate(first_spelling)}
    places = np.array([place_of[normalize(spelling)] for spelling in spellings], np.int64)
    cells = rows * len(place_of) + places[columns]
    first = np.unique(cells, return_index=True)[1]
    if len(first) < len(cells):
        row = int(np.setdiff1d(np.arange(len(cells)), first)[0])
        earlier = int((cells == cells[row]).argmax())
        raise InputError(
            f"{path}: row {row} gives a value to the class {classes[rows[row]]!r} and the text "
            f"{spellings[columns[row]]!r}, as row {earlier} does; expected one row for both"
        )
    values = np.full((len(classes), len(place_of)), np.nan, np.float32)
    values.flat[cells] = value
    return KnowledgeTable(tuple(classes), tuple(first_spelling.values()), values)


def _encoded(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """Return the distinct strings as they come, and for each row the number of its string."""
    encoded = pa.chunked_array(column.chunks or [[]], pa.string()).combine_chunks()
    encoded = encoded.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
