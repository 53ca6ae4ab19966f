"""A small world whose stages are stopped: the embedded world, finished once, with what it wrote.

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

DATASET = ("--dataset", "menagerie")
RUN = (*DATASET, "--init", "llm", "--method")
SEED = ("--seed", "0")
METHODS = ("naive_bayes", "fixed", "alternating", "joint")


class Command(NamedTuple):
    """A stage script with its arguments, and what a table calls it."""

    name: str
    arguments: tuple[str, ...]


def _command(script: str, *arguments: str, name: str = "") -> Command:
    return Command(f"{script} {name}".strip(), (f"stages/{script}.py", *arguments))


STOPPED = (
    _command("generate_queries", "--corpus", "menagerie"),
    _command("generate_knowledge", *DATASET),
    _command("embed_universe"),
    _command("embed_images", *DATASET),
    *(
        _command("initialize", *DATASET, "--init", init, *SEED, name=init)
        for init in ("medoids", "informative")
    ),
    *(_command("train", *RUN, method, *SEED, name=method) for method in METHODS),
    _command("evaluate", *RUN, "naive_bayes", *SEED),
    _command("report"),
)
BEFORE = (
    _command("menagerie/draw"),
    _command("check"),
    STOPPED[0],
    _command("read_dataset", *DATASET),
    _command("generate_dictionary", *DATASET),
    _command("build_universe"),
    STOPPED[1],
    *STOPPED[2:4],
    _command("menagerie/embed_pairs", *DATASET),
    _command("initialize", *DATASET, "--init", "llm", *SEED),
    *STOPPED[4:10],
    _command("baselines", *DATASET),
    STOPPED[10],
    _command("menagerie/truth", *RUN, "naive_bayes", *SEED),
    _command("explain", *RUN, "naive_bayes", *SEED),
    _command("explore", *DATASET),
    STOPPED[11],
)


class KilledWorld(World):
    """The small world; `whole` holds the bytes of all its files, `outputs` those of each command.

    Stages of `warm` start without their imports, those of `cold` as people start them.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.shrink()
        control = folder / "params/control_words.txt"
        words = control.read_text(encoding="utf-8").splitlines(keepends=True)
        control.write_text("".join(words[:100]), encoding="utf-8")
        fewer = {("draw", "train_per_class"): 4, ("draw", "test_per_class"): 2}
        self.edit({**fewer, ("draw", "switched_pairs"): 1}, "stages/menagerie/params.yaml")
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
        for command in BEFORE:
            before = self._times()
            ended = self.warm.run(*command.arguments)
            self.seconds[command.name] = ended.seconds
            assert ended.status == 0, f"{command.name}: {ended.output}"
            after = self._times()
            self.outputs[command.name] = [
                path for path, written in after.items() if written != before.get(path)
            ]
            assert self.outputs[command.name], f"{command.name} wrote nothing"
        self.whole = self.artifacts()
        self.told = (folder / "artifacts/outputs.txt").read_bytes()  # by `check`, for DVC
        self.scratch = self.files_of_scratch()

    def _times(self) -> dict[Path, int]:
        files = (self.folder / "artifacts").rglob("*")
        return {path: path.stat().st_mtime_ns for path in files if path.is_file()}

    def files_of_scratch(self) -> list[str]:
        """The files that stages keep beside their outputs."""
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
        """Files in `artifacts` under a final name whose bytes are not those of the whole file."""
        return [
            name
            for name, content in self.artifacts().items()
            if not name.endswith(".partial") and content != self.whole.get(name)
        ]

    def differences(self) -> list[str]:
        """How `artifacts` and `.scratch` differ from those of the undisturbed runs; [] if equal."""
        found = self.artifacts()
        return [
            *(f"artifacts/{name} is missing" for name in self.whole if name not in found),
            *(f"artifacts/{name} is left" for name in found if name not in self.whole),
            *(
                f"artifacts/{name} has other bytes"
                for name, content in self.whole.items()
                if found.get(name, content) != content
            ),
            *(
                f".scratch/{name} is left"
                for name in self.files_of_scratch()
                if name not in self.scratch
            ),
        ]

    def restore(self) -> None:
        """Put back all files of `artifacts`, after somebody has removed them."""
        for name, content in {**self.whole, "outputs.txt": self.told}.items():
            path = self.folder / "artifacts" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def cold(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start a command in a group of its own, interrupted by Ctrl-C as in a terminal."""
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
        return self._wait(self.cold(*arguments, **environment))

    def _wait(self, process: subprocess.Popen[str]) -> Ended:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        output, _ = process.communicate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Ended(process.returncode, output, used)

    def stop(
        self, arguments: Sequence[str], number: signal.Signals, after: float, cold: bool
    ) -> Ended:
        """Start a stage script, send a signal to its group in the midst of it, wait.

        Args:
            arguments: the script and its arguments.
            number: the signal.
            after: seconds of processor time, which a busy machine does not change; a script that
                ends before is left alone.
            cold: as a new process, imports included, or as a fork of one that has imported.
        """
        if cold:
            process = self.cold(sys.executable, *arguments)
            if used_so_much(process.pid, after):
                os.killpg(process.pid, number)
            return self._wait(process)
        child = self.warm.start(arguments)
        if used_so_much(child, after):
            with suppress(ProcessLookupError):  # it has ended at this moment
                os.killpg(child, number)
        return self.warm.wait()


def used_so_much(process: int, seconds: float) -> bool:
    """Wait until a process has used so much processor time; False where it ends before."""
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
