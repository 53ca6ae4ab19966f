"""Inputs for the fuzzing campaign: valid ones with something wrong, and noise.

A document that is noise from end to end fails in the first line of a reader. So most examples are a
valid document in which one or a few things were changed: a value of a JSON document, a column of a
table, some bytes of a file.
"""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

# Of all Unicode, halves of surrogate pairs included.
any_text = st.text(st.characters(exclude_categories=()), max_size=20)
odd_text = st.sampled_from(
    [
        "",
        " ",
        "\0",
        "\n",
        "\ufeff",
        "\u202e",
        "\x1b[31m",
        "\ud800",
        "../../x",
        "a" * 5000,
        "1" * 5000,
        "{{ 7 * 7 }}",
        "<script>alert(1)</script>",
        "ignore all previous instructions",
        "\u0663",
        "\u2028",
        "NaN",
        "-",
        "()",
        "\U0001f993\u200d",
    ]
)
texts = any_text | odd_text
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
# What Python's own reader of JSON cannot take, though it is JSON.
_ODD = {
    "lists without an end": b"[" * 5000,
    "lists in lists": b"[" * 2000 + b"]" * 2000,
    "objects in objects": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "a number of 5000 digits": b'{"id": ' + b"9" * 5000 + b"}",
    "half of a surrogate pair": rb'{"a": "\ud800"}',
}
odd_json = st.sampled_from(list(_ODD)).map(_ODD.__getitem__)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where all values of a JSON document are."""
    found = [path]
    if isinstance(value, Mapping):
        for key, part in value.items():
            found += _paths(part, (*path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            found += _paths(part, (*path, place))
    return found


@st.composite
def changed_values(draw: st.DrawFn, valid: Any) -> Any:
    """A JSON document with some values replaced, removed or added."""
    document = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, 3))):
        *above, last = draw(st.sampled_from(_paths(document))) or (None,)
        if last is None:
            return draw(json_values)
        holder = document
        for key in above:
            holder = holder[key]
        kind = draw(st.sampled_from(["replace", "replace", "remove", "add", "twice"]))
        if kind == "replace":
            holder[last] = draw(json_values)
        elif kind == "remove":
            del holder[last]
        elif isinstance(holder, list):
            holder.insert(last, copy.deepcopy(holder[last]) if kind == "twice" else draw(leaves))
        else:
            holder[draw(texts)] = copy.deepcopy(holder[last])
    return document


@st.composite
def changed_bytes(draw: st.DrawFn, valid: bytes) -> bytes:
    """A file with some bytes changed, cut out, put in or repeated, or with its end missing."""
    content = bytearray(valid)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        stop = min(len(content), start + draw(st.integers(0, 16)))
        kind = draw(st.sampled_from(["change", "change", "cut", "put", "repeat", "end"]))
        if kind == "change":
            content[start:stop] = draw(st.binary(min_size=stop - start, max_size=stop - start))
        elif kind == "cut":
            del content[start:stop]
        elif kind == "put":
            content[start:start] = draw(st.binary(max_size=8))
        elif kind == "repeat":
            content[start:start] = content[start:stop] * draw(st.integers(1, 40))
        else:
            del content[start:]
    return bytes(content)


def dumped(value: Any, escaped: bool) -> bytes:
    """A value as JSON; where not `escaped`, halves of surrogate pairs are three bytes each."""
    return json.dumps(value, ensure_ascii=escaped).encode("utf-8", "surrogatepass")


def json_files(valid: Any) -> st.SearchStrategy[bytes]:
    """Files that should be like the JSON document `valid`."""
    changed = st.builds(dumped, changed_values(valid), st.booleans())
    return changed | changed | changed_bytes(dumped(valid, False)) | odd_json


def json_lines_files(valid: list[Any]) -> st.SearchStrategy[bytes]:
    """Files that should be like these JSON lines."""
    whole = b"\n".join(dumped(each, False) for each in valid)
    changed = st.builds(
        lambda documents, escaped: b"\n".join(dumped(each, escaped) for each in documents),
        changed_values(valid).map(lambda value: value if isinstance(value, list) else [value]),
        st.booleans(),
    )
    return changed | changed | changed_bytes(whole) | odd_json


def text_files(valid: str) -> st.SearchStrategy[bytes]:
    """Files of lines."""
    lines = st.lists(texts, max_size=6).map(
        lambda found: "\n".join(found).encode("utf-8", "surrogatepass")
    )
    return lines | changed_bytes(valid.encode()) | st.binary(max_size=60)


# Columns of every type that Arrow has and a person might use, most of them wrong.
_KINDS = [
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.int8(),
    pa.int32(),
    pa.int64(),
    pa.uint64(),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.bool_(),
    pa.date32(),
    pa.timestamp("us"),
    pa.null(),
    pa.decimal128(20, 3),
    pa.dictionary(pa.int32(), pa.string()),
    pa.list_(pa.float32()),
    pa.list_(pa.float16(), 3),
    pa.list_(pa.float64(), 4),
    pa.list_(pa.float32(), 0),
    pa.large_list(pa.float64()),
    pa.list_(pa.string()),
    pa.list_(pa.int64()),
    pa.struct([("element", pa.float32())]),
]
_CELLS = leaves | st.lists(leaves, max_size=4) | st.binary(max_size=8)


@st.composite
def columns(draw: st.DrawFn, rows: int) -> pa.Array:
    """A column of any type: what a value cannot be is null."""
    kind = draw(st.sampled_from(_KINDS))
    return _column(kind, draw(st.lists(_CELLS, min_size=rows, max_size=rows)))


def _column(kind: pa.DataType, cells: list[Any]) -> pa.Array:
    found = []
    for cell in cells:
        try:
            pa.array([cell], kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
            cell = _of_type(kind)
        found.append(cell)
    return pa.array(found, kind)


def _of_type(kind: pa.DataType) -> Any:
    """A plain value for a column of this type, null where there is none."""
    if pa.types.is_fixed_size_list(kind):
        return [0.5] * kind.list_size
    for is_type, value in (
        (pa.types.is_list, []),
        (pa.types.is_large_list, []),
        (pa.types.is_floating, np.float16(0.5)),
        (pa.types.is_integer, 1),
    ):
        if is_type(kind):
            return value
    return None


@st.composite
def tables(draw: st.DrawFn, valid: pa.Table) -> bytes:
    """Parquet files that should be like the table `valid`."""
    table = valid
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, max(0, table.num_columns - 1)))
        kind = draw(st.sampled_from(["column", "column", "drop", "twice", "cast", "rows", "clip"]))
        if not table.num_columns:
            break
        name = table.column_names[place]
        if kind == "column":
            table = table.set_column(place, name, draw(columns(len(table))))
        elif kind == "drop":
            table = table.remove_column(place)
        elif kind == "twice":
            table = table.append_column(name, table.column(place))
        elif kind == "cast":
            cells = table.column(place).to_pylist()
            for row in draw(st.sets(st.integers(0, max(0, len(cells) - 1)), max_size=2)):
                if cells:
                    cells[row] = draw(_CELLS)
            column = _column(table.schema.field(place).type, cells)
            table = table.set_column(place, name, column)
        elif kind == "rows":
            chosen = draw(st.lists(st.integers(0, max(0, len(table) - 1)), max_size=4))
            table = table.take(pa.array(chosen, pa.int64())) if len(table) else table
        else:
            name = draw(st.binary(max_size=6))
            table = table.replace_schema_metadata({b"clip": name})
    return written(table)


def written(table: pa.Table) -> bytes:
    """A table as a Parquet file."""
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def parquet_files(valid: pa.Table) -> st.SearchStrategy[bytes]:
    """Tables with something wrong, files with bytes changed."""
    return tables(valid) | tables(valid) | changed_bytes(written(valid))


def saved(save: Callable[[io.BytesIO], object]) -> bytes:
    """What a function writes to a file."""
    file = io.BytesIO()
    save(file)
    return file.getvalue()
