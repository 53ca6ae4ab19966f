"""Settings in YAML files: strict types, no unknown keys, one clear message for a mistake.

The types of most settings are next to the code that they set. A stage reads the sections that it
names, `infopursuit.pipeline.params` reads all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, MutableMapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text

# How a person may call a data set, a corpus or a method: names become parts of paths and commands,
# and of keys, which DVC splits at points.
NAME = re.compile(r"[A-Za-z0-9_]+")

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A mapping of a settings file: strict, frozen, no unknown keys."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


Settings = TypeVar("Settings", bound=Section)


class RaySettings(Section):
    """The Ray cluster that generates and embeds."""

    address: str
    workers: Positive
    cpus_per_worker: Annotated[float, Field(ge=0)]
    gpus_per_worker: Annotated[float, Field(ge=0)]


class ComputeSettings(Section):
    """How to compute, not what: devices, processes, batch sizes, checkpoints."""

    device: Literal["auto", "cpu", "cuda"]
    threads: Annotated[int, Field(ge=1, le=1024)] | None
    processes: Positive
    engine: Literal["local", "ray"]
    ray: RaySettings
    vllm_engine: dict[str, Any]
    vllm_python: str | None
    half_precision: bool
    embed_batch_size: Positive
    embed_chunk: Positive
    checkpoint_seconds: Annotated[float, Field(ge=0)]

    def torch_device(self) -> str:
        """Return `cuda` or `cpu`; `auto` takes a GPU if there is one."""
        if self.device != "auto":
            return self.device
        import torch  # takes seconds to import, and most stages do not need it

        return "cuda" if torch.cuda.is_available() else "cpu"


def read_settings(path: str | Path, kind: type[Settings], partly: bool = False) -> Settings:
    """Read and check a settings file."""
    return validated(path, kind, read_yaml(path), partly)


def read_one_of(path: str | Path, kinds: Mapping[str, type[Settings]], what: str) -> Settings:
    """Read a settings file of several kinds; the key that only one kind has decides."""
    content = read_yaml(path, f"expected a YAML file with {what}")
    keys = [key for key in kinds if key in content]
    if len(keys) != 1:
        raise InputError(f"{path}: expected {what}, with one of the keys {', '.join(kinds)}")
    return validated(path, kinds[keys[0]], content)


def validated(
    path: str | Path, kind: type[Settings], content: Mapping[str, Any], partly: bool = False
) -> Settings:
    """Check the content of a settings file; `partly` takes the sections of `kind` alone."""
    if partly:
        content = {key: value for key, value in content.items() if key in kind.model_fields}
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise InputError(f"{path}: {first_mistake(error)}") from error


def read_yaml(
    path: str | Path, hint: str = "run this from the folder that has it", yaml: YAML | None = None
) -> MutableMapping[str, Any]:
    """Return the mapping in a YAML file."""
    text = read_text(path, hint)
    try:
        # The loader in C, which DVC takes, ends the process where values are too deep.
        content = (yaml or YAML(typ="safe", pure=True)).load(text)
    except RecursionError as error:
        raise InputError(f"{path}: not valid YAML: values too deep in one another") from error
    # Besides its own errors, a loader raises those of Python's numbers and dates.
    except (YAMLError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not valid YAML: {error}") from error
    if not isinstance(content, MutableMapping):
        kind = "list" if isinstance(content, list) else type(content).__name__
        raise InputError(f"{path}: expected a mapping of settings, found {kind}")
    for key in content:
        if not isinstance(key, str):
            raise InputError(f"{path}: the key {key!r}; expected a text")
    return content


def check_names(section: str, names: Iterable[Any]) -> None:
    """Raise ValueError for a name that could not be a part of a path or a command."""
    for name in names:
        if not NAME.fullmatch(str(name)):
            raise ValueError(f"{section}: the name {name!r}; expected letters, digits and '_'")


def first_mistake(error: ValidationError) -> str:
    """Return the first mistake: the path of its key, what was expected and what was found."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] in ("missing", "extra_forbidden"):
        return f"{key}: {'missing key' if first['type'] == 'missing' else 'unknown key'}"
    if first["type"] == "value_error":
        return f"{key}: {message}" if key else message
    hint = ""
    if first["type"] == "string_type" and isinstance(first["input"], int | float | date):
        hint = "; a name that YAML reads as a number, a date or true needs quotes"
    return f"{key}: {message}, found {first['input']!r}{hint}"
