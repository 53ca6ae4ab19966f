from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infopursuit.core.clip_names import clip_of
from infopursuit.core.errors import InputError
from infopursuit.core.same_space import check_same_space
from infopursuit.core.tables import (
    EMBEDDED_TEXTS,
    IMAGES,
    QUERIES,
    ROW_GROUP,
    embedding_matrix,
    open_table,
    read_table,
    table_writer,
    write_table,
)
from infopursuit.core.text_lists import read_text_list, write_text_list

ROWS = {"text": ["wings", "wheels"], "source": ["a", "b"]}


def _texts(path: Path, matrix: np.ndarray, clip: str | None = None) -> Path:
    write_table(path, EMBEDDED_TEXTS, {**ROWS, "embedding": matrix}, clip)
    return path


def test_embeddings_come_back_as_half_precision_with_the_name_of_their_clip(tmp_path: Path) -> None:
    matrix = np.array([[0.6, 0.8], [1.0, 0.0]])
    path = _texts(tmp_path / "texts.parquet", matrix, clip="ViT")
    table = read_table(path, EMBEDDED_TEXTS)
    assert table.column("text").to_pylist() == ROWS["text"]
    assert embedding_matrix(table).dtype == np.float16
    np.testing.assert_allclose(embedding_matrix(table), matrix, atol=1e-3)
    assert clip_of(path) == "ViT"


def test_equal_rows_are_equal_bytes(tmp_path: Path) -> None:
    paths = [_texts(tmp_path / f"{name}.parquet", np.eye(2)) for name in "ab"]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_long_table_is_written_in_row_groups_of_bounded_length(tmp_path: Path) -> None:
    rows = ROW_GROUP + 5
    path = tmp_path / "queries.parquet"
    write_table(path, QUERIES, {"text": ["wings"] * rows, "caption_id": range(rows)})
    file = pq.ParquetFile(path)
    lengths = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    assert lengths == [ROW_GROUP, 5]
    assert read_table(path, QUERIES).column("caption_id").to_pylist() == list(range(rows))


def test_a_file_appears_only_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "queries.parquet"
    with pytest.raises(RuntimeError), table_writer(path, QUERIES):
        raise RuntimeError
    assert not path.exists()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_named_by_row(tmp_path: Path, bad: float) -> None:
    path = _texts(tmp_path / "texts.parquet", np.array([[1.0, 0.0], [bad, 1.0]]))
    with pytest.raises(InputError, match="row 1 is NaN, infinite or all zeros"):
        embedding_matrix(read_table(path, EMBEDDED_TEXTS), path)


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


@pytest.mark.parametrize("kind", [pa.list_(pa.float16()), pa.large_list(pa.float64())])
def test_lists_without_a_fixed_size_are_read_whole_but_not_in_batches(
    tmp_path: Path, kind: pa.DataType
) -> None:
    path = tmp_path / "texts.parquet"
    rows = pa.array([[np.float16(1), np.float16(2)], [np.float16(3), np.float16(4)]], kind)
    pq.write_table(pa.table({"text": ["a", "b"], "source": ["", ""], "embedding": rows}), path)
    table = read_table(path, EMBEDDED_TEXTS)
    assert embedding_matrix(table, path).tolist() == [[1, 2], [3, 4]]
    assert embedding_matrix(table.slice(1), path).tolist() == [[3, 4]]
    with (
        pytest.raises(InputError, match="expected a fixed-size list of floats"),
        open_table(path, EMBEDDED_TEXTS, ["embedding"]),
    ):
        pass
    odd = pa.table({"embedding": pa.array([[1.0], [1.0, 2.0]])})
    with pytest.raises(InputError, match=r"file: the embedding of row 8 has 2 numbers, .* row 7 "):
        embedding_matrix(odd, "file", first_row=7)


def test_what_arrow_cannot_read_in_batches_names_the_file(tmp_path: Path) -> None:
    path = _texts(tmp_path / "texts.parquet", np.eye(2))
    content = bytearray(path.read_bytes())
    content[4:60] = b"\xff" * 56  # the first pages; the footer is whole
    path.write_bytes(content)
    with (
        pytest.raises(InputError, match=r"texts\.parquet: not a readable Parquet file"),
        open_table(path, EMBEDDED_TEXTS, ["text"]) as file,
    ):
        list(file.iter_batches(columns=["text"]))


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


def test_columns_are_checked_and_foreign_integers_cast(tmp_path: Path) -> None:
    path = tmp_path / "images.parquet"
    columns = {
        "id": ["x"],
        "split": ["train"],
        "label": pa.array([3], pa.int64()),
        "class_name": ["car"],
        "image": [b"png"],
    }
    pq.write_table(pa.table({**columns, "more": [1]}), path)
    assert read_table(path, IMAGES).column("label").type == pa.int32()
    pq.write_table(pa.table({**columns, "label": ["car"]}), path)
    with pytest.raises(InputError, match="column 'label' is string; expected int32"):
        read_table(path, IMAGES)
    pq.write_table(pa.table({**columns, "class_name": pa.nulls(1, pa.string())}), path)
    with pytest.raises(InputError, match="'class_name' is empty in row 0"):
        read_table(path, IMAGES)
    pq.write_table(pa.table({"id": ["x"]}), path)
    with pytest.raises(
        InputError, match=r"no column 'split'; expected columns id, split.*found id"
    ):
        read_table(path, IMAGES)
    path.write_bytes(b"no parquet")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        read_table(path, IMAGES)
    with pytest.raises(InputError, match="no such file"):
        read_table(tmp_path / "none.parquet", IMAGES)


def test_text_lists_keep_order_and_refuse_repetitions(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    write_text_list(path, ["wings", "four legs"])
    assert read_text_list(path) == ["wings", "four legs"]
    path.write_text("wings\n\n wings \n", encoding="utf-8")
    with pytest.raises(InputError, match="line 3 repeats 'wings' of line 1"):
        read_text_list(path)
    path.write_text("\n\n", encoding="utf-8")
    with pytest.raises(InputError, match="the file is empty"):
        read_text_list(path)
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InputError, match="UTF-8"):
        read_text_list(path)
