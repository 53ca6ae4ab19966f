"""Processes that are stopped anywhere: a stage, `fit` and `annotate`, by the signals of a system.

Each works in the planted world. A stage is stopped at a moment of its work, or in its imports; the
same command then has to end in the bytes of an undisturbed run, with nothing left over.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

import infopursuit
from infopursuit.core.errors import InputError
from tests.cli.conftest import colors as colors
from tests.clip.conftest import tiny_clip as tiny_clip
from tests.repro.planted import plant, write_inputs
from tests.repro.world import World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
RUN = "--dataset planted --init llm --seed 0 --method"
STOPPED = (
    "build_universe",
    "initialize --dataset planted --seed 0 --init medoids",
    f"train {RUN} gaussian",
    f"train {RUN} fixed",
    f"evaluate {RUN} gaussian",
    "report",
)


class KilledWorld(World):
    """The planted world, run once, whose stages are run again alone."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        plant(self)
        updates = {"hidden": [24, 16], "random_updates": 40, "biased_updates": 40,
                   "validate_every": 10, "batch_size": 32}  # fmt: skip
        self.edit(
            {
                ("run", "inits"): ["llm", "medoids"],
                ("run", "methods"): ["gaussian", "fixed"],
                **{("methods", "fixed", key): value for key, value in updates.items()},
                ("compute", "checkpoint_seconds"): 0.0,
            }
        )
        self.repro()
        self.outputs: dict[str, list[Path]] = {}
        self.seconds: dict[str, float] = {}
        for command in STOPPED:
            before = self._times()
            started = time.monotonic()
            self.do(*self.python(command))
            self.seconds[command] = time.monotonic() - started
            self.outputs[command] = [path for path, _ in self._times() - before]
            assert self.outputs[command], f"{command} wrote nothing"
        self.complete = self.artifacts()
        self.scratch = self.scratch_files()

    def python(self, command: str) -> tuple[str, ...]:
        script, *arguments = command.split()
        return (sys.executable, f"stages/{script}.py", *arguments)

    def _times(self) -> set[tuple[Path, int]]:
        files = (self.folder / "artifacts").rglob("*")
        return {(path, path.stat().st_mtime_ns) for path in files if path.is_file()}

    def scratch_files(self) -> set[str]:
        home = self.folder / ".scratch"
        return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}

    def clear(self, command: str) -> None:
        """Remove the outputs of a command, as DVC does before it runs a stage, and all scratch."""
        for path in self.outputs[command]:
            path.unlink(missing_ok=True)
        shutil.rmtree(self.folder / ".scratch", ignore_errors=True)
        (self.folder / ".scratch").mkdir()
        (self.folder / ".scratch/seconds.csv").touch()

    def differences(self, ended: bool) -> list[str]:
        """How the files differ from undisturbed ones; what has not ended may lack some."""
        found = self.artifacts()
        faults = [
            f"artifacts/{name} has other bytes, or should not be there"
            for name, content in found.items()
            if content != self.complete.get(name) and (ended or ".partial" not in name)
        ]
        if ended:
            faults += [f"artifacts/{name} is missing" for name in self.complete.keys() - found]
            faults += [f".scratch/{name} is left" for name in self.scratch_files() - self.scratch]
        return faults

    def stop(self, command: str, number: signal.Signals, after: float) -> tuple[int, str]:
        """Stop a stage after seconds; return its status and what it wrote."""
        process = started(self.python(command), self.folder, self.environment())
        stop_after(process, number, after)
        output, _ = process.communicate()
        return process.returncode, output


