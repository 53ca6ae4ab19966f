"""The results of a peer on one data set, as the stage `peers` writes them and others read them.

artifacts/peers/DATASET/PEER.json          metrics of each seed, or why the peer is absent
artifacts/peers/DATASET/PEER/SEED.parquet  predictions of the test images
artifacts/peers/DATASET.timings/PEER.json  seconds and memory of each seed
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from infopursuit.core.errors import InputError
from infopursuit.evaluation.files import write_json
from infopursuit.evaluation.predictions import Predictions, read_predictions, write_predictions


class SeedResult(NamedTuple):
    """What one seed found.

    Attributes:
        metrics: shares in [0, 1], counts, and the settings that were chosen.
        timings: seconds and milliseconds of processor time, and MiB.
        predictions: labels of the test images at each of BUDGETS, then with all texts; -1 where
            the peer has no such number of texts.
    """

    metrics: dict[str, Any]
    timings: dict[str, float]
    predictions: Predictions


class PeerResult(NamedTuple):
    """What all seeds of a peer found.

    Attributes:
        absent: why there are none; None where there are.
        seeds: by seed, a number as text.
    """

    absent: str | None
    seeds: dict[str, SeedResult]


def measured_peers(folder: Path, dataset: str) -> list[str]:
    """The peers of a data set that a folder has results of, sorted."""
    return sorted(path.stem for path in (folder / dataset).glob("*.json"))


def write_peer(folder: Path, dataset: str, peer: str, result: PeerResult) -> None:
    """Write the results of a peer; those of the same name are replaced."""
    for seed, found in result.seeds.items():
        write_predictions(folder / dataset / peer / f"{seed}.parquet", *found.predictions)
    timings = {seed: found.timings for seed, found in result.seeds.items()}
    write_json(folder / f"{dataset}.timings" / f"{peer}.json", timings)
    metrics = {seed: found.metrics for seed, found in result.seeds.items()}
    told = {"peer": peer, "absent": result.absent, "seeds": metrics}
    write_json(folder / dataset / f"{peer}.json", told)


def read_peer(folder: Path, dataset: str, peer: str) -> PeerResult:
    """Read the results of a peer.

    Raises:
        InputError: a file is missing.
    """
    told = _read(folder / dataset / f"{peer}.json")
    timings = _read(folder / f"{dataset}.timings" / f"{peer}.json")
    seeds = {
        seed: SeedResult(
            metrics, timings[seed], read_predictions(folder / dataset / peer / f"{seed}.parquet")
        )
        for seed, metrics in told["seeds"].items()
    }
    return PeerResult(told["absent"], seeds)


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; the stage peers writes it") from error
