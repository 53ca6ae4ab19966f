from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from infopursuit.errors import InputError
from infopursuit.evaluation.bootstrap import auc_difference
from infopursuit.evaluation.predictions import (
    compare_runs,
    read_predictions,
    write_predictions,
)
from infopursuit.tables import PREDICTIONS, write_table

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


def test_comparison_reads_both_runs(tmp_path: Path) -> None:
    better = np.array([[0, 0], [0, 1], [0, 2]])
    write_predictions(tmp_path / "one.parquet", IDS, LABELS, better)
    write_predictions(tmp_path / "two.parquet", IDS, LABELS, PREDICTED)
    found = compare_runs(tmp_path / "one.parquet", tmp_path / "two.parquet", 200)
    assert found.value == pytest.approx(1 / 3)
    truth = LABELS[:, None]
    assert found == auc_difference(better == truth, truth == PREDICTED, 200)


@pytest.mark.parametrize(
    ("ids", "labels", "predicted", "message"),
    [
        (["a", "b", "x"], LABELS, PREDICTED, "different images or labels"),
        (IDS, np.array([0, 1, 1]), PREDICTED, "different images or labels"),
        (IDS, LABELS, PREDICTED[:, :1], "a budget of 1 queries"),
    ],
)
def test_runs_that_cannot_be_paired_are_refused(
    tmp_path: Path, ids: list[str], labels: np.ndarray, predicted: np.ndarray, message: str
) -> None:
    write_predictions(tmp_path / "one.parquet", IDS, LABELS, PREDICTED)
    write_predictions(tmp_path / "two.parquet", ids, labels, predicted)
    with pytest.raises(InputError, match=message):
        compare_runs(tmp_path / "one.parquet", tmp_path / "two.parquet", 200)


def test_rows_of_unequal_length_and_empty_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    ragged = pa.array([[0, 1], [0]], pa.list_(pa.int16()))
    write_table(path, PREDICTIONS, {"id": ["a", "b"], "label": [0, 1], "predicted": ragged})
    with pytest.raises(InputError, match="row 1 has 1 predictions and row 0 has 2"):
        read_predictions(path)
    write_table(path, PREDICTIONS, {"id": [], "label": [], "predicted": []})
    with pytest.raises(InputError, match="no rows"):
        read_predictions(path)
