"""Embeddings made elsewhere: lists in Parquet, arrays of numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infopursuit.core.embeddings import unit_rows
from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDED_IMAGES, embedding_matrix, read_table
from infopursuit.datasets.embedded_images import copy_embedded_images
from infopursuit.datasets.open_images import has_embeddings
from tests.datasets.images import CLASSES

MATRIX = np.random.default_rng(0).normal(size=(6, 4))


def copied(path: Path, classes: list[str] = CLASSES, width: int = 4) -> pa.Table:
    assert has_embeddings(path)
    out = path.parent / "out.parquet"
    rejected = path.parent / "rejected.parquet"
    rows = copy_embedded_images(path, classes, out, rejected, width, None)
    assert rows == (6, 6)
    return read_table(out, EMBEDDED_IMAGES)


def check(table: pa.Table) -> None:
    assert table.column("label").to_pylist() == [0, 1, 2] * 2
    assert table.column("class_name").to_pylist() == CLASSES * 2
    np.testing.assert_allclose(embedding_matrix(table), unit_rows(MATRIX, ""), atol=1e-3)


def lists(path: Path, column: pa.Array) -> Path:
    columns = {
        "id": [f"image-{row}" for row in range(6)],
        "split": ["train"] * 4 + ["test"] * 2,
        "label": [0, 1, 2] * 2,
        "class_name": CLASSES * 2,
        "embedding": column,
    }
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("of", [pa.list_, pa.large_list, lambda kind: pa.list_(kind, 4)])
@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_parquet_files_with_lists_of_any_kind_are_read(tmp_path: Path, of: Any, kind: Any) -> None:
    rows = [list(row) for row in MATRIX.astype(kind.to_pandas_dtype())]
    check(copied(lists(tmp_path / "x.parquet", pa.array(rows, of(kind)))))


def test_what_pandas_would_write_is_read(tmp_path: Path) -> None:
    check(copied(lists(tmp_path / "x.parquet", pa.array(list(MATRIX)))))


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        ([[1.0, 2.0]] * 5 + [[1.0]], None, "row 5 has 1 numbers, that of row 0 has 2"),
        ([[1.0, 2.0]] * 5 + [None], None, "row 5 is empty"),
        ([[1.0, 2.0]] * 5 + [[1.0, None]], None, "row 5 is NaN"),
        ([[1.0, np.inf]] + [[1.0, 2.0]] * 5, None, "row 0 is NaN, infinite"),
        ([[1, 2]] * 6, None, "is list<.*int64> *; expected a list of floats"),
        (["x"] * 6, None, "is string; expected a list of floats"),
        ([[1.0, 2.0]] * 6, None, "width 2, but `clip` has width 4"),
        ([[]] * 6, pa.list_(pa.float32()), "row 0 has no numbers"),
    ],
)
def test_lists_that_are_no_embeddings_are_told(
    tmp_path: Path, rows: list[Any], kind: Any, message: str
) -> None:
    with pytest.raises(InputError, match=r"x\.parquet: .*" + message):
        copied(lists(tmp_path / "x.parquet", pa.array(rows, kind)))


ARRAYS: dict[str, Any] = {
    "train_embeddings": MATRIX[:4],
    "train_labels": np.array([0, 1, 2, 0]),
    "test_embeddings": MATRIX[4:].astype(np.float32),
    "test_labels": np.array(["Giant_Panda", "zebra"]),
    "class_names": np.array(["cat", "giant panda", "zebra"]),
}


def numpy_files(place: Path, arrays: dict[str, Any]) -> Path:
    if place.suffix == ".npz":
        np.savez(place, **arrays)
    else:
        place.mkdir()
        for name, array in arrays.items():
            np.save(place / name, array)
    return place


@pytest.mark.parametrize("name", ["set.npz", "set"])
def test_arrays_of_numpy_are_read(tmp_path: Path, name: str) -> None:
    table = copied(numpy_files(tmp_path / name, ARRAYS))
    check(table)
    assert table.column("split").to_pylist() == ["train"] * 4 + ["test"] * 2
    assert table.column("id").to_pylist()[3:5] == ["train/0000003", "test/0000000"]


def test_arrays_can_name_the_images(tmp_path: Path) -> None:
    ids = {"train_ids": np.arange(4), "test_ids": np.array(["x", "y"])}
    table = copied(numpy_files(tmp_path / "set.npz", ARRAYS | ids))
    assert table.column("id").to_pylist() == ["0", "1", "2", "3", "x", "y"]


@pytest.mark.parametrize("name", ["set.npz", "set"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test_labels": None}, "no array 'test_labels'; expected .* found class_names, test_emb"),
        ({"train_labels": np.arange(3)}, "train_labels has 3 values for the 4 rows"),
        ({"train_ids": np.arange(5)}, "train_ids has 5 values for the 4 rows"),
        ({"train_labels": np.array([0, 1, 2, 3])}, "label 3 of row 3 has no class name"),
        ({"train_labels": np.ones(4)}, r"train_labels is float64 of shape \(4,\); expected int"),
        ({"test_labels": np.array(["cow", "cat"])}, "test_labels: row 0 has the class 'cow'"),
        ({"test_embeddings": MATRIX[4:, :3]}, "embeddings of width 3"),
        ({"test_embeddings": MATRIX[4]}, r"float64 of shape \(4,\); expected floats \(n, d\)"),
        ({"train_embeddings": np.ones((4, 4), int)}, "train_embeddings is int64"),
        ({"test_embeddings": MATRIX[4:] * np.nan}, "the embedding of row 4 is NaN"),
        ({"train_labels": np.array([0, None, 1, 2])}, "not readable as plain arrays of numpy"),
        ({"class_names": np.array(["cat", "dog", "zebra"])}, "label 1 is 'dog' in the data set"),
    ],
)
def test_mistakes_in_arrays_are_told(
    tmp_path: Path, name: str, change: dict[str, Any], message: str
) -> None:
    arrays = {key: array for key, array in (ARRAYS | change).items() if array is not None}
    with pytest.raises(InputError, match=rf"{name}(/\w+\.npy)?: .*{message}"):
        copied(numpy_files(tmp_path / name, arrays))


def test_files_that_hold_no_arrays_are_told(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"x\.npz: not readable as plain arrays"):
        copied(tmp_path / "x.npz")
    with (tmp_path / "x.npz").open("wb") as file:
        np.save(file, MATRIX)
    with pytest.raises(InputError, match=r"x\.npz: not readable as plain arrays"):
        copied(tmp_path / "x.npz")
    with pytest.raises(InputError, match="no such file; expected arrays train_embeddings"):
        copied(tmp_path / "absent.npz")
