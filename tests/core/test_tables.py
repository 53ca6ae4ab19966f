"""Tables: checked against their schemas, as one file or as a folder of shards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.files import file_sha256, table_sha256
from infopursuit.core.tables import (
    EMBEDDED_TEXTS,
    IMAGES,
    check_same_space,
    clip_of,
    embedding_array,
    embedding_matrix,
    read_range,
    read_table,
    row_ranges,
    shard_name,
    table_blocks,
    table_files,
    table_shape,
    table_writer,
    write_table,
)

ROWS = {"text": ["wings", "wheels"], "source": ["a", "b"]}


def _texts(path: Path, matrix: np.ndarray, clip: str | None = None) -> Path:
    write_table(path, EMBEDDED_TEXTS, {**ROWS, "embedding": matrix}, clip)
    return path


def test_a_part_of_a_file_is_checked_as_what_it_becomes_with_the_file_s_row_numbers() -> None:
    def part(*rows: list[float] | None) -> pa.Table:
        return pa.table({"embedding": pa.array(rows, pa.list_(pa.float32(), 2))})

    matrix = embedding_matrix(part([1.0, 2.0]), dtype=np.float16)
    assert matrix.dtype == np.float16
    assert embedding_matrix(part([1e6, 1.0])).tolist() == [[1e6, 1.0]]
    with pytest.raises(InputError, match="row 71 is NaN, infinite or all zeros"):
        embedding_matrix(part([1.0, 0.0], [1e6, 1.0]), "file", np.float16, first_row=70)
    with pytest.raises(InputError, match="row 71 is empty"):
        embedding_matrix(part([1.0, 0.0], None), "file", first_row=70)


def test_files_of_two_spaces_are_not_mixed(tmp_path: Path) -> None:
    two = _texts(tmp_path / "two.parquet", np.eye(2), clip="A")
    three = _texts(tmp_path / "three.parquet", np.eye(2, 3), clip="A")
    other = _texts(tmp_path / "other.parquet", np.eye(2), clip="B")
    silent = _texts(tmp_path / "silent.parquet", np.eye(2))
    with pytest.raises(InputError, match=r"width 2 and .* of width 3"):
        check_same_space(two, three)
    with pytest.raises(InputError, match=r"embedded by A and .* by B"):
        check_same_space(two, other)
    check_same_space(two, silent)


MATRIX = np.random.default_rng(0).normal(size=(23, 3)).astype(np.float16)
TEXTS = [f"text {row}" for row in range(23)]
COLUMNS = ["text", "source", "embedding"]


def write(path: Path, shard_rows: int | None, rows: int = 23, chunk: int = 5) -> Path:
    """The texts in tables of `chunk` rows."""
    shards = None if shard_rows is None else (rows, shard_rows)
    with table_writer(path, EMBEDDED_TEXTS, 3, "ViT", shards) as writer:
        for start in range(0, rows, chunk):
            part = slice(start, min(start + chunk, rows))
            columns = {"text": TEXTS[part], "source": ["made up"] * len(TEXTS[part])}
            columns["embedding"] = embedding_array(MATRIX[part])
            writer.write_table(pa.table(columns, schema=writer.schema))
    return path


@pytest.mark.parametrize("shard_rows", [1, 4, 5, 10, 22, 23, 24])
def test_shards_have_the_rows_of_the_file_in_its_order(tmp_path: Path, shard_rows: int) -> None:
    path = write(tmp_path / "texts.parquet", shard_rows)
    files = table_files(path)
    sizes = [pq.read_metadata(file).num_rows for file in files]
    assert sizes[:-1] == [shard_rows] * (len(files) - 1)
    assert 0 < sizes[-1] <= shard_rows
    assert [file.name for file in files] == [
        shard_name(number, len(files)) for number in range(len(files))
    ]
    table = read_table(path, EMBEDDED_TEXTS)
    assert table.equals(read_table(write(tmp_path / "one.parquet", None), EMBEDDED_TEXTS))
    assert table_shape(path, EMBEDDED_TEXTS) == (23, 3)
    assert clip_of(path) == "ViT"
    check_same_space(path, tmp_path / "one.parquet")
    assert [file.name for file in tmp_path.iterdir() if "partial" in file.name] == []


@pytest.mark.parametrize("shard_rows", [None, 7])
@pytest.mark.parametrize("rows", [1, 4, 6, 100])
def test_blocks_and_ranges_cover_every_row_once_in_order(
    tmp_path: Path, shard_rows: int | None, rows: int
) -> None:
    path = write(tmp_path / "texts.parquet", shard_rows)
    blocks = list(table_blocks(path, EMBEDDED_TEXTS, COLUMNS, rows))
    assert all(len(table) <= rows for _, _, table in blocks)
    ranges = row_ranges(path, EMBEDDED_TEXTS, rows)
    parts = [read_range(part, EMBEDDED_TEXTS, COLUMNS) for part in ranges]
    assert [part.rows for part in ranges] == [len(table) for table in parts]
    for tables in ([table for _, _, table in blocks], parts):
        found = pa.concat_tables(tables)
        assert found.column("text").to_pylist() == TEXTS
        np.testing.assert_array_equal(embedding_matrix(found), MATRIX)
    for file, start, table in blocks:
        whole = read_table(file, EMBEDDED_TEXTS)
        assert table.column("text") == whole.slice(start, len(table)).column("text")


def test_a_folder_appears_whole_and_takes_the_place_of_a_file_and_back(tmp_path: Path) -> None:
    path = write(tmp_path / "texts.parquet", None)
    before = path.read_bytes()
    with pytest.raises(RuntimeError), table_writer(path, EMBEDDED_TEXTS, 3, None, (5, 2)):
        raise RuntimeError
    with (
        pytest.raises(ValueError, match="0 rows were written; expected 5"),
        table_writer(path, EMBEDDED_TEXTS, 3, None, (5, 2)),
    ):
        pass
    assert path.read_bytes() == before
    write(path, 10)
    assert len(table_files(path)) == 3
    write(path, 20)
    assert len(table_files(path)) == 2
    write(path, None)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_hash_of_a_table_is_that_of_all_its_shards(tmp_path: Path) -> None:
    one, some = write(tmp_path / "one.parquet", None), write(tmp_path / "some.parquet", 10)
    assert table_sha256(one) == file_sha256(one)
    before = table_sha256(some)
    assert before == table_sha256(write(tmp_path / "again.parquet", 10))
    first, second, _ = table_files(some)
    first.rename(tmp_path / "kept")
    second.rename(first)
    (tmp_path / "kept").rename(second)
    assert table_sha256(some) != before


IMAGE = {"id": ["x"], "split": ["train"], "label": pa.array([3], pa.int64()),
         "class_name": ["car"], "image": [b"png"]}  # fmt: skip
NOT_UTF8 = pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({**IMAGE, "label": ["car"]}), "'label' is string"),
        (pa.table({**IMAGE, "class_name": pa.nulls(1, pa.string())}), "empty in row 0"),
        (pa.table(IMAGE).append_column("id", pa.array(["y"])), "several columns"),
        (pa.table({**IMAGE, "id": NOT_UTF8}), "UTF8"),
        (pa.table({"id": ["x"]}), "no column 'split'"),
    ],
)
def test_a_table_of_another_form_is_refused(tmp_path: Path, table: pa.Table, message: str) -> None:
    path = tmp_path / "images.parquet"
    pq.write_table(pa.table({**IMAGE, "more": [1]}), path)
    assert read_table(path, IMAGES).column("label").type == pa.int32()
    pq.write_table(table, path)
    with pytest.raises(InputError, match=rf"images\.parquet: .*{message}"):
        read_table(path, IMAGES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder, files: files[2].unlink(), "'part-00002-of-00003.parquet' is missing"),
        (lambda folder, files: (folder / "notes.txt").touch(), "'notes.txt' is not a shard"),
        (lambda folder, files: _texts(files[2], np.ones((2, 4))), "width"),
        (lambda folder, files: _texts(files[1], np.zeros((2, 3))), "part-00001.* row 0"),
        (lambda folder, files: files[0].write_bytes(files[0].read_bytes()[:90]), "not a readable"),
    ],
)
def test_a_shard_that_is_missing_strange_or_wrong_is_named(
    tmp_path: Path, change: Callable, message: str
) -> None:
    path = write(tmp_path / "texts.parquet", 10)
    change(path, table_files(path))
    with pytest.raises(InputError, match=message):
        table_shape(path, EMBEDDED_TEXTS)
        for file, start, table in table_blocks(path, EMBEDDED_TEXTS, ["embedding"], 4):
            embedding_matrix(table, file, first_row=start)


def test_a_folder_of_other_files_is_never_replaced_by_a_table(tmp_path: Path) -> None:
    folder = tmp_path / "texts.parquet"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="a folder of other files"):
        write(folder, 10)
    assert (folder / "mine.txt").read_text() == "mine"
