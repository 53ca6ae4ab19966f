"""Settings in YAML files: strict types, no unknown keys, one clear message for a mistake.

The types of settings stand beside the code that they set. A stage reads the sections that it
names, `infopursuit.pipeline.params` all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from infopursuit.core.errors import InputError
from infopursuit.core.text_files import is_unicode, read_text

# What a person may call a data set, a corpus or a method: names become parts of paths and commands.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.]*")

# What a settings file may hold: a few kilobytes of aliases can stand for more than any memory.
MOST, DEEPEST, LONGEST_KEY = 100_000, 50, 200

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A mapping of a settings file: strict, frozen, no unknown keys."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


Settings = TypeVar("Settings", bound=Section)


def read_settings(path: str | Path, kind: type[Settings], partly: bool = False) -> Settings:
    """Read and check a settings file.

    Args:
        path: a YAML file.
        kind: its sections.
        partly: pass over other top-level sections, which another reader checks.

    Raises:
        InputError: the file is missing or no YAML mapping, a key is unknown or missing, a value has
            the wrong type or breaks a rule; the message gives the path of the key.
    """
    content = read_yaml(path)
    if partly:
        content = {key: value for key, value in content.items() if key in kind.model_fields}
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise InputError(f"{path}: {first_mistake(error)}") from error


def read_one_of(path: str | Path, kinds: Mapping[str, type[Settings]], what: str) -> Settings:
    """Read a settings file of several kinds; the key that only one kind has decides which it is.

    Args:
        path: a YAML file.
        kinds: the deciding key of each kind, with its type.
        what: what the file holds, for messages.

    Raises:
        InputError: as `read_settings` says, or the file has none or several of the deciding keys.
    """
    content = read_yaml(path, f"expected a YAML file with {what}")
    found = [key for key in kinds if key in content]
    if len(found) != 1:
        raise InputError(f"{path}: expected {what}, with one of the keys {', '.join(kinds)}")
    try:
        return kinds[found[0]].model_validate(content)
    except ValidationError as error:
        raise InputError(f"{path}: {first_mistake(error)}") from error


def read_yaml(
    path: str | Path, hint: str = "run this from the folder that has it"
) -> dict[str, Any]:
    """The mapping in a YAML file.

    Raises:
        InputError: the file is missing, not readable, no YAML, or no mapping.
    """
    content = yaml_value(path, hint, YAML(typ="safe"))
    if not isinstance(content, dict):
        raise InputError(f"{path}: expected a mapping of settings, found {type(content).__name__}")
    return content


def yaml_value(path: str | Path, hint: str, yaml: YAML) -> Any:
    """The value in a YAML file, whatever it is, as `yaml` reads it.

    Raises:
        InputError: the file is missing, not readable or no YAML; or it has values too deep in one
            another or too often repeated by aliases, or a text with a character that no path has.
    """
    try:
        value = yaml.load(read_text(path, hint))
    except RecursionError as error:
        raise InputError(f"{path}: not valid YAML: values too deep in one another") from error
    # Beside its own errors, a loader raises those of Python's numbers and dates.
    except (YAMLError, ValueError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not valid YAML: {error}") from error
    for count, (depth, where, each) in enumerate(_values(value), start=1):
        if depth > DEEPEST or count > MOST:
            raise InputError(
                f"{path}: {where}: expected at most {MOST:,} values, aliases counted where they "
                f"stand, at most {DEEPEST} deep"
            )
        if isinstance(each, str) and not (is_unicode(each) and "\0" not in each):
            raise InputError(f"{path}: {where}: expected Unicode without U+0000, found {each!r}")
    return value


def _values(value: Any) -> Iterator[tuple[int, str, Any]]:
    """All keys and values in one, with how deep they are and where; an alias as what it names."""
    waiting: list[tuple[int, str, Any]] = [(0, "the file", value)]
    while waiting:
        depth, where, each = waiting.pop()
        yield depth, where, each
        if isinstance(each, Mapping):
            begun = f"{where}." if depth else ""
            for key, part in each.items():
                yield depth + 1, where, key
                waiting.append((depth + 1, f"{begun}{key}"[:LONGEST_KEY], part))
        elif isinstance(each, (list, tuple, set)):
            waiting += [(depth + 1, where, part) for part in each]


def check_names(section: str, names: Any) -> None:
    """Raise ValueError for a name that could not be a part of a path or a command."""
    for name in names:
        if not NAME.fullmatch(str(name)):
            raise ValueError(f"{section}: the name {name!r}; expected letters, digits, '_' and '.'")


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
