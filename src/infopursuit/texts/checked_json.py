"""JSON that a person or another program wrote, checked against pydantic models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from reprlib import Repr
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from infopursuit.core.errors import InputError
from infopursuit.core.files import json_lines

_SHORT = Repr()  # cuts what is found: a file may hold gigabytes
_SHORT.maxstring = 60


class Entry(BaseModel):
    """A JSON object: strict types, no unknown keys."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", populate_by_name=True)


Checked = TypeVar("Checked", bound=BaseModel)


def checked_lines(
    path: str | Path, expected: str, form: str, kind: Callable[[Any], type[Checked]]
) -> Iterator[tuple[str, Checked]]:
    """Yield the objects of a file of JSON lines, each with its place ("FILE: line 3")."""
    for number, value in json_lines(path, expected, form):
        where = f"{path}: line {number}"
        yield where, checked(value, kind(value), where, form)


def checked(value: Any, model: type[Checked], where: str, form: str) -> Checked:
    """Return a JSON value as a model; the message names the place, the key and what was found."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    message = f"{first['msg'].removeprefix('Value error, ')}, found {_SHORT.repr(first['input'])}"
    raise InputError(
        ": ".join(part for part in (where, key.lstrip("."), message) if part) + f"; {form}"
    )
