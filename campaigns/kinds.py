"""A kind of bad input: how it is made, who reads it, and what the message must say."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from infopursuit.core.errors import InputError

# In the place of a message: the input looks bad and is good.
ACCEPTED = "accepted"


@dataclass(frozen=True)
class Kind:
    """A row of the table.

    Attributes:
        family: of what is read.
        name: what is wrong.
        make: writes the input into an empty folder, and gives what the reader is given.
        read: the reader, the stage or the command.
        told: a pattern of the message: what was expected and found; or `ACCEPTED`.
        place: the file, key or row that the message must name; None where there is none.
        refusal: what the reader raises.
        fits: of an input that is accepted, whether what came of it is right.
        heavy: in the long form alone.
    """

    family: str
    name: str
    make: Callable[[Path], Any]
    read: Callable[[Any], Any]
    told: str
    place: str | None = None
    refusal: type[Exception] = InputError
    fits: Callable[[Any], bool] = bool
    heavy: bool = False

    @property
    def key(self) -> str:
        """Its name among all."""
        return f"{self.family}: {self.name}"


def file(name: str, content: bytes | str) -> Callable[[Path], Path]:
    """Writes a file."""

    def make(folder: Path) -> Path:
        whole = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(whole)
        return folder / name

    return make


def nothing(name: str) -> Callable[[Path], Path]:
    """Names a file that is not there."""
    return lambda folder: folder / name


def a_folder(name: str) -> Callable[[Path], Path]:
    """Makes a folder where a file should be."""

    def make(folder: Path) -> Path:
        (folder / name).mkdir()
        return folder / name

    return make


def as_json(value: Any) -> str:
    """A value as JSON in plain ASCII."""
    return json.dumps(value)


def lines(*values: Any) -> str:
    """Values as JSON lines."""
    return "".join(f"{json.dumps(value)}\n" for value in values)


def parquet(table: pa.Table, **changed: Any) -> Callable[[Path], Path]:
    """Writes a table with some columns replaced, or with None left out."""

    def make(folder: Path) -> Path:
        whole = table
        for name, values in changed.items():
            place = whole.column_names.index(name)
            if values is None:
                whole = whole.remove_column(place)
            else:
                column = values if isinstance(values, pa.Array) else pa.array(values)
                whole = whole.set_column(place, name, column)
        pq.write_table(whole, folder / "table.parquet")
        return folder / "table.parquet"

    return make


def given(value: Any) -> Callable[[Path], Any]:
    """Gives a value itself."""
    return lambda folder: value
