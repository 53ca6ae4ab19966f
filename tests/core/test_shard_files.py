"""A table as a folder of shards: read in order, whole or not at all, in the place of one file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infopursuit.core.clip_names import clip_of
from infopursuit.core.errors import InputError
from infopursuit.core.hashing import file_sha256, table_sha256
from infopursuit.core.same_space import check_same_space
from infopursuit.core.shard_files import shard_name, table_files
from infopursuit.core.table_blocks import read_range, row_ranges, table_blocks, table_shape
from infopursuit.core.tables import (
    EMBEDDED_TEXTS,
    embedding_array,
    embedding_matrix,
    read_table,
    table_writer,
)

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


def test_a_row_that_is_wrong_is_named_with_its_shard(tmp_path: Path) -> None:
    path = write(tmp_path / "texts.parquet", 10)
    bad = MATRIX[10:20].copy()
    bad[7, 1] = np.nan
    columns = {"text": TEXTS[10:20], "source": ["a"] * 10, "embedding": embedding_array(bad)}
    pq.write_table(pa.table(columns), table_files(path)[1])
    with pytest.raises(InputError, match=r"part-00001-of-00003\.parquet: .* row 7 is NaN"):
        for file, start, table in table_blocks(path, EMBEDDED_TEXTS, ["embedding"], 4):
            embedding_matrix(table, file, first_row=start)


def test_a_shard_that_is_missing_strange_or_of_another_width_is_found_out(tmp_path: Path) -> None:
    path = write(tmp_path / "texts.parquet", 10)
    last = table_files(path)[2]
    content = last.read_bytes()
    last.unlink()
    with pytest.raises(InputError, match=r"the shard 'part-00002-of-00003\.parquet' is missing"):
        read_table(path, EMBEDDED_TEXTS)
    (path / "notes.txt").touch()
    with pytest.raises(InputError, match=r"'notes\.txt' is no shard of this table"):
        table_files(path)
    (path / "notes.txt").unlink()
    columns = {"text": ["a"], "source": ["b"], "embedding": embedding_array(np.ones((1, 4)))}
    pq.write_table(pa.table(columns), last)
    with pytest.raises(InputError, match="embeddings of width 4; expected 3"):
        table_shape(path, EMBEDDED_TEXTS)
    with pytest.raises(InputError, match="different types or widths"):
        read_table(path, EMBEDDED_TEXTS)
    last.write_bytes(content)
    assert len(read_table(path, EMBEDDED_TEXTS)) == 23
    (tmp_path / "empty.parquet").mkdir()
    with pytest.raises(InputError, match="an empty folder"):
        read_table(tmp_path / "empty.parquet", EMBEDDED_TEXTS)


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


def test_a_folder_of_other_files_is_never_replaced_by_a_table(tmp_path: Path) -> None:
    folder = tmp_path / "texts.parquet"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    for shard_rows in (None, 10):
        with pytest.raises(InputError, match="a folder of other files"):
            write(folder, shard_rows)
    assert (folder / "mine.txt").read_text() == "mine"


def test_a_table_without_rows_is_one_empty_shard(tmp_path: Path) -> None:
    path = write(tmp_path / "texts.parquet", 10, rows=0)
    assert [file.name for file in table_files(path)] == [shard_name(0, 1)]
    assert len(read_table(path, EMBEDDED_TEXTS)) == 0


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
