"""The results of one peer on one task over seeds: measured, kept while others run, written.

artifacts/peers/DATASET-PEER.json             metrics of each seed, or why the peer is absent
artifacts/peers/DATASET-PEER.timings.json     seconds and memory of each seed
artifacts/peers/DATASET-PEER/SEED.parquet     predictions of the test images

A seed that is done is kept in `.scratch/peers`, under a hash of inputs, settings and the library's
own code: a stage that was stopped, or that gets another seed, measures no seed again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import infopursuit
from infopursuit.benchmark.entries import ENTRIES
from infopursuit.benchmark.protocol import Measured, measure_seed
from infopursuit.benchmark.task import Task
from infopursuit.core.hashing import file_sha256, settings_sha256, table_sha256
from infopursuit.core.whole_files import write_text
from infopursuit.evaluation.files import write_json
from infopursuit.evaluation.predictions import read_predictions, write_predictions

logger = logging.getLogger("infopursuit")


def measure_seeds(
    folder: Path, name: str, peer: str, task: Task, seeds: Sequence[int], share: float, key: Path
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
    """
    results: dict[str, Mapping[str, Any]] = {}
    timings: dict[str, Mapping[str, float]] = {}
    (folder / name).mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        found = _kept(key, seed, task)
        if found is None:
            found = measure_seed(ENTRIES[peer], task, seed, share)
            if found is None:
                break
            _keep(key, seed, task, found)
        results[str(seed)], timings[str(seed)] = found.metrics, found.timings
        logger.info(
            "%s, seed %d: accuracy %.1f %%, fitted in %.1f s",
            name, seed, 100 * found.metrics["accuracy"], found.timings["fit_seconds"],
        )  # fmt: skip
        path = folder / name / f"{seed}.parquet"
        write_predictions(path, task.test.ids, task.test.labels.numpy(), found.predicted)
    absent = None if results else f"needs {ENTRIES[peer].lacks}"
    write_json(folder / f"{name}.json", {"peer": peer, "absent": absent, "seeds": results})
    write_json(folder / f"{name}.timings.json", timings)
    return len(results)


def key_of(settings: Mapping[str, Any], inputs: Sequence[str | Path]) -> str:
    """16 digits for inputs, settings, and the code that measures."""
    home = Path(infopursuit.__file__).parent
    code = {str(path.relative_to(home)): file_sha256(path) for path in sorted(home.rglob("*.py"))}
    files = {str(path): table_sha256(path) for path in map(Path, inputs)}
    return settings_sha256({"settings": dict(settings), "code": code, "files": files})[:16]


def _kept(key: Path, seed: int, task: Task) -> Measured | None:
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
