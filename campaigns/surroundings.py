"""What may happen around a stage: folders disappear, disks are full or read-only.

A full or read-only disk is a tmpfs over the folder of a stage's outputs, which root may mount. A
folder that a user may not write to has no right to write, and the process has given up root's power
to write everywhere.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from campaigns.killed_world import STOPPED, KilledWorld, has_used
from campaigns.warm import Ended
from tests.disks import mounted

# Root without the power to write where the rights forbid it.
POWERS = "-dac_override,-dac_read_search"
WITHOUT_POWERS = ("setpriv", "--bounding-set", POWERS, "--inh-caps", POWERS)
# One line that says which file is not there.
LOST = r"\S+: .*(artifacts|\.scratch)/\S+.*no such (file|figure).*"


class Tried(NamedTuple):
    """A row of the table: what happened, how it was done, the result, broken promises."""

    what: str
    how: str
    result: str
    broken: list[str]


def one_line(ended: Ended, expected: str) -> list[str]:
    """Return what is wrong with a stage that must fail with one line that contains `expected`."""
    lines = [line for line in ended.output.splitlines() if expected in line]
    if ended.status == 1 and len(lines) == 1 and "Traceback" not in ended.output:
        return []
    return [f"expected {expected!r} and status 1, found {ended.status}: {ended.output}"]


def changed_outputs(world: KilledWorld, *ignored: str) -> list[str]:
    """Return a fault if the earlier outputs have changed."""
    artifacts = {name: data for name, data in world.artifacts().items() if name not in ignored}
    return [] if artifacts == world.complete else ["earlier outputs are not as before"]


def lost_folders(
    world: KilledWorld, names: Sequence[str] = tuple(STOPPED), seed: int = 0
) -> list[Tried]:
    """Delete `artifacts/` or `.scratch/` at a random moment of each stage."""
    rows = []
    for folder in ("artifacts", ".scratch"):
        drawn, broken, completed = random.Random(f"{seed} {folder}"), [], 0
        for name in names:
            command = STOPPED[name]
            world.clear(command)
            process = world.warm.start(command.arguments)
            has_used(process, drawn.random() * world.seconds[name])
            # The stage may be writing there at this moment.
            shutil.rmtree(world.folder / folder, ignore_errors=True)
            ended = world.warm.wait()
            completed += ended.status == 0
            # The last line: a stage may have written what it did before.
            named = re.search(rf"^{LOST}\Z", ended.output.strip(), re.IGNORECASE | re.MULTILINE)
            named = named and "Traceback" not in ended.output
            good = ended.status == 0 or (ended.status == 1 and named)
            faults = [] if good else [f"status {ended.status}: {ended.output}"]
            world.restore()
            world.clear(command)
            broken += [f"{name}: {fault}" for fault in faults + world.repeated(command)]
        result = f"{completed} of {len(names)} stages came to their end, the others named the file"
        rows.append(Tried(f"`{folder}/` deleted", "while a stage runs, once each", result, broken))
    return rows


@contextmanager
def small_disk(folder: Path, room: int) -> Iterator[None]:
    """Mount a disk over a folder, with the folder's files and room for `room` more bytes.

    Raises:
        PermissionError: nothing may be mounted here.
    """
    with tempfile.TemporaryDirectory() as kept, ExitStack() as disk:
        files = [path for path in folder.rglob("*") if path.is_file()]
        blocks = sum(path.stat().st_size // 4096 + 1 for path in files) + 64
        if files:
            shutil.copytree(folder, kept, dirs_exist_ok=True)
        disk.enter_context(mounted(folder, f"size={4 * blocks}k"))
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        filler = folder / ".filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4096)):
                pass
        os.truncate(filler, filler.stat().st_size - room)
        yield


# The folder of a full disk, the stage that writes there, and how many bytes of its first file fit.
FULL = (
    ("artifacts/queries", "generate_queries", 4096),
    ("artifacts/knowledge", "generate_knowledge", 4096),
    (".scratch", "embed_universe", 4096),
    ("artifacts/images", "embed_images", 4096),
    (".scratch", "initialize medoids", 0),
    ("artifacts/initial", "initialize informative", 0),
    (".scratch", "train alternating", 4096),
    ("artifacts/models", "train naive_bayes", 4096),
    ("artifacts/training", "train joint", 0),
    ("artifacts/evaluation", "evaluate", 0),
    ("artifacts/report", "report", 4096),
)


def full_disk(
    world: KilledWorld, disks: Sequence[tuple[str, str, int]] = FULL, read_only: bool = False
) -> list[Tried]:
    """Run stages that have earlier outputs, on a disk without room, or on a read-only one."""
    broken = []
    state = "read-only" if read_only else "full"
    for folder, name, room in disks:
        command, path = STOPPED[name], world.folder / folder
        if folder == ".scratch":
            world.clear(command)
        with small_disk(path, room):
            if read_only:
                subprocess.run(["mount", "-o", "remount,ro", str(path)], check=True)
            ended = world.warm.run(*command.arguments)
            faults = one_line(ended, f"cannot be written, the disk is {state}")
            faults += [f"{partial.name} is left" for partial in path.rglob("*.partial")]
            if folder != ".scratch":
                filler = Path(folder, ".filler").relative_to("artifacts")
                faults += changed_outputs(world, str(filler))
        world.restore()
        broken += [f"{folder}, {name}: {fault}" for fault in faults + world.repeated(command)]
    result = f"{len(disks)} stages name the file, and that the disk is {state}"
    how = "the same, mounted so" if read_only else "a tmpfs without room over the folder"
    return [Tried(f"a disk that is {state}", how, result, broken)]


def forbidden_folder(world: KilledWorld, name: str = "report") -> list[Tried]:
    """Run a stage that may not write to its folder."""
    command, path = STOPPED[name], world.folder / "artifacts" / name
    path.chmod(0o555)
    powers = WITHOUT_POWERS if os.getuid() == 0 else ()
    try:
        ended = world.run_cold(*powers, sys.executable, *command.arguments)
    finally:
        path.chmod(0o755)
    broken = one_line(ended, "this user may not write there")
    broken += changed_outputs(world) + world.repeated(command)
    result = f"`{name}`: the file is named, and that this user may not write there"
    how = "rights 555, a user without root's powers"
    return [Tried("a folder that may not be written", how, result, broken)]


def two_at_once(world: KilledWorld) -> list[Tried]:
    """Run two `dvc repro` of the same stages in one folder."""
    if not (world.folder / "dvc.lock").exists():  # DVC does not know yet that all stages have run
        world.do("dvc", "commit", "--force")
    stages = [f"{stage}@menagerie-llm-naive_bayes-0" for stage in ("train", "evaluate")]
    processes = [world.cold("dvc", "repro", "--force", "--single-item", *stages) for _ in range(2)]
    ended = [(process.communicate()[0], process.returncode) for process in processes]
    refused = [output for output, status in ended if status != 0]
    broken = [output for output in refused if "lock" not in output or "Traceback" in output]
    broken += [] if len(refused) == 1 else ["both were refused" if refused else "they never met"]
    broken += world.differences()
    result = f"{2 - len(refused)} ended well, {len(refused)} refused by DVC's lock; same bytes"
    return [Tried("two `dvc repro` at once", "`train` and `evaluate` of one run", result, broken)]


SURROUNDINGS: tuple[Callable[[KilledWorld], list[Tried]], ...] = (
    lost_folders,
    full_disk,
    partial(full_disk, read_only=True),
    forbidden_folder,
    two_at_once,
)
