"""The files of an evaluation: metrics as JSON, predictions as Parquet."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int

from infopursuit.core.files import write_text
from infopursuit.core.tables import PREDICTIONS, read_table, write_table

# The class predicted of each test image when its questions stop: id, label, predicted.
AT_STOP = "at_stop.csv"
# Of the folder of a run: what is measured, the truth of its answers and questions, and, where it is
# known what is in the pictures, figures of that, and each query.
METRICS, MEANING, TRUTH = "metrics.json", "meaning.json", "truth.json"
TRUTH_OF_QUERIES = "truth.csv"


def write_json(path: str | Path, metrics: Mapping[str, Any]) -> None:
    """Write metrics as JSON with sorted keys."""
    write_text(path, json.dumps(metrics, indent=2, sort_keys=True) + "\n")


class Predictions(NamedTuple):
    """Ids, true classes (int32), and predicted classes (int16) after t = 0..T queries."""

    ids: list[str]
    labels: Int[np.ndarray, " n"]
    predicted: Int[np.ndarray, "n t"]

    @property
    def correct(self) -> Bool[np.ndarray, "n t"]:
        """Whether the predicted class is the label."""
        return self.predicted == self.labels[:, None]


def write_predictions(
    path: str | Path,
    ids: Sequence[str],
    labels: Int[np.ndarray, " n"],
    predicted: Int[np.ndarray, "n t"],
) -> None:
    """Write the predicted classes, (n, T + 1), of n images as one Parquet file."""
    n, budgets = predicted.shape
    offsets = pa.array(np.arange(n + 1) * budgets, pa.int32())
    values = pa.array(predicted.astype(np.int16).ravel())
    columns = {
        "id": list(ids),
        "label": labels.astype(np.int32),
        "predicted": pa.ListArray.from_arrays(offsets, values),
    }
    write_table(path, PREDICTIONS, columns)


def read_predictions(path: str | Path) -> Predictions:
    """Read the predictions of a run."""
    table = read_table(path, PREDICTIONS)
    column = table.column("predicted").combine_chunks()
    predicted = column.flatten().to_numpy(zero_copy_only=False).reshape(table.num_rows, -1)
    labels = table.column("label").to_numpy()
    return Predictions(table.column("id").to_pylist(), labels, predicted)
