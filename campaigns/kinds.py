"""A reader of what others wrote, and a kind of bad input: who reads it, and what has to happen."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from infopursuit.core.errors import InputError


class Reader(NamedTuple):
    """A function that reads what others wrote.

    Attributes:
        read: the function, of the path of a file or of the input itself.
        file: the name of the file, which a message must contain; "" if the input is no file.
        refusal: the exception for a bad input.
    """

    read: Callable[[Any], Any]
    file: str = ""
    refusal: type[Exception] = InputError


@dataclass(frozen=True)
class Kind:
    """A row of the table.

    Attributes:
        family: what is read.
        name: what is wrong.
        source: the content of the reader's file, None if it does not exist; the contents of
            several files by name; a function that writes the input into an empty folder and
            returns what the reader gets; or the input itself.
        reader: the reader, the stage or the command.
        expected: a pattern of the message; for an input that only looks bad a check of the result.
    """

    family: str
    name: str
    source: Any
    reader: Reader
    expected: str | Callable[[Any], bool]

    @property
    def key(self) -> str:
        """Return the name of the kind among all families."""
        return f"{self.family}: {self.name}"

    def make(self, folder: Path) -> Any:
        """Make the input in an empty folder; return what the reader gets."""
        source, name = self.source, self.reader.file
        if callable(source):
            return source(folder)
        if isinstance(source, dict):
            return put(source, folder)
        if name and source is not None:
            put({name: source}, folder)
        return folder / name if name else source


def family(name: str, reader: Reader, rows: Sequence[tuple[str, Any, Any]]) -> list[Kind]:
    """Return kinds with one reader; each row is a name, a source and what is expected."""
    return [Kind(name, kind, source, reader, expected) for kind, source, expected in rows]


def put(contents: Mapping[str, bytes | str], folder: Path) -> Path:
    """Write files, whose contents are given by name, into a folder; return the folder."""
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def lines(*values: Any) -> str:
    """Return values as JSON lines."""
    return "".join(f"{json.dumps(value)}\n" for value in values)


def parquet(table: pa.Table, **changed: Any) -> bytes:
    """Return a Parquet file of a table with other columns; None leaves a column out."""
    for name, values in changed.items():
        place = table.column_names.index(name)
        if values is None:
            table = table.remove_column(place)
        else:
            column = values if isinstance(values, pa.Array) else pa.array(values)
            table = table.set_column(place, name, column)
    return written(table)


def written(table: pa.Table) -> bytes:
    """Return a table as a Parquet file."""
    return saved(lambda file: pq.write_table(table, file))


def saved(save: Callable[[io.BytesIO], object]) -> bytes:
    """Return what a function writes to a file."""
    file = io.BytesIO()
    save(file)
    return file.getvalue()
