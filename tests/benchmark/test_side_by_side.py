"""Jobs run in processes of their own, end together, and tell what went wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from infopursuit.benchmark.side_by_side import side_by_side
from infopursuit.core.errors import InputError


@dataclass(frozen=True)
class Noted:
    """Writes which process did a job; three jobs go wrong."""

    folder: Path

    def __call__(self, job: int) -> None:
        if job == 13:
            raise InputError("13 is no job")
        if job == 14:
            os.kill(os.getpid(), signal.SIGKILL)
        if job == 15:
            raise ZeroDivisionError
        (self.folder / str(job)).write_text(str(os.getpid()))


def test_each_job_has_a_process_of_its_own(tmp_path: Path) -> None:
    assert sorted(side_by_side(Noted(tmp_path), range(5), 2)) == [0, 1, 2, 3, 4]
    processes = {path.read_text() for path in tmp_path.iterdir()}
    assert len(processes) == 5
    assert str(os.getpid()) not in processes


def test_one_at_a_time_has_processes_of_their_own_too(tmp_path: Path) -> None:
    assert list(side_by_side(Noted(tmp_path), [3, 1], 1)) == [3, 1]
    assert len({path.read_text() for path in tmp_path.iterdir()} - {str(os.getpid())}) == 2


def test_no_processes_is_this_process(tmp_path: Path) -> None:
    assert list(side_by_side(Noted(tmp_path), [3, 1], 0)) == [3, 1]
    assert {path.read_text() for path in tmp_path.iterdir()} == {str(os.getpid())}


def test_bad_input_is_told_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^13 is no job$"):
        list(side_by_side(Noted(tmp_path), [0, 13, 1, 2, 3], 2))


def test_a_process_that_is_killed_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^14: the process was killed by signal 9; where memory"):
        list(side_by_side(Noted(tmp_path), [14, 0], 2))


def test_a_job_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(ChildProcessError, match=r"^15: the process ended with exit status 1$"):
        list(side_by_side(Noted(tmp_path), [15, 0], 2))


SLEEPING = """
import os, time
from infopursuit.benchmark.side_by_side import side_by_side

def sleep(job):
    print(os.getpid(), flush=True)
    time.sleep(100)

if __name__ == "__main__":
    list(side_by_side(sleep, [0, 1], 2))
"""


def lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_processes_end_with_their_parent(number: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "sleeping.py"
    script.write_text(SLEEPING)
    parent = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert parent.stdout is not None
    started = [int(parent.stdout.readline()) for _ in range(2)]
    parent.send_signal(number)
    parent.communicate(timeout=30)  # processes that live would hold the pipe
    until = time.monotonic() + 10
    while any(map(lives, started)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(lives, started))
