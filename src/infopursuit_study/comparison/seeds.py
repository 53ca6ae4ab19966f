"""Measure all peers of a data set with all seeds, a processor core for each.

A seed that is done is kept in `.scratch/peers`, under a hash of inputs, settings and code: a stage
that was stopped, or that gets another peer or seed, measures none again.

One core at a time also keeps the bits: sums of several threads are rounded in another order. Each
seed has its own process, so that its peak of memory is its own.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

import joblib
import torch
from threadpoolctl import threadpool_limits

from infopursuit.core.errors import InputError
from infopursuit.core.files import write_text
from infopursuit.core.repeatable import compute_repeatably
from infopursuit_study.comparison.entries import ENTRIES, Task
from infopursuit_study.comparison.protocol import measure_seed
from infopursuit_study.comparison.results import PeerResult, SeedResult, write_peer
from infopursuit_study.evaluation.files import read_predictions, write_predictions

logger = logging.getLogger("infopursuit")

Job = TypeVar("Job")
# The processes are forks of one that has imported these and done nothing else: they start at once.
# The first optimiser would import PyTorch's compiler, for seconds. That process does not see the
# folder of the stages, so it cannot import what is there.
MODULES = ("black_boxes", "codes", "greedy_selection", "linear", "pursuits", "trees")
PRELOADED = [*(f"infopursuit_study.peers.{name}" for name in MODULES), "torch._dynamo"]


def measure_peers(
    folder: Path,
    dataset: str,
    task: Task,
    seeds: Mapping[str, Sequence[int]],
    share: float,
    kept: Path,
    processes: int | None = 0,
) -> int:
    """Measure peers and write their results; return the number of seeds measured or kept.

    `processes` seeds are measured at once, each in its own process; None for one a core, 0 for this
    process.
    """
    absent = {
        peer: f"needs {ENTRIES[peer].lacks}"
        for peer in seeds
        if ENTRIES[peer].make(task, task.texts, task.embeddings) is None
    }
    jobs = [(peer, seed) for peer in seeds if peer not in absent for seed in seeds[peer]]
    missing = [job for job in jobs if not _metrics_file(kept, *job).is_file()]
    # Those that take longest begin first: no core waits for the last.
    missing.sort(key=lambda job: not ENTRIES[job[0]].network)
    work = _Measuring(task, share, kept)
    done = side_by_side(work, missing, joblib.cpu_count() if processes is None else processes)
    for count, (peer, seed) in enumerate(done, start=1):
        result = _kept(kept, peer, seed)
        logger.info(
            "%d of %d: %s, seed %d: accuracy %.1f %%, fitted in %.1f s",
            count, len(missing), peer, seed,
            100 * result.metrics["accuracy"], result.timings["fit_seconds"],
        )  # fmt: skip
    for peer in seeds:
        results = {str(seed): _kept(kept, each, seed) for each, seed in jobs if each == peer}
        write_peer(folder, dataset, peer, PeerResult(absent.get(peer), results))
    return len(jobs)


@dataclass(frozen=True)
class _Measuring:
    """Measures a seed of a peer and keeps it at once, whatever other processes do."""

    task: Task
    share: float
    kept: Path

    def __call__(self, job: tuple[str, int]) -> None:
        peer, seed = job
        before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
        compute_repeatably()
        torch.set_num_threads(1)
        try:
            with threadpool_limits(1):
                result = measure_seed(ENTRIES[peer], self.task, seed, self.share)
        finally:
            torch.set_num_threads(before[0])
            torch.set_deterministic_debug_mode(before[1])
        assert result is not None
        path = _metrics_file(self.kept, peer, seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_predictions(path.with_suffix(".parquet"), *result.predictions)
        write_text(path, json.dumps({"metrics": result.metrics, "timings": result.timings}))


def _metrics_file(kept: Path, peer: str, seed: int) -> Path:
    """Return the file that is written last: if it exists, the seed is complete."""
    return kept / peer / f"{seed}.json"


def _kept(kept: Path, peer: str, seed: int) -> SeedResult:
    path = _metrics_file(kept, peer, seed)
    contents = json.loads(path.read_text(encoding="utf-8"))
    predictions = read_predictions(path.with_suffix(".parquet"))
    return SeedResult(contents["metrics"], contents["timings"], predictions)


def side_by_side(work: Callable[[Job], None], jobs: Sequence[Job], processes: int) -> Iterator[Job]:
    """Do all jobs, `processes` at a time, each in its own process; yield each when it is done."""
    if processes == 0:
        for job in jobs:
            work(job)
            yield job
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    pickled, waiting = pickle.dumps(work), list(reversed(jobs))
    running: dict[Any, tuple[Job, BaseProcess, Any]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                job = waiting.pop()
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=_do, args=(sender, pickled, job))
                process.start()
                sender.close()
                running[process.sentinel] = job, process, receiver
            for sentinel in wait(list(running)):
                job, process, receiver = running.pop(sentinel)
                process.join()
                _raise_failure(job, process.exitcode or 0, receiver)
                yield job
    finally:
        for _, process, _ in running.values():
            process.terminate()
            process.join()


def _do(sender: Any, pickled: bytes, job: Any) -> None:
    """Do a job in its process, which ends with its parent, even if that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    try:
        pickle.loads(pickled)(job)
    except InputError as error:
        sender.send(str(error))


def _raise_failure(job: Any, status: int, receiver: Any) -> None:
    with receiver:
        if receiver.poll():
            try:
                message = receiver.recv()
            except EOFError:  # the process ended without a message
                pass
            else:
                raise InputError(message)
    if status < 0:
        raise InputError(
            f"{job}: the process was killed by signal {-status}; if memory ran out, set "
            "compute.threads lower. Jobs that are done stay done"
        )
    if status:
        raise ChildProcessError(f"{job}: the process ended with exit status {status}")
