"""Texts with embeddings: what is read is what was written, and every text is found."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDED_TEXTS, embedding_matrix, read_table, write_table
from infopursuit.texts import nearest, text_table
from infopursuit.texts.near_texts import NearTexts
from infopursuit.texts.text_table import TextTable
from tests.clip.conftest import tiny_clip as tiny_clip

U, D = 23, 8
ROWS = np.random.default_rng(0).standard_normal((U, D))
ROWS /= np.linalg.norm(ROWS, axis=1, keepdims=True)
TEXTS = [f"text {row}" for row in range(U)]
COLUMNS = {"text": TEXTS, "source": ["made up"] * U}
UNIT = ROWS.astype(np.float32)


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that end in the middle of row groups, and a file for the smallest universe."""
    monkeypatch.setattr(text_table, "BLOCK", 4)
    monkeypatch.setattr(text_table, "MAPPED_FROM", 1)


@pytest.fixture(params=["in memory", "mapped"])
def scratch(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "scratch" if request.param == "mapped" else None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return stored(tmp_path / "universe.parquet")


def stored(path: Path, matrix: np.ndarray = ROWS, kind: str = "halffloat", null: int = -1) -> Path:
    """A universe in row groups of 10, with embeddings of any float type and a null at a row."""
    lists = [None if row == null else list(map(float, r)) for row, r in enumerate(matrix)]
    embedding = pa.array(lists, pa.list_(pa.type_for_alias(kind), matrix.shape[1]))
    pq.write_table(pa.table({**COLUMNS, "embedding": embedding}), path, row_group_size=10)
    return path


def files(scratch: Path) -> list[Path]:
    return [file for file in scratch.iterdir() if file.suffix != ".lock"]


def test_rows_are_those_of_a_plain_read(tmp_path: Path, scratch: Path | None) -> None:
    path = tmp_path / "universe.parquet"
    write_table(path, EMBEDDED_TEXTS, {**COLUMNS, "embedding": ROWS}, clip="ViT")
    table = TextTable.from_parquet(path, scratch)
    expected = embedding_matrix(read_table(path, EMBEDDED_TEXTS))
    assert table.embeddings.dtype == np.float16
    np.testing.assert_array_equal(table.embeddings, expected)
    assert (list(table.texts), table.clip) == (TEXTS, "ViT")
    assert torch.from_numpy(table.embeddings)[11, 3] == expected[11, 3]  # no read-only warning


@pytest.mark.parametrize("kind", ["halffloat", "float"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0, 1e6, 1e-9, None])
def test_a_bad_row_is_named(
    tmp_path: Path, scratch: Path | None, kind: str, bad: float | None
) -> None:
    matrix = ROWS.copy()
    matrix[17] = 1 if bad is None else bad
    with np.errstate(over="ignore"):
        path = stored(tmp_path / "t.parquet", matrix, kind, 17 if bad is None else -1)
    with pytest.raises(InputError, match=r"t\.parquet: the embedding of row 17 is (empty|NaN)"):
        TextTable.from_parquet(path, scratch)
    assert scratch is None or files(scratch) == []


def twice(path: Path) -> TextTable:
    columns = {"text": ["wings", "wheels", "wings"], "source": ["made up"] * 3}
    embedding = pa.array([[1.0]] * 3, pa.list_(pa.float16(), 1))
    pq.write_table(pa.table({**columns, "embedding": embedding}), path)
    return TextTable.from_parquet(path)


FEW = TextTable.from_arrays(["four legs", "Wings", "wings", "Long neck"], UNIT[:4])


@pytest.mark.parametrize(
    ("ask", "word"),
    [
        (twice, "wings"),
        (lambda _: TextTable.from_arrays("four legs", UNIT), "list"),
        (lambda _: TextTable.from_arrays([], UNIT), "empty"),
        (lambda _: TextTable.from_arrays(["a", 3], UNIT), "row 1"),
        (lambda _: TextTable.from_arrays(["a", "b", "a"], UNIT), "row 2"),
        (lambda _: TextTable.from_arrays(TEXTS, None), "missing"),
        (lambda _: TextTable.from_arrays(TEXTS[1:], UNIT), "23"),
        (lambda _: FEW.rows(["WINGS", "Wings"]), "twice"),
        (lambda _: FEW.rows(["fourlegs"], "keep"), "four legs"),
        (lambda _: nearest("striped body", TEXTS, UNIT), "clip"),
        (lambda _: nearest(np.ones(47) / 47**0.5, TEXTS, UNIT), "47"),
    ],
)
def test_malformed_texts_are_refused(path: Path, ask: Callable, word: str) -> None:
    with pytest.raises(InputError, match=word):
        ask(path)


def test_queries_are_found_whatever_their_spelling() -> None:
    assert FEW.rows(["wings", "long  NECK", "four legs"]).tolist() == [2, 3, 0]
    assert FEW.rows(["WINGS", "Wings"], distinct=False).tolist() == [1, 1]


def test_texts_of_a_source(tmp_path: Path) -> None:
    path = tmp_path / "universe.parquet"
    sources = ["dictionary/a,corpus/b", "corpus/b", "dictionary/ab"]
    columns = {"text": TEXTS[:3], "source": sources, "embedding": ROWS[:3]}
    write_table(path, EMBEDDED_TEXTS, columns)
    table = TextTable.from_parquet(path)
    assert table.texts_from("corpus/b") == TEXTS[:2]
    assert table.texts_from("dictionary/a") == TEXTS[:1]
    assert table.sources_of(["text 2", "text 1"]) == {TEXTS[1]: sources[1], TEXTS[2]: sources[2]}
    with pytest.raises(InputError, match="no text from dictionary/b; expected one or more"):
        table.texts_from("dictionary/b")


def test_loads_share_one_file_that_is_written_once(path: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    first = TextTable.from_parquet(path, scratch)
    (file,) = files(scratch)
    written = file.stat()
    second = TextTable.from_parquet(path, scratch)
    assert files(scratch) == [file]
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)
    first.embeddings[:] = 7  # of its own process alone
    np.testing.assert_array_equal(second.embeddings, ROWS.astype(np.float16))
    assert file.read_bytes() == ROWS.astype(np.float16).tobytes()
    other = TextTable.from_parquet(stored(path, -ROWS), scratch)
    assert len(files(scratch)) == 2
    np.testing.assert_array_equal(other.embeddings, -ROWS.astype(np.float16))


MEASURE = """
import sys
from infopursuit.texts.text_table import TextTable

def kilobytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))

small, *arguments = sys.argv[1:]
TextTable.from_parquet(small)  # libraries that are loaded on first use do not count
before, anonymous = kilobytes("VmHWM"), kilobytes("RssAnon")
table = TextTable.from_parquet(*arguments)
print(kilobytes("VmHWM") - before)
total = sum(float(table.embeddings[row:row + 4096].sum()) for row in range(0, 32768, 4096))
print(kilobytes("RssAnon") - anonymous, total)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_holds_one_copy_of_the_embeddings_and_of_mapped_ones_none(tmp_path: Path) -> None:
    small, path = stored(tmp_path / "small.parquet"), tmp_path / "universe.parquet"
    matrix = np.tile(np.eye(2048, dtype=np.float16), (16, 1))  # 128 MiB
    columns = {"text": [f"text {row}" for row in range(32768)], "source": ["made up"] * 32768}
    write_table(path, EMBEDDED_TEXTS, {**columns, "embedding": matrix})
    size = matrix.nbytes // 1024

    def measured(*arguments: Path) -> tuple[int, int]:
        command = [sys.executable, "-c", MEASURE, *map(str, (small, path, *arguments))]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        peak, anonymous, total = printed.split()
        assert float(total) == 32768
        return int(peak), int(anonymous)

    peak, _ = measured()
    assert 0.9 * size < peak < 1.75 * size
    for _ in range(2):  # the run that writes the file, and one that finds it
        peak, anonymous = measured(tmp_path / "scratch")
        assert peak < 0.75 * size
        assert anonymous < 0.75 * size


def test_the_nearest_are_those_of_the_largest_cosines() -> None:
    index = NearTexts(TEXTS, UNIT.astype(np.float16))
    queries = np.random.default_rng(1).standard_normal((20, D)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    for row, query in zip(queries @ UNIT.T, queries, strict=True):
        found = index.nearest(torch.from_numpy(query), 5)
        order = np.argsort(-row)[:5]
        assert [text for text, _ in found] == [TEXTS[place] for place in order]
        assert [cosine for _, cosine in found] == pytest.approx(row[order].tolist(), abs=1e-3)
    itself = nearest("text 7", TEXTS, UNIT, count=100)
    assert itself[0] == ("text 7", pytest.approx(1, abs=1e-6))
    assert len(itself) == U


def test_a_new_text_needs_a_clip(
    tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFOPURSUIT_CACHE", str(tmp_path))
    found = nearest("TEXT 7!", TEXTS, count=3, clip=tiny_clip)
    assert found == NearTexts(TEXTS, clip=tiny_clip).nearest("TEXT 7!", 3)
