"""Predictions of runs, written, read and compared."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.tables import PREDICTIONS, write_table
from infopursuit.evaluation.files import (
    Predictions,
    read_predictions,
    require_same_images,
    write_predictions,
)

IDS = ["a", "b", "c"]
LABELS = np.array([0, 1, 2])
PREDICTED = np.array([[0, 0], [0, 1], [0, 1]])


def test_written_predictions_read_back(tmp_path: Path) -> None:
    write_predictions(tmp_path / "p.parquet", IDS, LABELS, PREDICTED)
    found = read_predictions(tmp_path / "p.parquet")
    assert found.ids == IDS
    np.testing.assert_array_equal(found.labels, LABELS)
    np.testing.assert_array_equal(found.predicted, PREDICTED)
    assert found.correct.tolist() == [[True, True], [False, True], [False, False]]


@pytest.mark.parametrize(
    ("ids", "labels", "predicted", "message"),
    [
        (["a", "b", "x"], LABELS, PREDICTED, "different images or labels"),
        (IDS, np.array([0, 1, 1]), PREDICTED, "different images or labels"),
        (IDS, LABELS, PREDICTED[:, :1], r"two.parquet of 0"),
    ],
)
def test_runs_that_cannot_be_paired_are_refused(
    ids: list[str], labels: np.ndarray, predicted: np.ndarray, message: str
) -> None:
    one = Predictions(IDS, LABELS, PREDICTED)
    require_same_images("one.parquet", one, "two.parquet", one)
    with pytest.raises(InputError, match=f"one.parquet.*{message}"):
        require_same_images("one.parquet", one, "two.parquet", Predictions(ids, labels, predicted))


def test_rows_of_unequal_length_and_empty_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    ragged = pa.array([[0, 1], [0]], pa.list_(pa.int16()))
    write_table(path, PREDICTIONS, {"id": ["a", "b"], "label": [0, 1], "predicted": ragged})
    with pytest.raises(InputError, match="row 1 has 1 predictions and row 0 has 2"):
        read_predictions(path)
    write_table(path, PREDICTIONS, {"id": [], "label": [], "predicted": []})
    with pytest.raises(InputError, match="no rows"):
        read_predictions(path)
