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
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from campaigns.warm import Ended, Warm
from tests.repro.world import World


class Command(NamedTuple):
    """A stage script with its arguments, and its name in tables."""

    name: str
    arguments: tuple[str, ...]


def _command(line: str, name: str = "") -> Command:
    script, *arguments = line.split()
    return Command(f"{script} {name}".strip(), (f"stages/{script}.py", *arguments))


_DATASET = "--dataset menagerie"
_RUN = f"{_DATASET} --init llm --seed 0 --method"
# All commands of the world in order, and those of them that are stopped.
_QUERIES = _command("generate_queries --corpus menagerie")
_KNOWLEDGE = _command(f"generate_knowledge {_DATASET}")
_EMBED = (_command("embed_universe"), _command(f"embed_images {_DATASET}"))
_FITS = (
    *(
        _command(f"initialize {_DATASET} --init {init} --seed 0", init)
        for init in ("medoids", "informative")
    ),
    *(
        _command(f"train {_RUN} {method}", method)
        for method in ("naive_bayes", "fixed", "alternating", "joint")
    ),
)
_EVALUATE, _REPORT = _command(f"evaluate {_RUN} naive_bayes"), _command("report")
STOPPED = (_QUERIES, _KNOWLEDGE, *_EMBED, *_FITS, _EVALUATE, _REPORT)
COMMANDS = (
    _command("menagerie/draw"),
    _command("check"),
    _QUERIES,
    _command(f"read_dataset {_DATASET}"),
    _command(f"generate_dictionary {_DATASET}"),
    _command("build_universe"),
    _KNOWLEDGE,
    *_EMBED,
    _command(f"menagerie/embed_pairs {_DATASET}"),
    _command(f"initialize {_DATASET} --init llm --seed 0"),
    *_FITS,
    _command(f"baselines {_DATASET}"),
    _EVALUATE,
    _command(f"menagerie/truth {_RUN} naive_bayes"),
    _command(f"explain {_RUN} naive_bayes"),
    _command(f"explore {_DATASET}"),
    _REPORT,
)


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
            after = self._times()
            outputs = [path for path, time in after.items() if time != before.get(path)]
            assert outputs, f"{command.name} wrote nothing"
            self.outputs[command.name] = outputs
        self.complete = self.artifacts()
        self._listed = (folder / "artifacts/outputs.txt").read_bytes()  # by `check`, for DVC
        self.scratch = self.scratch_files()

    def _times(self) -> dict[Path, int]:
        files = (self.folder / "artifacts").rglob("*")
        return {path: path.stat().st_mtime_ns for path in files if path.is_file()}

    def scratch_files(self) -> list[str]:
        """Return the files that stages keep in `.scratch`."""
        home = self.folder / ".scratch"
        return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())

    def clear(self, command: Command) -> None:
        """Remove the outputs of a command, as DVC does before it runs a stage, and all scratch."""
        for path in self.outputs[command.name]:
            path.unlink(missing_ok=True)
        shutil.rmtree(self.folder / ".scratch", ignore_errors=True)
        (self.folder / ".scratch").mkdir()
        (self.folder / ".scratch/seconds.csv").touch()

    def half_files(self) -> list[str]:
        """Return files in `artifacts` with a final name and other bytes than the complete file."""
        return [
            name
            for name, content in self.artifacts().items()
            if not name.endswith(".partial") and content != self.complete.get(name)
        ]

    def differences(self) -> list[str]:
        """Return how `artifacts` and `.scratch` differ from those of the undisturbed runs."""
        artifacts, complete = self.artifacts(), self.complete
        missing = [f"artifacts/{name} is missing" for name in complete.keys() - artifacts.keys()]
        left = [f"artifacts/{name} is left" for name in artifacts.keys() - complete.keys()]
        other = [
            f"artifacts/{name} has other bytes"
            for name, content in complete.items()
            if artifacts.get(name, content) != content
        ]
        scratch = set(self.scratch_files()) - set(self.scratch)
        return [*missing, *left, *other, *(f".scratch/{name} is left" for name in scratch)]

    def restore(self) -> None:
        """Write all files of `artifacts` again."""
        for name, content in {**self.complete, "outputs.txt": self._listed}.items():
            path = self.folder / "artifacts" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def cold(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start a command in its own process group, interrupted by Ctrl-C as in a terminal."""
        return subprocess.Popen(
            arguments,
            cwd=self.folder,
            env=self.environment() | {"OMP_NUM_THREADS": "1"} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def run_cold(self, *arguments: str, **environment: str) -> Ended:
        """Run a command as a new process to its end."""
        return _wait(self.cold(*arguments, **environment))

    def stop(
        self, arguments: Sequence[str], number: signal.Signals, after: float, cold: bool
    ) -> Ended:
        """Start a stage script, send a signal to its process group while it works, and wait.

        Args:
            arguments: the script and its arguments.
            number: the signal.
            after: seconds of processor time, which a busy machine does not change; a script that
                ends before gets no signal.
            cold: as a new process, imports included, or as a fork of one that has imported.
        """
        process = self.cold(sys.executable, *arguments) if cold else None
        group = process.pid if process else self.warm.start(arguments)
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
    used = Path(f"/proc/{process}/schedstat")
    state = Path(f"/proc/{process}/stat")
    try:
        while int(used.read_text().split()[0]) < 1e9 * seconds:
            if state.read_text().rpartition(")")[2].split()[0] in "ZX":
                return False
            time.sleep(0.002)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return True
