"""A small world whose stages are stopped: the embedded world, finished once, with all its files.

Texts and pictures are embedded in chunks of 32 and every update of training leaves a checkpoint, so
that there is always something to resume.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from campaigns.warm import Ended, Warm
from tests.repro.world import World


class Command(NamedTuple):
    """A stage script with its arguments, its name in tables, and whether it is stopped."""

    name: str
    arguments: tuple[str, ...]
    is_stopped: bool


def _commands(lines: str) -> tuple[Command, ...]:
    lines = lines.replace("RUN", "DATASET --init llm --seed 0 --method")
    found = []
    for line in lines.replace("DATASET", "--dataset menagerie").strip().splitlines():
        script, *arguments = line.removeprefix("* ").split()
        name = f"{script} {arguments[-1]}" if script in ("initialize", "train") else script
        command = (f"stages/{script}.py", *arguments)
        found.append(Command(name, command, line.startswith("* ")))
    return tuple(found)


# All commands of the world in order; those with a star are stopped.
COMMANDS = _commands("""
menagerie/draw
check
* generate_queries --corpus menagerie
read_dataset DATASET
generate_dictionary DATASET
build_universe
* generate_knowledge DATASET
* embed_universe
* embed_images DATASET
menagerie/embed_pairs DATASET
initialize DATASET --seed 0 --init llm
* initialize DATASET --seed 0 --init medoids
* initialize DATASET --seed 0 --init informative
* train RUN naive_bayes
* train RUN fixed
* train RUN alternating
* train RUN joint
baselines DATASET
* evaluate RUN naive_bayes
menagerie/truth RUN naive_bayes
explain RUN naive_bayes
explore DATASET
* report
""")
STOPPED = {command.name: command for command in COMMANDS if command.is_stopped}


class KilledWorld(World):
    """The small world, run once.

    Attributes:
        warm: runs stages without their imports; `cold` runs them as users do.
        complete: the bytes of all files in `artifacts`.
        outputs: the files that each command writes, by its name.
        seconds: the processor time of each command without its imports.
        scratch: the files that stages keep in `.scratch`.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.shrink()
        control = folder / "params/control_words.txt"
        words = control.read_text(encoding="utf-8").splitlines(keepends=True)
        control.write_text("".join(words[:100]), encoding="utf-8")
        sizes = {"train_per_class": 4, "test_per_class": 2, "switched_pairs": 1}
        drawn = {("draw", name): size for name, size in sizes.items()}
        self.edit(drawn, "stages/menagerie/params.yaml")
        self.edit(
            {
                ("run", "methods"): ["naive_bayes"],
                ("explain", "ids"): {},
                ("methods", "fixed", "random_updates"): 20,
                ("methods", "fixed", "biased_updates"): 20,
                ("methods", "fixed", "validate_every"): 10,
                ("compute", "embed_chunk"): 32,
                ("compute", "checkpoint_seconds"): 0.0,
            }
        )
        self.warm = Warm(self)
        self.outputs: dict[str, list[Path]] = {}
        self.seconds: dict[str, float] = {}
        for command in COMMANDS:
            before = self._times()
            ended = self.warm.run(*command.arguments)
            assert ended.status == 0, f"{command.name}: {ended.output}"
            self.seconds[command.name] = ended.seconds
            self.outputs[command.name] = [path for path, _ in self._times() - before]
            assert self.outputs[command.name], f"{command.name} wrote nothing"
        self.complete = self.artifacts()
        self._listed = (folder / "artifacts/outputs.txt").read_bytes()  # by `check`, for DVC
        self.scratch = self.scratch_files()

    def _times(self) -> set[tuple[Path, int]]:
        files = (self.folder / "artifacts").rglob("*")
        return {(path, path.stat().st_mtime_ns) for path in files if path.is_file()}

    def scratch_files(self) -> set[str]:
        """Return the files that stages keep in `.scratch`."""
        home = self.folder / ".scratch"
        return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}

    def clear(self, command: Command) -> None:
        """Remove the outputs of a command, as DVC does before it runs a stage, and all scratch."""
        for path in self.outputs[command.name]:
            path.unlink(missing_ok=True)
        shutil.rmtree(self.folder / ".scratch", ignore_errors=True)
        (self.folder / ".scratch").mkdir()
        (self.folder / ".scratch/seconds.csv").touch()

    def differences(self, ended: bool = True) -> list[str]:
        """Return how the files differ from those of the undisturbed runs.

        If the stage has not ended, files may be missing and partial, and scratch may be left.
        """
        found, complete = self.artifacts(), self.complete
        faults = [
            f"artifacts/{name} has other bytes, or should not be there"
            for name, content in found.items()
            if content != complete.get(name) and (ended or not name.endswith(".partial"))
        ]
        if ended:
            faults += [f"artifacts/{name} is missing" for name in complete.keys() - found.keys()]
            faults += [f".scratch/{name} is left" for name in self.scratch_files() - self.scratch]
        return faults

    def repeated(self, command: Command) -> list[str]:
        """Run a command again, undisturbed; return what is wrong then."""
        again = self.warm.run(*command.arguments)
        ended = [] if again.status == 0 else [f"repeated, status {again.status}: {again.output}"]
        return [*ended, *self.differences()]

    def restore(self) -> None:
        """Write all files of `artifacts` again."""
        for name, content in {**self.complete, "outputs.txt": self._listed}.items():
            path = self.folder / "artifacts" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def environment(self) -> dict[str, str]:
        """Return the environment, for one thread of each process."""
        return super().environment() | {"OMP_NUM_THREADS": "1"}

    def cold(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command in its own process group, interrupted by Ctrl-C as in a terminal."""
        default = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        return self.start(*arguments, start_new_session=True, preexec_fn=default)

    def run_cold(self, *arguments: str) -> Ended:
        """Run a command as a new process to its end."""
        return _wait(self.cold(*arguments))

    def stop(self, command: Command, number: signal.Signals, after: float, cold: bool) -> Ended:
        """Start a stage, send a signal to its process group while it works, and wait.

        Args:
            command: the stage.
            number: the signal.
            after: seconds of processor time, which a busy machine does not change; a stage that
                ends before gets no signal.
            cold: as a new process, imports included, or as a fork of one that has imported.
        """
        process = self.cold(sys.executable, *command.arguments) if cold else None
        group = process.pid if process else self.warm.start(command.arguments)
        if has_used(group, after):
            with suppress(ProcessLookupError):  # it has ended at this moment
                os.killpg(group, number)
        return _wait(process) if process else self.warm.wait()


def _wait(process: subprocess.Popen[str]) -> Ended:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output, _ = process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ended(process.returncode, output, used)


def has_used(process: int, seconds: float) -> bool:
    """Wait until a process has used this much processor time; return False if it ends before."""
    files = Path(f"/proc/{process}")
    try:
        while int((files / "schedstat").read_text().split()[0]) < 1e9 * seconds:
            if (files / "stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return False
            time.sleep(0.002)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return True
