"""Predictions of runs, written, read and compared."""

from pathlib import Path

import numpy as np

from infopursuit_study.evaluation.files import (
    read_predictions,
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
