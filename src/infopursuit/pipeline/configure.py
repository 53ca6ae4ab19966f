"""Ready-made settings: put the few lines of a file in params/ into params.yaml.

    infopursuit configure params/vitb32-precomputed.yaml

Sections merge key by key, the comments of params.yaml stay; data sets, corpora, dictionaries and
lists of the file take the place of those before.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from infopursuit.core.errors import InputError
from infopursuit.core.settings import yaml_value
from infopursuit.pipeline.params import load_params

# Mappings whose keys are names a person gives, not settings: to merge two of them would mix worlds.
REPLACED = {
    ("datasets",),
    ("queries", "corpora"),
    ("queries", "dictionaries"),
    ("queries", "lists"),
}
NULL = "tag:yaml.org,2002:null"


def configure(overlay: str | Path, params: str | Path = "params.yaml") -> None:
    """Merge `overlay` into `params`, which is left as it was if the result is not valid.

    Raises:
        InputError: a file is missing or no YAML mapping, or the result breaks a rule.
    """
    yaml = YAML()
    yaml.representer.add_representer(
        type(None), lambda representer, _: representer.represent_scalar(NULL, "null")
    )
    yaml.preserve_quotes = True
    yaml.width = 100
    merged = _load(yaml, params)
    _merge(merged, _load(yaml, overlay))
    partial = Path(params).with_suffix(".partial")
    with partial.open("w", encoding="utf-8") as file:
        yaml.dump(merged, file)
    try:
        load_params(partial)
    except InputError as error:
        raise InputError(str(error).replace(str(partial), f"{params} with {overlay}")) from error
    else:
        partial.replace(params)
    finally:
        partial.unlink(missing_ok=True)


def _load(yaml: YAML, path: str | Path) -> MutableMapping[str, Any]:
    content = yaml_value(path, "expected settings in YAML", yaml)
    if not isinstance(content, MutableMapping):
        found = "list" if isinstance(content, list) else type(content).__name__
        raise InputError(f"{path}: expected a mapping of settings, found {found}")
    return content


def _merge(
    base: MutableMapping[str, Any], overlay: MutableMapping[str, Any], path: tuple[str, ...] = ()
) -> None:
    for key, value in overlay.items():
        here = (*path, key)
        both_mappings = isinstance(base.get(key), MutableMapping) and isinstance(
            value, MutableMapping
        )
        if both_mappings and here not in REPLACED:
            _merge(base[key], value, here)
        else:
            base[key] = value
