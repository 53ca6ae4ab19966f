"""Chunks that are finished in any order, and joined in their own."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.clip.embedding_chunks import Chunk, ChunkFolder, Embedding
from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDED_TEXTS, embedding_matrix
from tests.disks import mounted_or_skip

ROWS, SIZE = 11, 3
MATRIX = np.random.default_rng(0).normal(size=(ROWS, 4)).astype(np.float16)
REASONS = [None if row % 5 else f"bad {row}" for row in range(ROWS)]


def how(path: Path) -> Embedding:
    return Embedding(batch_size=2, chunk=SIZE, scratch=path / "scratch")


def folder(path: Path) -> ChunkFolder:
    return ChunkFolder(how(path), ["job"], ROWS)


def chunk(index: int) -> Chunk:
    rows = slice(index * SIZE, (index + 1) * SIZE)
    return Chunk(MATRIX[rows], REASONS[rows])


def written(chunks: ChunkFolder, path: Path) -> bytes:
    texts = [f"text {row}" for row in range(ROWS)]
    columns = pa.table({"text": texts, "source": ["corpus"] * ROWS})
    keep = np.array([reason is None for reason in REASONS])
    chunks.write(path, EMBEDDED_TEXTS, columns, keep, 4, "clip")
    return path.read_bytes()


@given(st.permutations(range(4)), st.integers(0, 4))
def test_chunks_come_in_any_order_and_survive_a_restart(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], before: int
) -> None:
    path = tmp_path_factory.mktemp("chunks")
    first = folder(path)
    for index in order[:before]:
        first.add(index, chunk(index))
    second = folder(path)
    assert second.done == sum(len(chunk(index).reasons) for index in order[:before])
    found = list(second.missing())
    bounds = [(0, 0, 3), (1, 3, 6), (2, 6, 9), (3, 9, 11)]
    assert found == [bounds[index] for index in sorted(order[before:])]
    second.fill([(index, chunk(index)) for index in order[before:]], "rows")
    assert second.done == ROWS
    assert list(second.missing()) == []
    assert second.rejected() == {0: "bad 0", 5: "bad 5", 10: "bad 10"}
    assert list(second.rejected()) == [0, 5, 10]
    np.testing.assert_array_equal(np.concatenate(list(second.read())), MATRIX)
    np.testing.assert_array_equal(second.matrix(4), MATRIX)
    out = path / "out.parquet"
    written(second, out)
    table = pq.read_table(out)
    kept = [row for row in range(ROWS) if row % 5]
    assert table.column("text").to_pylist() == [f"text {row}" for row in kept]
    np.testing.assert_array_equal(embedding_matrix(table), MATRIX[kept])
    second.remove()
    assert not (path / "scratch").exists()


def test_the_order_of_chunks_leaves_the_bytes_alone(tmp_path: Path) -> None:
    results = []
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        chunks = folder(tmp_path)
        chunks.fill([(index, chunk(index)) for index in order], "rows")
        results.append(written(chunks, tmp_path / "out.parquet"))
        chunks.remove()
    assert results[0] == results[1]


def test_a_chunk_that_was_cut_off_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chunks = folder(tmp_path)
    for index in (2, 3):
        chunks.add(index, chunk(index))
    [job] = (tmp_path / "scratch").iterdir()
    (job / "chunk-000001.partial").write_bytes(b"PAR1 and half of the rest")
    again = folder(tmp_path)
    assert [index for index, _, _ in again.missing()] == [0, 1]
    with caplog.at_level(logging.INFO):
        again.fill([(1, chunk(1)), (0, chunk(0))], "texts")
    assert "texts: resuming after 5 of 11 rows" in caplog.text
    np.testing.assert_array_equal(again.matrix(4), MATRIX)


def test_the_matrix_lies_in_a_file(tmp_path: Path) -> None:
    chunks = folder(tmp_path)
    chunks.fill([(index, chunk(index)) for index in range(4)], "rows")
    matrix = chunks.matrix(4)
    assert isinstance(matrix, np.memmap)
    [job] = (tmp_path / "scratch").iterdir()
    assert Path(str(matrix.filename)).parent == job
    assert Path(str(matrix.filename)).stat().st_size == MATRIX.nbytes


def test_no_room_for_the_matrix_is_told(tmp_path: Path) -> None:
    """A disk of 64 kB has room for one chunk of 32 kB, and no more."""
    with mounted_or_skip(tmp_path, "size=64k"):
        rows = 4096
        chunks = ChunkFolder(replace(how(tmp_path), chunk=rows), ["job"], rows)
        noise = np.random.default_rng(0).normal(size=(rows, 4)).astype(np.float16)
        chunks.add(0, Chunk(noise, [None] * rows))
        with pytest.raises(InputError, match="cannot be written, the disk is full"):
            chunks.matrix(4)
        assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.parametrize("index", [0, 3])
def test_a_chunk_of_another_size_is_refused(tmp_path: Path, index: int) -> None:
    chunks = folder(tmp_path)
    wrong = Chunk(MATRIX[:1], [None])
    with pytest.raises(ValueError, match=f"chunk {index} has 1 rows; expected"):
        chunks.add(index, wrong)
    assert chunks.done == 0


@pytest.mark.parametrize("other", ["job", "rows", "chunk", "batch"])
def test_another_job_starts_anew(tmp_path: Path, other: str) -> None:
    folder(tmp_path).add(0, chunk(0))
    settings = how(tmp_path)
    job, rows = ["job"], ROWS
    match other:
        case "job":
            job = ["job", ""]
        case "rows":
            rows += 1
        case "chunk":
            settings = replace(settings, chunk=SIZE + 1)
        case "batch":
            settings = replace(settings, batch_size=3)
    assert ChunkFolder(settings, job, rows).done == 0
    assert folder(tmp_path).done == 0
