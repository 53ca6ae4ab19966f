"""What no stage has any more: entries of dvc.lock and outputs of data sets and runs that are gone.

    infopursuit prune

DVC keeps the entries for ever, and reads and writes all of the file after each stage; and it leaves
outputs where they are when another commit is checked out. The run cache is not touched: a setting
that comes back is taken from it.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from pathlib import Path

from dvc.exceptions import DvcException
from dvc.repo import Repo
from ruamel.yaml import YAML

from infopursuit.core.errors import InputError
from infopursuit.core.files import atomic_write
from infopursuit.core.settings import read_yaml
from infopursuit.pipeline.leftovers import move_leftovers, read_outputs

logger = logging.getLogger("infopursuit")


def prune(project: str | Path = ".") -> int:
    """Remove the entries that no stage has from the lock of each dvc.yaml; return how many.

    What lies in the way of stages that read a whole folder is moved.

    Raises:
        InputError: the folder is no DVC project, or one of its files cannot be read.
    """
    names: dict[Path, set[str]] = defaultdict(set)
    try:
        with Repo(str(project)) as repo:
            for stage in repo.index.stages:
                names[Path(stage.path)].add(stage.addressing.rpartition(":")[2])
    except DvcException as error:
        raise InputError(f"{project}: {error}; expected the folder with dvc.yaml") from error
    removed = 0
    for path, wanted in names.items():
        lock = path.with_suffix(".lock")
        if not lock.exists():
            continue
        yaml = YAML()
        yaml.default_flow_style = False
        content = read_yaml(lock, yaml=yaml)
        dead = [name for name in content["stages"] if name not in wanted]
        for name in dead:
            del content["stages"][name]
        if dead:
            with atomic_write(lock) as partial:
                yaml.dump(content, partial)
        removed += len(dead)
        logger.info("%s: %d entries removed, %d kept", lock.name, len(dead), len(wanted))
    move_leftovers(read_outputs(project), Path(project))
    return removed
