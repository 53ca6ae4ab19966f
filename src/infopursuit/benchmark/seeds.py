"""The results of one peer on one task over seeds: measured, kept while others run, written.

artifacts/peers/DATASET-PEER.json             metrics of each seed, or why the peer is absent
artifacts/peers/DATASET-PEER.timings.json     seconds and memory of each seed
artifacts/peers/DATASET-PEER/SEED.parquet     predictions of the test images

A seed that is done is kept in `.scratch/peers`, under a hash of inputs, settings and the library's
own code: a stage that was stopped, or that gets another seed, measures no seed again.

Seeds are measured side by side, a processor core for each; one of the processes is this one. One
core at a time also keeps the bits: sums of several threads are rounded in another order.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cache, partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import torch
from joblib.externals.loky import ProcessPoolExecutor
from threadpoolctl import threadpool_limits

import infopursuit
from infopursuit.benchmark.entries import ENTRIES
from infopursuit.benchmark.protocol import Measured, measure_seed
from infopursuit.benchmark.task import Task
from infopursuit.core.hashing import file_sha256, settings_sha256, table_sha256
from infopursuit.core.repeatable import compute_repeatably
from infopursuit.core.whole_files import write_text
from infopursuit.evaluation.files import write_json
from infopursuit.evaluation.predictions import read_predictions, write_predictions

logger = logging.getLogger("infopursuit")

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
# Seconds that a worker takes to start and to import the library, about.
START = 3.0


def measure_seeds(
    folder: Path,
    name: str,
    peer: str,
    task: Task,
    seeds: Sequence[int],
    share: float,
    key: Path,
    cores: int | None = 1,
) -> int:
    """Measure a peer with each seed and write its results; how many seeds were measured or found.

    Args:
        folder: of the results.
        name: of the files in it.
        peer: a key of ENTRIES.
        task: the data.
        seeds: to measure.
        share: of the training images that are held out.
        key: folder where finished seeds are kept.
        cores: seeds that are measured at the same time: one here, each other in a process with a
            copy of the task. None for one a core.
    """
    entry = ENTRIES[peer]
    absent = None
    if entry.make(task, task.texts, task.embeddings) is None:
        absent, seeds = f"needs {entry.lacks}", ()
    kept = {seed: found for seed in seeds if (found := _kept(key, seed)) is not None}
    missing = [seed for seed in seeds if seed not in kept]
    kept |= dict(_measured(peer, task, missing, share, key, cores))
    (folder / name).mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        found = kept[seed]
        logger.info(
            "%s, seed %d: accuracy %.1f %%, fitted in %.1f s",
            name, seed, 100 * found.metrics["accuracy"], found.timings["fit_seconds"],
        )  # fmt: skip
        path = folder / name / f"{seed}.parquet"
        write_predictions(path, task.test.ids, task.test.labels.numpy(), found.predicted)
    metrics = {str(seed): kept[seed].metrics for seed in seeds}
    write_json(folder / f"{name}.json", {"peer": peer, "absent": absent, "seeds": metrics})
    timings = {str(seed): kept[seed].timings for seed in seeds}
    write_json(folder / f"{name}.timings.json", timings)
    return len(seeds)


def key_of(settings: Mapping[str, Any], inputs: Sequence[str | Path]) -> str:
    """16 digits for inputs, settings, and the code that measures."""
    home = Path(infopursuit.__file__).parent
    code = {str(path.relative_to(home)): file_sha256(path) for path in sorted(home.rglob("*.py"))}
    files = {str(path): table_sha256(path) for path in map(Path, inputs)}
    return settings_sha256({"settings": dict(settings), "code": code, "files": files})[:16]


def _measured(
    peer: str, task: Task, seeds: Sequence[int], share: float, key: Path, cores: int | None
) -> Iterator[tuple[int, Measured]]:
    """Each seed with what it found; this process measures too."""
    job = partial(_on_one_core, peer, task, share=share, key=key, parent=os.getpid())
    helpers = min(cores or joblib.cpu_count(), len(seeds)) - 1
    if helpers < 1:
        yield from map(job, seeds)
        return
    # Workers take seeds from the front, this process from the back. It calls them when its first
    # seed has taken longer than they take to start: quick seeds are all measured here.
    *others, last = seeds
    given: dict[int, Future[tuple[int, Measured]]] = {}
    pool = ProcessPoolExecutor(helpers, env=ONE_THREAD)
    call = threading.Timer(
        START, lambda: given.update({seed: pool.submit(job, seed) for seed in others})
    )
    call.start()
    try:
        yield job(last)
        call.cancel()
        call.join()
        if not given:
            yield from map(job, others)
        while given:
            for seed in [seed for seed, future in given.items() if future.done()]:
                yield given.pop(seed).result()
            mine = next((seed for seed in reversed(given) if given[seed].cancel()), None)
            if mine is not None:
                del given[mine]
                yield job(mine)
            elif given:
                wait(given.values(), return_when=FIRST_COMPLETED)
    finally:
        call.cancel()
        pool.shutdown(kill_workers=True)


def _on_one_core(
    peer: str, task: Task, seed: int, *, share: float, key: Path, parent: int
) -> tuple[int, Measured]:
    """Measure a seed and keep it at once, whatever the other processes do."""
    if os.getpid() != parent:
        end_with(parent)
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    compute_repeatably()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            found = measure_seed(ENTRIES[peer], task, seed, share)
    finally:
        torch.set_num_threads(before[0])
        torch.set_deterministic_debug_mode(before[1])
    assert found is not None
    _keep(key, seed, task, found)
    return seed, found


@cache
def end_with(parent: int) -> None:
    """End this process when its parent has ended; joblib's workers outlive one that is killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _kept(key: Path, seed: int) -> Measured | None:
    told, predicted = key / f"{seed}.json", key / f"{seed}.parquet"
    if not told.is_file():
        return None
    found = json.loads(told.read_text(encoding="utf-8"))
    labels = read_predictions(predicted).predicted
    return Measured(found["metrics"], np.asarray(labels), found["timings"])


def _keep(key: Path, seed: int, task: Task, found: Measured) -> None:
    key.mkdir(parents=True, exist_ok=True)
    predictions = key / f"{seed}.parquet"
    write_predictions(predictions, task.test.ids, task.test.labels.numpy(), found.predicted)
    text = json.dumps({"metrics": found.metrics, "timings": found.timings})
    write_text(key / f"{seed}.json", text)  # last: a seed with this file is whole
