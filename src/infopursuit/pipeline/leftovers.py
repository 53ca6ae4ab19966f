"""Outputs of earlier settings, moved out of the folders that stages read whole.

`build_universe` depends on the folder of all texts, `report` on those of all runs, for DVC takes no
list of files from params.yaml. So what lies in such a folder has to be what the settings name, or a
data set that is gone would be in dvc.lock, and another clone would run these stages again. The
stage `check` moves the rest away, and after `dvc checkout` so does `infopursuit prune`.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import NamedTuple

from dvc.repo import Repo

logger = logging.getLogger("infopursuit")

# Where they go, under the same paths.
LEFTOVERS = Path(".scratch/leftovers")


class Outputs(NamedTuple):
    """What the stages of a project write with its present settings, relative to its root.

    Attributes:
        named: each output, sorted.
        gathered: the folders of outputs that a stage depends on as a whole, sorted.
        settings: the script of each stage, and the keys that it names under `meta`.
    """

    named: list[Path]
    gathered: list[Path]
    settings: dict[str, tuple[Path, list[str]]]


def read_outputs(project: str | Path = ".") -> Outputs:
    """Return the outputs of all stages in dvc.yaml, with the values of params.yaml."""
    with Repo(str(project)) as repo:
        root = Path(repo.root_dir)
        named = {Path(out.fs_path).relative_to(root) for out in repo.index.outs}
        read = {Path(dep.fs_path) for dep in repo.index.deps if dep.protocol == "local"}
        settings = {
            stage.addressing: (Path(stage.cmd.split()[-1]), (stage.meta or {}).get("settings", []))
            for stage in repo.index.stages
            if stage.cmd
        }
    parents = {parent for path in named for parent in path.parents}
    inside = {path.relative_to(root) for path in read if root in path.parents}
    return Outputs(sorted(named), sorted(inside & parents), settings)


def move_leftovers(outputs: Outputs, project: Path = Path()) -> int:
    """Move every file of a gathered folder that no stage writes; return how many.

    Nothing is lost: LEFTOVERS has them, where they replace earlier ones.
    """
    to = project / LEFTOVERS
    named = set(outputs.named)
    left = sorted(
        {
            path.relative_to(project)
            for folder in outputs.gathered
            for path in (project / folder).rglob("*")
            if not path.is_dir() or path.is_symlink()
        }
    )
    left = [path for path in left if path not in named and not named.intersection(path.parents)]
    for path in left:
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        (to / path).unlink(missing_ok=True)
        shutil.move(project / path, to / path)
    for folder in outputs.gathered:
        _remove_empty(project / folder)
    if left:
        logger.info("%d files of earlier settings moved to %s", len(left), LEFTOVERS)
    return len(left)


def _remove_empty(folder: Path) -> None:
    """Remove the folders without files below a folder: DVC counts no empty one, but lists do."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
