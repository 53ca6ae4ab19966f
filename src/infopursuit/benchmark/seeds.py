"""Measure all peers of a data set with all seeds, a processor core for each.

A seed that is done is kept in `.scratch/peers`, under a hash of inputs, settings and the library's
own code: a stage that was stopped, or that gets another peer or seed, measures none again.

One core at a time also keeps the bits: sums of several threads are rounded in another order.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import torch
from threadpoolctl import threadpool_limits

import infopursuit
from infopursuit.benchmark.entries import ENTRIES
from infopursuit.benchmark.files import PeerResult, SeedResult, write_peer
from infopursuit.benchmark.protocol import Measured, measure_seed
from infopursuit.benchmark.side_by_side import side_by_side
from infopursuit.benchmark.task import Task
from infopursuit.core.hashing import file_sha256, settings_sha256, table_sha256
from infopursuit.core.repeatable import compute_repeatably
from infopursuit.core.whole_files import write_text
from infopursuit.evaluation.predictions import read_predictions, write_predictions

logger = logging.getLogger("infopursuit")


def measure_peers(
    folder: Path,
    dataset: str,
    task: Task,
    seeds: Mapping[str, Sequence[int]],
    share: float,
    kept: Path,
    processes: int | None = 0,
) -> int:
    """Measure peers and write their results; how many seeds were measured or found.

    Args:
        folder: of the results.
        dataset: its name.
        task: the data.
        seeds: to measure, by peer, a key of ENTRIES.
        share: of the training images that are held out.
        kept: folder where finished seeds are kept, for these inputs and this code (`key_of`).
        processes: seeds that are measured at the same time, each in a process of its own; None
            for one a core, 0 for this process, one seed after another.
    """
    absent = {
        peer: f"needs {ENTRIES[peer].lacks}"
        for peer in seeds
        if ENTRIES[peer].make(task, task.texts, task.embeddings) is None
    }
    wanted = [(peer, seed) for peer in seeds if peer not in absent for seed in seeds[peer]]
    missing = [(peer, seed) for peer, seed in wanted if not _done(kept, peer, seed).is_file()]
    # Those that take longest begin first: no core waits for the last.
    missing.sort(key=lambda job: not ENTRIES[job[0]].network)
    work = _Measuring(task, share, kept)
    done = side_by_side(work, missing, joblib.cpu_count() if processes is None else processes)
    for count, (peer, seed) in enumerate(done, start=1):
        found = _kept(kept, peer, seed)
        logger.info(
            "%d of %d: %s, seed %d: accuracy %.1f %%, fitted in %.1f s",
            count, len(missing), peer, seed,
            100 * found.metrics["accuracy"], found.timings["fit_seconds"],
        )  # fmt: skip
    for peer in seeds:
        found = {str(seed): _kept(kept, each, seed) for each, seed in wanted if each == peer}
        write_peer(folder, dataset, peer, PeerResult(absent.get(peer), found))
    return len(wanted)


def key_of(settings: Mapping[str, Any], inputs: Iterable[str | Path]) -> str:
    """16 digits for inputs, settings, and the code that measures."""
    home = Path(infopursuit.__file__).parent
    code = {str(path.relative_to(home)): file_sha256(path) for path in sorted(home.rglob("*.py"))}
    files = {str(path): table_sha256(path) for path in map(Path, inputs)}
    return settings_sha256({"settings": dict(settings), "code": code, "files": files})[:16]


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
                found = measure_seed(ENTRIES[peer], self.task, seed, self.share)
        finally:
            torch.set_num_threads(before[0])
            torch.set_deterministic_debug_mode(before[1])
        assert found is not None
        _keep(self.kept, peer, seed, self.task, found)


def _done(kept: Path, peer: str, seed: int) -> Path:
    """The file that is written last: with it, a seed is whole."""
    return kept / peer / f"{seed}.json"


def _kept(kept: Path, peer: str, seed: int) -> SeedResult:
    told = _done(kept, peer, seed)
    found = json.loads(told.read_text(encoding="utf-8"))
    predictions = read_predictions(told.with_suffix(".parquet"))
    return SeedResult(found["metrics"], found["timings"], predictions)


def _keep(kept: Path, peer: str, seed: int, task: Task, found: Measured) -> None:
    told = _done(kept, peer, seed)
    told.parent.mkdir(parents=True, exist_ok=True)
    predictions = told.with_suffix(".parquet")
    write_predictions(predictions, task.test.ids, task.test.labels.numpy(), found.predicted)
    write_text(told, json.dumps({"metrics": found.metrics, "timings": found.timings}))
