import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDED_TEXTS, embedding_matrix, read_table, write_table
from infopursuit.core.whole_files import hold
from infopursuit.dictionary import universe as module
from infopursuit.dictionary.universe import load_universe

U, D = 23, 8
ROWS = np.random.default_rng(0).standard_normal((U, D))


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that end in the middle of row groups, and a file for the smallest universe."""
    monkeypatch.setattr(module, "BLOCK", 4)
    monkeypatch.setattr(module, "MAPPED_FROM", 1)


@pytest.fixture(params=["in memory", "mapped"])
def scratch(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "scratch" if request.param == "mapped" else None


def stored(
    path: Path, matrix: np.ndarray = ROWS, kind: pa.DataType | None = None, null: int = -1
) -> Path:
    """A universe in row groups of 10, with embeddings of any float type and a null at a row."""
    kind = kind or pa.float16()
    lists = [None if row == null else list(map(float, r)) for row, r in enumerate(matrix)]
    columns = {
        "text": [f"text {row}" for row in range(len(matrix))],
        "source": ["made up"] * len(matrix),
        "embedding": pa.array(lists, pa.list_(kind, matrix.shape[1])),
    }
    pq.write_table(pa.table(columns), path, row_group_size=10)
    return path


def test_rows_are_those_of_a_plain_read(tmp_path: Path, scratch: Path | None) -> None:
    path = tmp_path / "universe.parquet"
    texts = [f"text {row}" for row in range(U)]
    columns = {"text": texts, "source": ["made up"] * U, "embedding": ROWS}
    write_table(path, EMBEDDED_TEXTS, columns, clip="ViT")
    universe = load_universe(path, scratch)
    expected = embedding_matrix(read_table(path, EMBEDDED_TEXTS))
    assert universe.embeddings.dtype == np.float16
    np.testing.assert_array_equal(universe.embeddings, expected)
    assert (list(universe.texts), universe.clip) == (texts, "ViT")
    assert universe.indices(["text 7", "text 2"], "list.txt").tolist() == [7, 2]
    assert torch.from_numpy(universe.embeddings)[11, 3] == expected[11, 3]  # warns of no read-only


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_other_float_types_are_rounded(
    tmp_path: Path, scratch: Path | None, kind: pa.DataType
) -> None:
    universe = load_universe(stored(tmp_path / "universe.parquet", kind=kind), scratch)
    np.testing.assert_array_equal(universe.embeddings, ROWS.astype(np.float16))


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32()], ids=str)
@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_a_bad_row_is_named_by_its_number_in_the_file(
    tmp_path: Path, scratch: Path | None, kind: pa.DataType, bad: float
) -> None:
    matrix = ROWS.copy()
    matrix[17] = bad
    path = stored(tmp_path / "universe.parquet", matrix, kind)
    with pytest.raises(InputError, match=r"universe\.parquet: the embedding of row 17 is NaN, inf"):
        load_universe(path, scratch)
    assert scratch is None or not list(scratch.iterdir())


def test_numbers_beyond_half_precision_are_bad(tmp_path: Path, scratch: Path | None) -> None:
    for row, number in ((14, 1e6), (21, 1e-9)):
        matrix = ROWS.copy()
        matrix[row] = number
        path = stored(tmp_path / "universe.parquet", matrix, pa.float32())
        with pytest.raises(InputError, match=f"the embedding of row {row} is NaN, infinite or all"):
            load_universe(path, scratch)


def test_an_empty_embedding_is_named_by_its_row(tmp_path: Path, scratch: Path | None) -> None:
    path = stored(tmp_path / "universe.parquet", null=15)
    with pytest.raises(InputError, match=r"the embedding of row 15 is empty; expected d numbers"):
        load_universe(path, scratch)


def test_a_text_is_there_once(tmp_path: Path) -> None:
    path = tmp_path / "universe.parquet"
    columns = {"text": ["wings", "wheels", "wings"], "source": ["a"] * 3, "embedding": np.eye(3)}
    write_table(path, EMBEDDED_TEXTS, columns)
    with pytest.raises(InputError, match="the text 'wings' is there twice; expected distinct"):
        load_universe(path)


def test_a_file_without_embeddings_or_texts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "universe.parquet"
    pq.write_table(pa.table({"text": ["wings"], "source": ["a"]}), path)
    with pytest.raises(InputError, match=r"no column 'embedding'; expected columns text, source, "):
        load_universe(path)
    pq.write_table(pa.table({"text": ["wings"], "source": ["a"], "embedding": [[1.0]]}), path)
    with pytest.raises(InputError, match=r"column 'embedding' is list.* expected a fixed-size"):
        load_universe(path)
    stored(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match="not a readable Parquet file"):
        load_universe(path)


def test_loads_share_one_file_that_is_written_once(tmp_path: Path) -> None:
    path, scratch = stored(tmp_path / "universe.parquet"), tmp_path / "scratch"
    first = load_universe(path, scratch)
    (file,) = scratch.iterdir()
    assert file.suffix == ".float16"
    written = file.stat()
    second = load_universe(path, scratch)
    assert list(scratch.iterdir()) == [file]
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)
    np.testing.assert_array_equal(first.embeddings, second.embeddings)
    first.embeddings[:] = 7  # of its own process alone
    np.testing.assert_array_equal(second.embeddings, ROWS.astype(np.float16))
    assert file.read_bytes() == ROWS.astype(np.float16).tobytes()


def test_another_universe_has_another_file(tmp_path: Path) -> None:
    path, scratch = tmp_path / "universe.parquet", tmp_path / "scratch"
    before = load_universe(stored(path), scratch)
    after = load_universe(stored(path, -ROWS), scratch)
    assert len(list(scratch.iterdir())) == 2
    np.testing.assert_array_equal(after.embeddings, -before.embeddings)


def test_what_a_killed_run_left_is_not_read(tmp_path: Path) -> None:
    path, scratch = stored(tmp_path / "universe.parquet"), tmp_path / "scratch"
    load_universe(path, scratch)
    (file,) = scratch.iterdir()
    whole = file.read_bytes()
    left = file.with_name(f"{file.name}.0a1b2c3d.partial")
    file.rename(left)
    left.write_bytes(b"\0" * len(whole))
    np.testing.assert_array_equal(load_universe(path, scratch).embeddings, ROWS.astype(np.float16))
    file.write_bytes(whole[:-16])
    np.testing.assert_array_equal(load_universe(path, scratch).embeddings, ROWS.astype(np.float16))
    assert file.read_bytes() == whole
    assert left.exists(), "it is as young as a file that another run is writing"
    os.utime(left, (0, 0))
    file.unlink()
    with left.open("rb+") as held:
        hold(held)
        load_universe(path, scratch)
        assert left.exists(), "another run holds it"
    file.unlink()
    load_universe(path, scratch)
    assert list(scratch.iterdir()) == [file]


def test_runs_that_write_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    path, scratch = stored(tmp_path / "universe.parquet"), tmp_path / "scratch"
    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(lambda _: load_universe(path, scratch), range(8)))
    for universe in loaded:
        np.testing.assert_array_equal(universe.embeddings, ROWS.astype(np.float16))
    assert [file.suffix for file in scratch.iterdir()] == [".float16"]


def test_a_small_universe_needs_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, scratch = stored(tmp_path / "universe.parquet"), tmp_path / "scratch"
    monkeypatch.setattr(module, "MAPPED_FROM", 2 * U * D + 1)
    load_universe(path, scratch)
    assert not scratch.exists()
    monkeypatch.setattr(module, "MAPPED_FROM", 2 * U * D)
    load_universe(path, scratch)
    assert len(list(scratch.iterdir())) == 1


MEASURE = """
import sys
from infopursuit.dictionary.universe import load_universe

def kilobytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))

small, *arguments = sys.argv[1:]
load_universe(small)  # libraries that are loaded on first use do not count
before, anonymous = kilobytes("VmHWM"), kilobytes("RssAnon")
universe = load_universe(*arguments)
print(kilobytes("VmHWM") - before)
total = sum(float(universe.embeddings[row:row + 4096].sum()) for row in range(0, 32768, 4096))
print(kilobytes("RssAnon") - anonymous, total)
"""


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
