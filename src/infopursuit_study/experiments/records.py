"""Keep results with a page, so that each of its cells can be traced without a new run.

    python -m infopursuit_study.experiments.records keep docs/records/food10-vitb32.parquet food10
    python -m infopursuit_study.experiments.records give docs/records/food10-vitb32.parquet food10

`keep` takes the results of a data set from `artifacts/peers` into a record: metrics, times and
predictions of each peer and seed. Peers of the record that were not measured this time stay in it,
those too whose code is in an earlier commit.
`give` writes a record's results to `artifacts/peers`, from where `stages/compare.py` makes tables
and pictures. So peers that train for hours are measured once and compared with those of today.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from infopursuit.core.errors import InputError
from infopursuit.core.tables import TableSchema, read_table, write_table
from infopursuit.pipeline import run_paths
from infopursuit.pipeline.benchmark_settings import TITLES
from infopursuit_study.comparison.results import PeerResult, SeedResult, read_peer, write_peer
from infopursuit_study.evaluation.files import Predictions

COLUMNS = {
    "peer": pa.string(),
    "seed": pa.int64(),
    "absent": pa.string(),
    "metrics": pa.string(),
    "timings": pa.string(),
    "id": pa.list_(pa.string()),
    "label": pa.list_(pa.int32()),
    "predicted": pa.list_(pa.int16()),
}
RESULTS = TableSchema(
    "results of peers on one data set, a row for each peer and seed",
    tuple(pa.field(name, kind, nullable=False) for name, kind in COLUMNS.items()),
)
# Replaces a predicted label that is the true one: most are, which makes records small.
RIGHT = -2
JSON = ("metrics", "timings")
USAGE = "expected: keep RECORD DATASET, or give RECORD DATASET"


def keep(record: Path, dataset: str, folder: Path = run_paths.PEERS) -> list[str]:
    """Take the results of a data set into a Parquet file, new or not; return the peers taken."""
    measured = {path.stem for path in (folder / dataset).glob("*.json")}
    taken = [peer for peer in TITLES if peer in measured]
    if not taken:
        raise InputError(f"{folder}/{dataset}/PEER.json: no such file; the stage peers writes it")
    rows = [row for peer in taken for row in _rows(peer, read_peer(folder, dataset, peer))]
    if record.is_file():
        rows += [row for row in _held(record) if row["peer"] not in taken]
    places = {peer: place for place, peer in enumerate(TITLES)}
    rows.sort(key=lambda row: (places.get(row["peer"], len(places)), row["peer"], row["seed"]))
    _check_same_images(record, rows)
    columns = {name: [row[name] for row in rows] for name in RESULTS.names}
    for name in JSON:
        columns[name] = [json.dumps(value, sort_keys=True) for value in columns[name]]
    write_table(record, RESULTS, columns)
    return taken


def give(record: Path, dataset: str, folder: Path = run_paths.PEERS) -> list[str]:
    """Write the results of a record as the stage `peers` does; return the peers written.

    Names of peers become names of files: what has no name here is left where it is.
    """
    held: dict[str, list[dict[str, Any]]] = {}
    for row in _held(record):
        if row["peer"] in TITLES:
            held.setdefault(row["peer"], []).append(row)
    for peer, rows in held.items():
        seeds = {str(row["seed"]): _result(row) for row in rows if not row["absent"]}
        write_peer(folder, dataset, peer, PeerResult(rows[0]["absent"] or None, seeds))
    return list(held)


def _result(row: dict[str, Any]) -> SeedResult:
    labels = np.array(row["label"], np.int32)
    held_as = np.array(row["predicted"], np.int16).reshape(-1, len(labels)).T
    predicted = np.where(held_as == RIGHT, labels[:, None], held_as)
    return SeedResult(row["metrics"], row["timings"], Predictions(row["id"], labels, predicted))


def _held(record: Path) -> list[dict[str, Any]]:
    rows = read_table(record, RESULTS).to_pylist()
    return [row | {name: json.loads(row[name]) for name in JSON} for row in rows]


def _rows(peer: str, result: PeerResult) -> list[dict[str, Any]]:
    if result.absent:
        nothing = {"metrics": {}, "timings": {}, "id": [], "label": [], "predicted": []}
        return [{"peer": peer, "seed": -1, "absent": result.absent, **nothing}]
    rows = []
    for seed, (metrics, timings, predictions) in result.seeds.items():
        held_as = np.where(predictions.correct, RIGHT, predictions.predicted)
        row = {"peer": peer, "seed": int(seed), "absent": "", "metrics": metrics}
        row |= {"timings": timings, "id": predictions.ids, "label": predictions.labels.tolist()}
        rows.append(row | {"predicted": held_as.T.ravel().tolist()})
    return rows


def _check_same_images(record: Path, rows: Sequence[dict[str, Any]]) -> None:
    measured = [row for row in rows if not row["absent"]]
    for row in measured[1:]:
        first = measured[0]
        if (row["id"], row["label"]) != (first["id"], first["label"]):
            raise InputError(
                f"{record}: {row['peer']}, seed {row['seed']}, is of other test images than "
                f"{first['peer']}, seed {first['seed']} ({len(row['id'])} and {len(first['id'])}); "
                "expected one test split"
            )


def main(arguments: Sequence[str]) -> None:
    """Keep results in a record, or give them back."""
    if len(arguments) != 3 or arguments[0] not in ("keep", "give"):
        raise InputError(USAGE)
    does, record, dataset = arguments
    (keep if does == "keep" else give)(Path(record), dataset)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"records: {error}")
