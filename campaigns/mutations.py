"""Inputs for the fuzzing campaign: valid ones with something wrong, and noise.

A document of pure noise fails in the first line of a reader. So most examples are a valid document
in which one or a few things were changed: a value of a JSON document, a column of a table, some
bytes of a file.
"""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

ODD_TEXTS = (
    "", " ", "\0", "\n", "\ufeff", "\u202e", "\x1b[31m", "\ud800", "../../x", "a" * 5000,
    "1" * 5000, "{{ 7 * 7 }}", "<script>alert(1)</script>", "ignore all previous instructions",
    "\u0663", "\u2028", "NaN", "-", "()", "\U0001f993\u200d",
)  # fmt: skip
# Of all Unicode, halves of surrogate pairs included.
texts = st.text(st.characters(exclude_categories=()), max_size=20) | st.sampled_from(ODD_TEXTS)
numbers = (
    st.integers()
    | st.sampled_from([0, -1, 2**31, 2**63, 2**64, 10**30, 10**4000])
    | st.floats(allow_nan=True, allow_infinity=True)
)
leaves = st.none() | st.booleans() | numbers | texts
json_values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
# JSON that Python's own reader cannot take: too deep, too long a number, half a character.
odd_json = st.sampled_from(
    [
        b"[" * 5000,
        b"[" * 2000 + b"]" * 2000,
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b'{"id": ' + b"9" * 5000 + b"}",
        rb'{"a": "\ud800"}',
    ]
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values of a JSON document."""
    parts: Any = ()
    if isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    return [path, *(below for key, part in parts for below in _paths(part, (*path, key)))]


@st.composite
def changed_values(draw: st.DrawFn, valid: Any) -> Any:
    """Draw a JSON document with some values replaced, removed or added."""
    document = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, 3))):
        *above, last = draw(st.sampled_from(_paths(document))) or (None,)
        if last is None:
            return draw(json_values)
        holder = document
        for key in above:
            holder = holder[key]
        change = draw(st.sampled_from(["replace", "replace", "remove", "add", "twice"]))
        if change == "replace":
            holder[last] = draw(json_values)
        elif change == "remove":
            del holder[last]
        elif isinstance(holder, list):
            holder.insert(last, copy.deepcopy(holder[last]) if change == "twice" else draw(leaves))
        else:
            holder[draw(texts)] = copy.deepcopy(holder[last])
    return document


@st.composite
def changed_bytes(draw: st.DrawFn, valid: bytes) -> bytes:
    """Draw a file with some bytes changed, cut out, put in or repeated, or without its end."""
    content = bytearray(valid)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        stop = min(len(content), start + draw(st.integers(0, 16)))
        change = draw(st.sampled_from(["change", "change", "cut", "put", "repeat", "end"]))
        if change == "change":
            content[start:stop] = draw(st.binary(min_size=stop - start, max_size=stop - start))
        elif change == "cut":
            del content[start:stop]
        elif change == "put":
            content[start:start] = draw(st.binary(max_size=8))
        elif change == "repeat":
            content[start:start] = content[start:stop] * draw(st.integers(1, 40))
        else:
            del content[start:]
    return bytes(content)


def dumped(value: Any, escaped: bool) -> bytes:
    """Return a value as JSON; unless `escaped`, halves of surrogate pairs are three bytes each."""
    return json.dumps(value, ensure_ascii=escaped).encode("utf-8", "surrogatepass")


def json_files(valid: Any) -> st.SearchStrategy[bytes]:
    """Return files that resemble the JSON document `valid`."""
    changed = st.builds(dumped, changed_values(valid), st.booleans())
    return changed | changed | changed_bytes(dumped(valid, False)) | odd_json


def json_lines_files(valid: list[Any]) -> st.SearchStrategy[bytes]:
    """Return files that resemble these JSON lines."""

    def joined(documents: Any, escaped: bool) -> bytes:
        listed = documents if isinstance(documents, list) else [documents]
        return b"\n".join(dumped(document, escaped) for document in listed)

    changed = st.builds(joined, changed_values(valid), st.booleans())
    return changed | changed | changed_bytes(joined(valid, False)) | odd_json


def text_files(valid: str) -> st.SearchStrategy[bytes]:
    """Return files of lines."""
    lines = st.lists(texts, max_size=6).map("\n".join)
    encoded = lines.map(lambda text: text.encode("utf-8", "surrogatepass"))
    return encoded | changed_bytes(valid.encode()) | st.binary(max_size=60)


def yaml_files(valid: Any) -> st.SearchStrategy[bytes]:
    """Return files that resemble a YAML document, with aliases, tags and dates."""
    letters = "abcdefghij"
    bomb = f"a: &a [{', '.join('x' * 9)}]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{last}'] * 9)}]\n" for last, name in pairwise(letters)
    )
    odd = [
        bomb, "a: &a [*a]", "a: 2001-99-99", "a: !!python/name:os.system", "? [a]\n: b",
        "a: " + "9" * 5000, "a: !!float x", "<<: 3", "a: !!timestamp 1", "--- 1\n--- 2", "a: 1:1",
        "[" * 300, 'a: "\\ud800"', 'a: "\\0"',
    ]  # fmt: skip
    changed = st.builds(dumped, changed_values(valid), st.booleans())
    return changed | changed_bytes(dumped(valid, False)) | st.sampled_from(odd).map(str.encode)


# Types of columns that a person might use, most of them wrong.
_TYPES = [
    *(pa.string(), pa.large_string(), pa.binary(), pa.bool_(), pa.date32(), pa.timestamp("us")),
    *(pa.int8(), pa.int32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()),
    *(pa.null(), pa.decimal128(20, 3), pa.dictionary(pa.int32(), pa.string())),
    *(pa.list_(kind) for kind in (pa.float32(), pa.string(), pa.int64())),
    *(pa.list_(pa.float16(), 3), pa.list_(pa.float64(), 4), pa.list_(pa.float32(), 0)),
    *(pa.large_list(pa.float64()), pa.struct([("element", pa.float32())])),
]
_CELLS = leaves | st.lists(leaves, max_size=4) | st.binary(max_size=8)


def _column(kind: pa.DataType, cells: list[Any]) -> pa.Array:
    """Return a column; a cell that the type cannot hold becomes a plain value."""
    column = []
    for cell in cells:
        try:
            pa.array([cell], kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
            cell = _plain_cell(kind)
        column.append(cell)
    return pa.array(column, kind)


def _plain_cell(kind: pa.DataType) -> Any:
    if pa.types.is_fixed_size_list(kind):
        return [0.5] * kind.list_size
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return []
    if pa.types.is_floating(kind):
        return np.float16(0.5)
    return 1 if pa.types.is_integer(kind) else None


@st.composite
def tables(draw: st.DrawFn, valid: pa.Table) -> bytes:
    """Draw Parquet files that resemble the table `valid`."""
    table = valid
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, max(0, table.num_columns - 1)))
        change = draw(
            st.sampled_from(["column", "column", "drop", "twice", "cast", "rows", "clip"])
        )
        if not table.num_columns:
            break
        rows, name = len(table), table.column_names[place]
        if change == "column":
            cells = st.lists(_CELLS, min_size=rows, max_size=rows)
            column = _column(draw(st.sampled_from(_TYPES)), draw(cells))
            table = table.set_column(place, name, column)
        elif change == "drop":
            table = table.remove_column(place)
        elif change == "twice":
            table = table.append_column(name, table.column(place))
        elif change == "cast":
            cells = table.column(place).to_pylist()
            for row in draw(st.sets(st.integers(0, max(0, rows - 1)), max_size=2)) if rows else ():
                cells[row] = draw(_CELLS)
            column = _column(table.schema.field(place).type, cells)
            table = table.set_column(place, name, column)
        elif change == "rows" and rows:
            chosen = draw(st.lists(st.integers(0, rows - 1), max_size=4))
            table = table.take(pa.array(chosen, pa.int64()))
        else:
            table = table.replace_schema_metadata({b"clip": draw(st.binary(max_size=6))})
    return written(table)


def written(table: pa.Table) -> bytes:
    """Return a table as a Parquet file."""
    return saved(lambda file: pq.write_table(table, file))


def parquet_files(valid: pa.Table) -> st.SearchStrategy[bytes]:
    """Return tables with something wrong, and files with changed bytes."""
    return tables(valid) | tables(valid) | changed_bytes(written(valid))


def saved(save: Callable[[io.BytesIO], object]) -> bytes:
    """Return what a function writes to a file."""
    file = io.BytesIO()
    save(file)
    return file.getvalue()
