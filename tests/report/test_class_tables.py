"""Accuracy per class and confusions, by hand on eight images."""

from dataclasses import replace

import numpy as np
import pytest

from infopursuit.evaluation.predictions import write_predictions
from infopursuit.report.class_tables import LARGEST_MATRIX, class_table, confusion_counts
from infopursuit.report.runs import Run, RunKey, read_run
from tests.report.made_up_runs import make_run

NAMES = ("cat", "dog", "owl", "never shown")
LABELS = np.array([0, 0, 0, 1, 1, 1, 1, 2], dtype=np.int32)
AT_LAST = np.array([0, 1, 1, 1, 0, 1, 2, 2], dtype=np.int16)


@pytest.fixture
def run(tmp_path) -> Run:
    key = RunKey("menagerie", "llm", "fixed", 0)
    make_run(tmp_path, key, images=20, k=8, budget=6)
    path = tmp_path / "predictions.parquet"
    predicted = np.stack([np.zeros(8, np.int16), AT_LAST], axis=1)
    write_predictions(path, [str(row) for row in range(8)], LABELS, predicted)
    return replace(read_run(tmp_path, key), predictions=path, class_names=NAMES)


def test_counts_are_of_true_classes_in_rows() -> None:
    counts = confusion_counts(LABELS, AT_LAST, 3)
    assert counts.tolist() == [[1, 2, 0], [1, 2, 1], [0, 0, 1]]


def test_the_hardest_class_comes_first_with_what_it_is_taken_for(run: Run) -> None:
    found = class_table(run)
    assert found.budget == 1
    assert [(row.name, row.images, row.accuracy, row.taken_for) for row in found.rows] == [
        ("cat", 3, "33.3", "dog (2)"),
        ("dog", 4, "50.0", "cat (1), owl (1)"),
        ("owl", 1, "100.0", ""),
    ], "a class without test images has no row"


def test_pairs_are_counted_both_ways_the_worse_way_first(run: Run) -> None:
    assert [tuple(pair) for pair in class_table(run).pairs] == [
        ("cat", "dog", "2 of 3", "1 of 4"),
        ("dog", "owl", "1 of 4", ""),
    ]


def test_the_matrix_holds_all_images_and_is_left_out_for_many_classes(run: Run) -> None:
    matrix = class_table(run).matrix
    assert [[cell.images for cell in row] for row in matrix] == [
        [1, 2, 0, 0], [1, 2, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0],
    ]  # fmt: skip
    assert matrix[0][1].share == pytest.approx(2 / 3)
    assert [cell.right for cell in matrix[1]] == [False, True, False, False]
    many = tuple(map(str, range(LARGEST_MATRIX + 1)))
    assert class_table(replace(run, class_names=many)).matrix == []