def started(
    command: tuple[object, ...], folder: Path, environment: dict[str, str]
) -> subprocess.Popen[str]:
    """Start a command in its own process group, interrupted by Ctrl-C as in a terminal."""
    return subprocess.Popen(
        list(map(str, command)),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


def stop_after(process: subprocess.Popen[str], number: signal.Signals, seconds: float) -> None:
    """Send a signal to a process group after seconds, unless it ends before."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> KilledWorld:
    return KilledWorld(tmp_path_factory.mktemp("killed"))


@pytest.mark.parametrize(
    ("command", "number"),
    [(command, SIGNALS[place % 3]) for place, command in enumerate(STOPPED)],
)
def test_a_stage_that_is_stopped_ends_in_the_same_bytes(
    world: KilledWorld, command: str, number: signal.Signals
) -> None:
    # Most imports have ended by then.
    after = random.Random(command).uniform(0.6, 0.95) * world.seconds[command]
    world.clear(command)
    status, output = world.stop(command, number, after)
    assert status in (0, 130, -number), output
    assert "Traceback" not in output
    if status == 130:
        assert sum("stopped" in line for line in output.splitlines()) == 1, output
    assert world.differences(ended=False) == []
    world.do(*world.python(command))
    assert world.differences(ended=True) == []


def test_ctrl_c_in_the_imports_is_one_line(world: KilledWorld) -> None:
    command = f"train {RUN} gaussian"
    world.clear(command)
    status, output = world.stop(command, signal.SIGINT, 0.25)
    assert output == "train: stopped before it began; go on with dvc repro\n"
    assert status == 130
    world.do(*world.python(command))
    assert world.differences(ended=True) == []


def test_a_fit_that_is_killed_leaves_no_model_or_a_whole_one(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    environment, model = dict(os.environ), tmp_path / "model"
    words = ("fit", "images.parquet", "--texts", "texts.parquet", "--queries", 8, "--out", model)
    command = (sys.executable, "-m", "infopursuit", *words)
    began = time.monotonic()
    process = started(command, tmp_path, environment)
    assert process.communicate() and process.returncode == 0
    seconds = time.monotonic() - began
    complete = {path.name: path.read_bytes() for path in model.iterdir()}
    for share in (0.5, 0.9, 0.95, 0.98):
        shutil.rmtree(model, ignore_errors=True)
        process = started(command, tmp_path, environment)
        stop_after(process, signal.SIGKILL, share * seconds)
        process.communicate()
        try:
            infopursuit.load(model, device="cpu")
        except InputError:
            assert process.returncode == -signal.SIGKILL
    process = started(command, tmp_path, environment)
    assert process.communicate() and process.returncode == 0
    assert {path.name: path.read_bytes() for path in model.iterdir()} == complete


@pytest.fixture
def annotating(colors: Path, tmp_path: Path) -> Iterator[Callable]:
    """Return a function that starts `annotate`; it returns the process, address and first line."""
    running: list[subprocess.Popen[str]] = []
    environment = {**os.environ, "INFOPURSUIT_CACHE": str(tmp_path / "cache")}
    words = ("annotate", colors / "model", colors / "photos", "--out", tmp_path / "labels.csv")

    def start() -> tuple[subprocess.Popen[str], str, str]:
        command = (sys.executable, "-m", "infopursuit", *words, "--by", "anna", "--port", 0)
        running.append(started(command, tmp_path, environment))
        log = ""
        for line in running[-1].stdout or ():
            log += line
            if found := re.search(r"(http://127\.0\.0\.1:\d+/)", line):
                return running[-1], found[1], log
        raise AssertionError(log)

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_an_answer_that_annotate_took_is_in_its_file(annotating: Callable, tmp_path: Path) -> None:
    taken = 0
    for more in (1, 3, 2):
        process, address, log = annotating()
        assert f" {taken} answered" in log
        for place in range(taken, taken + more):
            content = json.dumps({"place": place, "answer": "yes"}).encode()
            headers = {"Content-Type": "application/json"}
            with urlopen(Request(f"{address}api/annotations", content, headers), timeout=60):
                taken += 1
        process.kill()
        process.wait()
        lines = (tmp_path / "labels.csv").read_text(encoding="utf-8").splitlines()
        assert len(lines) == 1 + taken
