"""What may happen around a stage: folders that go, clocks that jump, disks that take nothing more.

A disk that is full or read-only is a tmpfs over the folders of a stage's outputs, which root may
mount. A folder that a user may not write to is one without the right to write, and a process that
has given up root's power to write everywhere. A clock is a `sitecustomize.py` in front of the
path, which has `time.time` jump; no system clock is touched.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from campaigns.killed_world import STOPPED, Command, KilledWorld, used_so_much
from campaigns.warm import Ended
from tests.disks import mounted

# A year ahead at first, two years back after half a second, then to and fro with every second.
CLOCK = """
import time

_begun, _time = time.monotonic(), time.time
YEAR = 365 * 24 * 3600.0


def jumping():
    passed = time.monotonic() - _begun
    return _time() + (YEAR if int(passed + 0.5) % 2 == 0 else -YEAR)


time.time = jumping
time.time_ns = lambda: int(1e9 * jumping())
"""
# Root without the power to write where the rights forbid it.
WITHOUT_POWER = (
    *("setpriv", "--bounding-set", "-dac_override,-dac_read_search"),
    *("--inh-caps", "-dac_override,-dac_read_search"),
)
BY_NAME = {command.name: command for command in STOPPED}


class Tried(NamedTuple):
    """A row of the table: what happened, how it was done, what was found, broken promises."""

    what: str
    how: str
    found: str
    broken: list[str]


def one_line(ended: Ended, expected: str) -> list[str]:
    """What is wrong with a stage that had to fail with one line that has `expected` in it."""
    lines = [line for line in ended.output.splitlines() if expected in line]
    if ended.status == 1 and len(lines) == 1 and "Traceback" not in ended.output:
        return []
    return [f"expected {expected!r} and status 1, found {ended.status}: {ended.output}"]


def repeated(world: KilledWorld, command: Command) -> list[str]:
    """What is wrong after the same command again, without what disturbed it."""
    again = world.warm.run(*command.arguments)
    broken = [] if again.status == 0 else [f"the repetition ended with {again.status}"]
    return [*broken, *world.differences()]


def lost_folders(
    world: KilledWorld, names: Sequence[str] = tuple(BY_NAME), seed: int = 0
) -> list[Tried]:
    """`artifacts/` or `.scratch/` is deleted at a random moment of each stage."""
    rows = []
    for folder in ("artifacts", ".scratch"):
        drawn, broken, ended_well = random.Random(f"{seed} {folder}"), [], 0
        for name in names:
            command = BY_NAME[name]
            world.clear(command)
            process = world.warm.start(command.arguments)
            used_so_much(process, drawn.random() * world.seconds[name])
            # The stage may be writing there at this moment.
            shutil.rmtree(world.folder / folder, ignore_errors=True)
            ended = world.warm.wait()
            ended_well += ended.status == 0
            wrong = ended.status not in (0, 1) or "Traceback" in ended.output
            found = [f"status {ended.status}: {ended.output}"] if wrong else []
            world.restore()
            world.clear(command)
            broken += [f"{name}: {each}" for each in found + repeated(world, command)]
        told = f"{ended_well} of {len(names)} stages came to their end, the others told in one line"
        rows.append(Tried(f"`{folder}/` deleted", "while a stage runs, once each", told, broken))
    return rows


def jumping_clock(
    world: KilledWorld, names: Sequence[str] = ("embed_images", "train alternating", "report")
) -> list[Tried]:
    """The clock jumps by two years to and fro, while a stage runs and when it goes on."""
    folder = world.folder / ".clock"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(CLOCK, encoding="utf-8")
    path = os.pathsep.join([str(folder), world.environment()["PYTHONPATH"]])
    broken = []
    for name in names:
        command = BY_NAME[name]
        world.clear(command)
        world.stop(command.arguments, signal.SIGKILL, 0.7 * world.seconds[name], cold=False)
        ended = world.run_cold(sys.executable, *command.arguments, PYTHONPATH=path)
        if ended.status or "Traceback" in ended.output:
            broken.append(f"{name}: status {ended.status}: {ended.output}")
        broken += [f"{name}: {each}" for each in world.differences()]
    shutil.rmtree(folder)
    how = "`sitecustomize` has `time.time` jump each second; after a kill"
    return [
        Tried("a clock that jumps by two years", how, f"{len(names)} stages, same bytes", broken)
    ]


def can_mount() -> bool:
    """Whether this process may mount a disk."""
    return os.getuid() == 0 and sys.platform == "linux" and shutil.which("mount") is not None


@contextmanager
def small_disk(folder: Path, room: int) -> Iterator[None]:
    """A disk of its own over a folder, with what is in it and room for so many more bytes.

    Raises:
        PermissionError: nothing may be mounted here.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder.with_name(folder.name + ".kept")
    shutil.copytree(folder, kept)
    files = [path for path in kept.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size // 4096 + 1 for path in files) + 64
    try:
        with mounted(folder, f"size={4 * size}k"):
            shutil.copytree(kept, folder, dirs_exist_ok=True)
            shutil.rmtree(kept)
            filler = folder / ".filler"
            with filler.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(bytes(4096)):
                    pass
            os.truncate(filler, filler.stat().st_size - room)
            yield
    finally:
        shutil.rmtree(kept, ignore_errors=True)


# Where a disk is full, which stage writes there, and how many bytes of its first file fit.
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


def full_disk(world: KilledWorld, where: Sequence[tuple[str, str, int]] = FULL) -> list[Tried]:
    """A stage has earlier outputs, and no room for others."""
    broken = []
    for folder, name, room in where:
        command = BY_NAME[name]
        if folder == ".scratch":
            world.clear(command)
        with small_disk(world.folder / folder, room):
            ended = world.warm.run(*command.arguments)
            found = one_line(ended, "cannot be written, the disk is full")
            here = [path.name for path in (world.folder / folder).rglob("*.partial")]
            found += [f"{each} is left" for each in here]
            if folder != ".scratch":
                written = world.artifacts()
                written.pop(str(Path(folder, ".filler").relative_to("artifacts")))
                found += [] if written == world.whole else ["earlier outputs are not as before"]
        world.restore()
        broken += [f"{folder}, {name}: {each}" for each in found + repeated(world, command)]
    told = f"{len(where)} stages name the file, and that the disk is full"
    return [Tried("a disk that is full", "a tmpfs without room over the folder", told, broken)]


def read_only(world: KilledWorld, where: Sequence[tuple[str, str, int]] = FULL) -> list[Tried]:
    """A disk that takes no file; and a folder where this user may write none."""
    broken = []
    for folder, name, room in where:
        command, path = BY_NAME[name], world.folder / folder
        if folder == ".scratch":
            world.clear(command)
        with small_disk(path, room):
            subprocess.run(["mount", "-o", "remount,ro", str(path)], check=True)
            ended = world.warm.run(*command.arguments)
        found = one_line(ended, "cannot be written, the disk is read-only")
        broken += [f"{folder}, {name}: {each}" for each in found + repeated(world, command)]
    told = f"{len(where)} stages name the file, and that the disk is read-only"
    return [Tried("a read-only disk", "the same, mounted so", told, broken)]


def forbidden_folder(
    world: KilledWorld, where: Sequence[tuple[str, str, int]] = FULL[-1:]
) -> list[Tried]:
    """A folder where the user of a stage may not write."""
    power = WITHOUT_POWER if os.getuid() == 0 else ()
    broken = []
    for folder, name, _ in where:
        command, path = BY_NAME[name], world.folder / folder
        path.chmod(0o555)
        try:
            ended = world.run_cold(*power, sys.executable, *command.arguments)
        finally:
            path.chmod(0o755)
        found = one_line(ended, "this user may not write there")
        found += [] if world.artifacts() == world.whole else ["earlier outputs are not as before"]
        broken += [f"{folder}, {name}: {each}" for each in found + repeated(world, command)]
    names = ", ".join(f"`{name}`" for _, name, _ in where)
    told = f"{names}: the file is named, and that this user may not write there"
    how = "rights 555, a user without root's powers"
    return [Tried("a folder that may not be written", how, told, broken)]


def stopped_repro(world: KilledWorld, moments: int = 2, seed: int = 0) -> list[Tried]:
    """`dvc repro` of one stage is stopped by each signal, then run again."""
    commit(world)
    forced = ("dvc", "repro", "--force", "--single-item", "embed_universe")
    started = time.monotonic()
    undisturbed = world.run_cold(*forced)
    seconds = time.monotonic() - started
    broken = [undisturbed.output] if undisturbed.status else []
    drawn, stopped = random.Random(seed), 0
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        for moment in range(moments):
            process = world.cold(*forced)
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds * (moment + drawn.random()) / moments)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            output, _ = process.communicate()
            stopped += process.returncode != 0
            found = [output] if number == signal.SIGINT and "Traceback" in output else []
            again = world.run_cold(*forced)
            if again.status:
                found.append(f"the repetition ended with {again.status}: {again.output}")
            broken += [f"{number.name}: {each}" for each in found + world.differences()]
    told = f"{stopped} of {3 * moments} were stopped; same bytes"
    how = f"SIGKILL, SIGTERM, Ctrl-C to its group, {moments} moments each, in `embed_universe`"
    return [Tried("`dvc repro` stopped", how, told, broken)]


