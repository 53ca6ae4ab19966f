"""Jobs side by side, each in a process of its own.

The processes are forks of one that has imported the library and done nothing else: they start at
once, and hold nothing of the jobs before them, so that their peak of memory is their own.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from infopursuit.core.errors import InputError

Job = TypeVar("Job")
PRELOADED = ["__main__", "infopursuit.benchmark.preloaded"]


def side_by_side(work: Callable[[Job], None], jobs: Sequence[Job], processes: int) -> Iterator[Job]:
    """Do all jobs, `processes` at a time; each is given when it is done.

    Args:
        work: does one job; it is pickled once, with all that it holds.
        jobs: in the order in which they begin.
        processes: how many; with 0 jobs are done in this process, one after another.

    Raises:
        InputError: what a job raised, or its process was killed.
        ChildProcessError: a job failed in another way; it told why on standard error.
    """
    if processes == 0:
        for job in jobs:
            work(job)
            yield job
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    packed, waiting = pickle.dumps(work), list(reversed(jobs))
    running: dict[Any, tuple[Job, BaseProcess, Any]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                job = waiting.pop()
                told, tells = context.Pipe(duplex=False)
                process = context.Process(target=_begin, args=(tells, packed, job))
                process.start()
                tells.close()
                running[process.sentinel] = job, process, told
            for sentinel in wait(list(running)):
                job, process, told = running.pop(sentinel)
                _end(job, process, told)
                yield job
    finally:
        for _, process, _ in running.values():
            process.terminate()
            process.join()


def _begin(tells: Any, packed: bytes, job: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears of it and ends this process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        pickle.loads(packed)(job)
    except InputError as error:
        tells.send(str(error))


def _end_with_parent() -> None:
    """End this process when its parent has ended, if only because it was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _end(job: Any, process: BaseProcess, told: Any) -> None:
    """Raise what a job has to tell, if anything."""
    process.join()
    try:
        message = told.recv()
    except EOFError:
        message = None
    told.close()
    if message is not None:
        raise InputError(message)
    if process.exitcode and process.exitcode < 0:
        raise InputError(
            f"{job}: the process was killed by signal {-process.exitcode}; where memory ran out, "
            "set compute.threads lower. Jobs that are done stay done"
        )
    if process.exitcode:
        raise ChildProcessError(f"{job}: the process ended with exit status {process.exitcode}")
