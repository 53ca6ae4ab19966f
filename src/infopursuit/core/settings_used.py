"""Which settings and code a stage has, as a file that it depends on.

DVC writes each setting that `params` names into dvc.lock, some thirty lines a run, and parses all
of params.yaml for each stage. A file is four lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError
from infopursuit.core.files import file_sha256, read_text, write_text


def write_settings(
    path: Path, keys: Iterable[str], params: Mapping[str, Any], listing: Path
) -> None:
    """Write the value of each key of params.yaml, such as `datasets.birds.k`, and a hash of code.

    `listing` is what `code_used.write_listings` wrote of the script.

    Raises:
        InputError: params.yaml has no such key.
    """
    values = {key: setting(params, key) for key in keys}
    for key, value in values.items():
        if value is MISSING:
            raise InputError(f"dvc.yaml: meta.settings of {path.stem}: params.yaml has no {key}")
    noted = {"code": file_sha256(listing), "settings": values}
    write_text(path, json.dumps(noted, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def changed_settings(path: Path, params: Mapping[str, Any]) -> list[str]:
    """Return the keys of a file of settings that have other values in `params`."""
    noted = noted_settings(path)
    return [key for key, value in noted.items() if setting(params, key) != value]


def noted_settings(path: Path) -> dict[str, Any]:
    """Read the settings that `write_settings` wrote."""
    return json.loads(read_text(path, "the stage check writes it"))["settings"]


MISSING = object()


def setting(params: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key with points; MISSING if there is none."""
    value: Any = params
    for part in key.split("."):
        value = value.get(part, MISSING) if isinstance(value, Mapping) else MISSING
    return value
