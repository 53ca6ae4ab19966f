"""Settings in YAML files: strict types, no unknown keys, one clear message for a mistake."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from infopursuit.errors import InputError


class Section(BaseModel):
    """A mapping of a settings file: strict, frozen, no unknown keys."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


Settings = TypeVar("Settings", bound=Section)


def read_settings(path: str | Path, kind: type[Settings]) -> Settings:
    """Read and check a settings file.

    Raises:
        InputError: the file is missing or no YAML, a key is unknown or missing, a value has the
            wrong type or breaks a rule; the message gives the path of the key.
    """
    try:
        with Path(path).open(encoding="utf-8") as file:
            raw = YAML(typ="safe").load(file)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; run this from the folder that has it") from error
    except YAMLError as error:
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise InputError(f"{path}: {first_mistake(error)}") from error


def first_mistake(error: ValidationError) -> str:
    """The first mistake with the path of its key, what was expected and what was found."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] in ("missing", "extra_forbidden"):
        return f"{where}: {'missing key' if first['type'] == 'missing' else 'unknown key'}"
    if first["type"] == "value_error":
        return f"{where}: {message}" if where else message
    return f"{where}: {message}, found {first['input']!r}"
