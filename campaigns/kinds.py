"""A kind of bad input: what it is made from, who reads it, and what has to happen."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from infopursuit.core.errors import InputError


@dataclass(frozen=True)
class Kind:
    """A row of the table.

    Attributes:
        family: what is read.
        name: what is wrong.
        source: the content of `file`; None for a file that does not exist; a function that writes
            the input into an empty folder and returns what the reader gets; or, without `file`,
            the input itself.
        read: the reader, the stage or the command.
        expected: a pattern of the message; or, for an input that only looks bad, a check of what
            the reader returns.
        file: the name of the input, which the message must contain; "" if there is none.
        refusal: the exception of the reader.
        heavy: whether the long form alone tries it.
    """

    family: str
    name: str
    source: Any
    read: Callable[[Any], Any]
    expected: str | Callable[[Any], bool]
    file: str = ""
    refusal: type[Exception] = InputError
    heavy: bool = False

    @property
    def key(self) -> str:
        """Return the name of the kind among all families."""
        return f"{self.family}: {self.name}"

    def make(self, folder: Path) -> Any:
        """Make the input in an empty folder."""
        if callable(self.source):
            return self.source(folder)
        if not self.file:
            return self.source
        if self.source is None:
            return folder / self.file
        return file(self.file, self.source)(folder)


def family(
    name: str,
    read: Callable[[Any], Any],
    file: str,
    rows: Sequence[tuple[str, Any, Any]],
    refusal: type[Exception] = InputError,
) -> list[Kind]:
    """Return kinds with one reader; each row is a name, a source and what is expected."""
    return [
        Kind(name, kind, source, read, expected, file, refusal) for kind, source, expected in rows
    ]


def file(name: str, content: bytes | str) -> Callable[[Path], Path]:
    """Return a function that writes a file."""

    def make(folder: Path) -> Path:
        encoded = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(encoded)
        return folder / name

    return make


def lines(*values: Any) -> str:
    """Return values as JSON lines."""
    return "".join(f"{json.dumps(value)}\n" for value in values)


def parquet(table: pa.Table, **changed: Any) -> Callable[[Path], Path]:
    """Return a function that writes a table with other columns; None leaves a column out."""

    def make(folder: Path) -> Path:
        written = table
        for name, values in changed.items():
            place = written.column_names.index(name)
            if values is None:
                written = written.remove_column(place)
            else:
                column = values if isinstance(values, pa.Array) else pa.array(values)
                written = written.set_column(place, name, column)
        pq.write_table(written, folder / "table.parquet")
        return folder / "table.parquet"

    return make
