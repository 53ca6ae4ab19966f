"""Outputs of earlier settings, moved out of the folders that stages read whole.

`build_universe` depends on the folder of all texts, `report` on those of all runs, for DVC takes no
list of files from params.yaml. What lies in such a folder has to be what the settings name: else a
data set that is gone would be in dvc.lock, and another clone would run these stages again.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable
from itertools import chain, product
from pathlib import Path

from infopursuit.core.run_name import RunName
from infopursuit.core.stage import SCRATCH
from infopursuit.evaluation.settings import RunSettings

logger = logging.getLogger("infopursuit")

LEFTOVERS = SCRATCH / "leftovers"
# The folders of artifacts/ with what belongs to runs.
OF_RUNS = ("evaluation", "explanations", "meaning", "models", "training")


def keep_runs(artifacts: Path, runs: RunSettings) -> dict[str, list[RunName]]:
    """Move out what belongs to no run of the settings; return the runs of each data set."""
    keys = list(product(runs.inits, runs.methods, runs.seeds))
    names = {dataset: [RunName(dataset, *key) for key in keys] for dataset in runs.datasets}
    move_leftovers(artifacts / "baselines", runs.datasets)
    for folder in OF_RUNS:
        move_leftovers(artifacts / folder, map(str, chain(*names.values())))
    return names


def move_leftovers(folder: Path, names: Iterable[str], to: Path = LEFTOVERS) -> list[Path]:
    """Move what belongs to none of the names out of a folder; return the paths moved, sorted.

    A file or folder belongs to a name if it is called so, or so with a suffix (`NAME.json`).
    Nothing is lost: `to` has it under the same path, where it replaces what was there.
    """
    named = set(names)
    left = [
        path
        for path in sorted(folder.iterdir() if folder.is_dir() else ())
        if not any(path.name == name or path.name.startswith(f"{name}.") for name in named)
    ]
    for path in left:
        target = to / path
        if target.is_dir():
            shutil.rmtree(target)
        target.unlink(missing_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)
    if left:
        logger.info("%s: %d of earlier settings moved to %s", folder, len(left), to)
    return left