def two_at_once(world: KilledWorld) -> list[Tried]:
    """Two `dvc repro` of the same stages in one folder."""
    commit(world)
    stages = [f"{each}@menagerie-llm-naive_bayes-0" for each in ("train", "evaluate")]
    forced = ("dvc", "repro", "--force", "--single-item", *stages)
    both = [world.cold(*forced) for _ in range(2)]
    outputs = [process.communicate()[0] for process in both]
    refused = [
        output for process, output in zip(both, outputs, strict=True) if process.returncode != 0
    ]
    broken = [each for each in refused if "lock" not in each or "Traceback" in each]
    broken += ["both were refused"] if len(refused) == 2 else []
    broken += world.differences()
    told = f"{2 - len(refused)} ended well, {len(refused)} refused by DVC's lock; same bytes"
    return [Tried("two `dvc repro` at once", "`train` and `evaluate` of one run", told, broken)]


def commit(world: KilledWorld) -> None:
    """Tell DVC that all stages have run, once."""
    if not (world.folder / "dvc.lock").exists():
        status, output = world.run("dvc", "commit", "--force")
        assert status == 0, output


SURROUNDINGS: tuple[Callable[[KilledWorld], list[Tried]], ...] = (
    lost_folders,
    jumping_clock,
    full_disk,
    read_only,
    forbidden_folder,
    two_at_once,
    stopped_repro,
)
