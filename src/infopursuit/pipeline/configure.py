"""Ready-made settings: put the few lines of a file in params/ into params.yaml.

    infopursuit configure params/vitb32-precomputed.yaml

Sections merge key by key, and the comments of params.yaml stay; it is written as DVC writes it.
Data sets, corpora, dictionaries and lists of the file replace those before. Under `methods` the
name of a kind, such as `variational`, stands for all methods of that kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ruamel.yaml import YAML

from infopursuit.core.errors import InputError
from infopursuit.core.files import atomic_write, read_text
from infopursuit.core.settings import read_yaml
from infopursuit.estimators.methods import methods as known_methods
from infopursuit.pipeline.params import Params, load_params

# Mappings whose keys are names a person gives, not settings: to merge two of them would mix worlds.
REPLACED = {
    ("datasets",),
    ("queries", "corpora"),
    ("queries", "dictionaries"),
    ("queries", "lists"),
}


def configure(overlay: str | Path, params: str | Path = "params.yaml") -> None:
    """Merge `overlay` into `params`, which stays as it was if the result is not valid."""
    with atomic_write(Path(params).resolve()) as partial:  # a link stays one
        _write_merged(overlay, params, partial)


def params_with(overlay: str | Path, params: str | Path = "params.yaml") -> Params:
    """Return the settings of `params` with those of `overlay`; nothing is changed."""
    with TemporaryDirectory() as folder:
        return _write_merged(overlay, params, Path(folder) / "params.yaml")


def _write_merged(overlay: str | Path, params: str | Path, out: Path) -> Params:
    yaml = YAML()
    yaml.default_flow_style = False
    merged = read_yaml(params, "expected settings in YAML", yaml)
    # Plain values: comments of the overlay have no place in params.yaml.
    changes = read_yaml(overlay, "expected settings in YAML")
    _name_methods(merged, changes)
    _merge(merged, changes)
    yaml.dump(merged, out)
    before, after = (read_text(path, "expected settings in YAML") for path in (params, out))
    out.write_text(_with_comments(before, after), encoding="utf-8", newline="")
    try:
        return load_params(out)
    except InputError as error:
        message = str(error).replace(str(out), f"{params} with {overlay}")
        raise InputError(message) from error


def _with_comments(before: str, after: str) -> str:
    """Return settings with the comments that were above their keys before.

    A data set that comes in place of another has the comments of that one.
    """
    comments: dict[tuple[str, ...], list[str]] = {}
    above: list[str] = []
    for line, path in _paths(before):
        if path is None:
            above = [*above, line] if line.lstrip().startswith("#") else []
        else:
            comments.setdefault(path, above)
            above = []
    lines: list[str] = []
    for line, path in _paths(after):
        lost = comments.pop(path, []) if path is not None else []
        if not (lines and lines[-1].lstrip().startswith("#")):
            indent = line[: len(line) - len(line.lstrip())]
            lines += [f"{indent}{each.lstrip()}" for each in lost]
        lines.append(line)
    return "".join(lines)


def _paths(text: str) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """Yield each line, with the keys that lead to it if it has one; any name of `REPLACED` is *."""
    keys: list[tuple[int, str]] = []
    for line in text.splitlines(keepends=True):
        key = re.match(r"( *)([^\s#:-][^\s:]*):", line)
        if key is None:
            yield line, None
            continue
        keys = [(indent, name) for indent, name in keys if indent < len(key[1])]
        above = tuple(name for _, name in keys)
        keys.append((len(key[1]), "*" if above in REPLACED else key[2]))
        yield line, (*above, keys[-1][1])


def _name_methods(base: MutableMapping[str, Any], overlay: MutableMapping[str, Any]) -> None:
    """Put the methods of a kind in place of the kind, where `overlay` names one."""
    methods = overlay.get("methods")
    if not isinstance(methods, MutableMapping):
        return
    for kind in known_methods():
        if kind in methods and kind not in base["methods"]:
            values = methods.pop(kind)
            for name, method in base["methods"].items():
                if method.get("method") == kind:
                    methods.setdefault(name, {})
                    methods[name] = {**values, **methods[name]}


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
        elif key not in base or base[key] != value:  # what stays keeps its comments
            base[key] = value
