"""Run stages without the seconds that imports take: a process that has imported all forks for each.

    python -m campaigns.warm        in the folder of a pipeline, which campaigns start

Reads lines of JSON, the arguments of a stage script and the file for its output, and answers each
with two lines: the number of the process that runs it; and how that one ended, with its seconds of
processor time. It computes nothing itself, so that no lock is held when a child is made. A child
runs the script from its first line to its exit functions, but does not take the interpreter down.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple, cast

from infopursuit.core import ctrl_c
from tests.repro.world import ROOT, World

# Scripts and modules that are imported once: the modules are those that stages import late.
SCRIPTS = ("embed_images", "train", "initialize", "evaluate", "report", "generate_queries")
LATE = ("matplotlib.pyplot", "open_clip", "scipy.sparse")


class Ended(NamedTuple):
    """How a process ended: its exit status, or minus the signal; its output; its processor time."""

    status: int
    output: str
    seconds: float


class Warm:
    """Runs the stages of a world by forks of one process, one at a time."""

    def __init__(self, world: World) -> None:
        self.log = world.folder / ".warm.log"
        environment = world.environment()
        folders = [environment["PYTHONPATH"], ROOT]
        environment["PYTHONPATH"] = os.pathsep.join(map(str, folders))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "campaigns.warm"],
            cwd=world.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._line()  # all is imported

    def _line(self) -> str:
        line = cast(IO[str], self.process.stdout).readline()
        assert line, "the process that forks has ended"
        return line

    def start(self, arguments: Sequence[str]) -> int:
        """Start a script; return the number of its process, which leads a process group."""
        self.log.write_bytes(b"")
        print(json.dumps([list(arguments), str(self.log)]), file=self.process.stdin, flush=True)
        return int(self._line())

    def wait(self) -> Ended:
        """Wait for the script that was started."""
        status, seconds = self._line().split()
        return Ended(int(status), self.log.read_text(encoding="utf-8"), float(seconds))

    def run(self, *arguments: str) -> Ended:
        """Run a script to its end."""
        self.start(arguments)
        return self.wait()

    def close(self) -> None:
        """End the process that forks."""
        self.process.communicate()


def serve() -> list[str]:
    """Fork for each line; return in the children alone, with their arguments."""
    print("ready", flush=True)
    for line in sys.stdin:
        arguments, log = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            signal.signal(signal.SIGINT, ctrl_c.end_at_once)  # as the first import of a script does
            with Path(log).open("wb") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            return arguments
        os.setpgid(child, child)
        print(child, flush=True)
        _, status, used = os.wait4(child, 0)
        print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, flush=True)
    sys.exit(0)


def run_script() -> int:
    """Run the script of `sys.argv` as Python would; return its exit status."""
    sys.path[0] = str(Path(sys.argv[0]).parent)
    status = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # as Python reports it
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status


if __name__ == "__main__":
    # Ctrl-C in a terminal is for the process that started this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for script in SCRIPTS:
        runpy.run_path(f"stages/{script}.py", run_name="imported")
    for module in LATE:
        __import__(module)
    gc.freeze()  # or the first collection of a child would copy all pages
    sys.argv = serve()
    os._exit(run_script())
