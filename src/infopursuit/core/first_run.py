"""How far a first run of the pipeline is: which of how many stages has begun.

DVC tells which stage it runs, and not how many there are. It notes finished stages in dvc.lock, so
on a first run those there, and all that dvc.yaml asks for, say how much is left.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from infopursuit.core.settings import read_yaml

REFERENCE = re.compile(r"\$\{([^}]+)\}")


def place_in_first_run(folder: Path = Path()) -> tuple[int, int] | None:
    """The number of the stage that runs now, from 1 on, and of all stages in dvc.yaml.

    Args:
        folder: where dvc.yaml, params.yaml and, once a stage is finished, dvc.lock are.

    Returns:
        None where DVC did not start this process, or has run this stage before: how many stages an
        edit makes run again is not known here.
    """
    stage = os.environ.get("DVC_STAGE")
    if stage is None:
        return None
    names = stage_names(
        read_yaml(folder / "dvc.yaml", "expected stages")["stages"],
        read_yaml(folder / "params.yaml", "expected settings"),
    )
    lock = folder / "dvc.lock"
    finished = read_yaml(lock, "expected stages").get("stages", {}) if lock.exists() else {}
    if stage not in names or stage in finished:
        return None
    return sum(name in finished for name in names) + 1, len(names)


def stage_names(stages: Mapping[str, Any], params: Mapping[str, Any]) -> list[str]:
    """The names of all stages of a dvc.yaml, those of each `foreach` and `matrix` included."""
    return [name for stage, content in stages.items() for name in _names(stage, content, params)]


def _names(stage: str, content: Mapping[str, Any], params: Mapping[str, Any]) -> Iterator[str]:
    if "foreach" in content:
        yield from (f"{stage}@{key}" for key in _values(content["foreach"], params))
    elif "matrix" in content:
        lists = [_values(values, params) for values in content["matrix"].values()]
        yield from (f"{stage}@{'-'.join(map(str, keys))}" for keys in product(*lists))
    else:
        yield stage


def _values(values: Any, params: Mapping[str, Any]) -> Sequence[Any]:
    """A list, or the keys of a mapping, as they stand or as `${path.of.keys}` of params.yaml."""
    reference = REFERENCE.fullmatch(values) if isinstance(values, str) else None
    found: Any = params if reference else values
    for key in reference[1].split(".") if reference else ():
        found = found[key]
    return list(found)
