"""A cluster of two nodes, started once for all tests that ask for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from infopursuit.core.executors import RayCluster
from tests.clip.conftest import tiny_clip as tiny_clip

ROOT = Path(__file__).parents[3]


@dataclass
class TwoNodes:
    """The process that keeps the cluster."""

    address: str
    commands: IO[str]
    answers: IO[str]
    whole: bool = True

    def kill_one(self) -> None:
        """Kill the second node."""
        self._tell("kill")
        self.whole = False

    def cluster(self) -> RayCluster:
        """Two workers of one core each, so that they are on two nodes."""
        if not self.whole:
            self._tell("join")
            self.whole = True
        return RayCluster(self.address, 2, cpus_per_worker=1.0, gpus_per_worker=0.0)

    def _tell(self, command: str) -> None:
        self.commands.write(f"{command}\n")
        self.commands.flush()
        assert self.answers.readline() == "done\n"


@pytest.fixture(scope="session")
def two_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoNodes]:
    pytest.importorskip("ray", reason="Ray is not installed")
    environment = {
        **os.environ,
        "RAY_USAGE_STATS_ENABLED": "0",
        # Else workers give way to all other processes, and tests beside them make them wait.
        "RAY_worker_niceness": "0",
        # Workers import the tests' own work from the repository.
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
    }
    log = tmp_path_factory.mktemp("cluster") / "log"
    with (
        log.open("w") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", "tests.core.executors.two_nodes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            cwd=ROOT,
            env=environment,
        ) as process,
    ):
        assert process.stdin is not None and process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, log.read_text()
        yield TwoNodes(address, process.stdin, process.stdout)
        process.stdin.close()
        assert process.wait(60) == 0, log.read_text()
