"""The results of the peers on one data set, as the stage `peers` writes them and others read them.

artifacts/peers/DATASET/PEER.json          metrics of each seed, or why the peer is absent
artifacts/peers/DATASET/PEER/SEED.parquet  predictions of the test images
artifacts/peers/DATASET.timings/PEER.json  seconds and memory of each seed
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool

from infopursuit.core.errors import InputError
from infopursuit_study.evaluation.files import (
    Predictions,
    read_predictions,
    write_json,
    write_predictions,
)
from infopursuit_study.peers.peer import BUDGETS


class SeedResult(NamedTuple):
    """The figures of one seed.

    `metrics` are shares in [0, 1], counts, and the settings that were chosen; `timings` processor
    time and MiB, which differ between runs. `predictions` are labels of the test images at each of
    BUDGETS, then with all texts; -1 if the peer has no such number of texts.
    """

    metrics: dict[str, Any]
    timings: dict[str, float]
    predictions: Predictions


class PeerResult(NamedTuple):
    """The figures of a peer by seed, a number as text; or why the peer is `absent`."""

    absent: str | None
    seeds: dict[str, SeedResult]


def write_peer(folder: Path, dataset: str, peer: str, result: PeerResult) -> None:
    """Write the results of a peer; those of the same name are replaced."""
    for seed, each in result.seeds.items():
        write_predictions(folder / dataset / peer / f"{seed}.parquet", *each.predictions)
    timings = {seed: each.timings for seed, each in result.seeds.items()}
    write_json(folder / f"{dataset}.timings" / f"{peer}.json", timings)
    metrics = {seed: each.metrics for seed, each in result.seeds.items()}
    contents = {"peer": peer, "absent": result.absent, "seeds": metrics}
    write_json(folder / dataset / f"{peer}.json", contents)


def read_peer(folder: Path, dataset: str, peer: str) -> PeerResult:
    """Read the results of a peer."""
    contents = _read(folder / dataset / f"{peer}.json")
    timings = _read(folder / f"{dataset}.timings" / f"{peer}.json")
    seeds = {
        seed: SeedResult(
            metrics, timings[seed], read_predictions(folder / dataset / peer / f"{seed}.parquet")
        )
        for seed, metrics in contents["seeds"].items()
    }
    return PeerResult(contents["absent"], seeds)


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; the stage peers writes it") from error


@dataclass(frozen=True)
class Result:
    """One peer, a key of TITLES, on one data set, as tables and pictures need it.

    Attributes:
        absent: why there are no figures; None if there are.
        seeds: that were measured, with the metrics and timings of each.
        correct: whether test images are right, at each of BUDGETS and with all texts; only the last
            counts if the peer is not `bounded`, that is, if it has no number of texts.
    """

    peer: str
    absent: str | None
    seeds: list[str]
    metrics: Sequence[Mapping[str, Any]]
    timings: Sequence[Mapping[str, float]]
    correct: Bool[np.ndarray, "s n b"]
    bounded: bool

    def mean(self, name: str) -> float | None:
        """Return the mean of a metric over seeds; None if a seed has none."""
        values = [each.get(name) for each in self.metrics]
        return None if not values or None in values else float(np.mean(values))  # pyright: ignore

    def with_seeds(self, seeds: Sequence[str]) -> Bool[np.ndarray, "s n b"]:
        """Return `correct` of some seeds."""
        return self.correct[[self.seeds.index(seed) for seed in seeds]]

    def median_timing(self, name: str) -> float:
        """Return the median of a timing over seeds."""
        return float(np.median([each[name] for each in self.timings]))


def read_result(folder: Path, dataset: str, peer: str) -> Result:
    """Read what the stage `peers` wrote."""
    absent, seeds = read_peer(folder, dataset, peer)
    metrics = [each.metrics for each in seeds.values()]
    correct = [each.predictions.correct for each in seeds.values()]
    return Result(
        peer,
        absent,
        list(seeds),
        metrics,
        [each.timings for each in seeds.values()],
        np.stack(correct) if correct else np.zeros((0, 0, len(BUDGETS) + 1), dtype=bool),
        bool(metrics) and "accuracy_at_5" in metrics[0],
    )


def curve_rows(results: Iterable[Result]) -> list[tuple[Any, ...]]:
    """Return rows `peer, t, accuracy` for each number of texts; t is empty for all texts."""
    rows: list[tuple[Any, ...]] = []
    for each in results:
        for place, t in enumerate((*BUDGETS, "")):
            if not each.absent and (each.bounded or t == ""):
                rows.append((each.peer, t, float(each.correct[:, :, place].mean())))
    return rows
