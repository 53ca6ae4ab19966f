"""Files are written whole or not at all, and read with messages that name the place.

A limit on the size of a file (RLIMIT_FSIZE) stands for a full disk: writes fail the same way.
"""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from infopursuit.core.csv_tables import write_csv
from infopursuit.core.errors import InputError, explain_os_error, is_user_error
from infopursuit.core.files import (
    atomic_folder,
    atomic_write,
    json_lines,
    read_json,
    read_text,
    read_text_list,
    write_files,
    write_text,
    write_text_list,
)
from infopursuit.core.results import ResultFolder
from infopursuit.core.tables import EMBEDDED_CLASSES, write_table
from infopursuit_study.evaluation.files import write_json


def test_a_full_disk_is_reported_with_the_file_and_keeps_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = np.random.default_rng(0).standard_normal((500, 8)).astype(np.float32)
    texts = [str(each) for each in noise[:, 0]]
    columns = {"label": range(500), "class_name": texts, "embedding": noise}
    writers = {
        "a.txt": lambda: write_text_list("a.txt", texts),
        "a.json": lambda: write_json("a.json", dict.fromkeys(texts, 0)),
        "a.csv": lambda: write_csv("a.csv", ["x"] * 8, noise.tolist()),
        "a.parquet": lambda: write_table("a.parquet", EMBEDDED_CLASSES, columns),
        "new/b/a.txt": lambda: write_text_list("new/b/a.txt", texts),
        "a.pt": lambda: ResultFolder(".").write_state("a.pt", {"a": torch.zeros(1000)}),
    }
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it would be cut off
    before = list(writers)[:-2]
    for name in before:
        Path(name).write_bytes(b"before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for name, write in writers.items():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
        try:
            with pytest.raises(InputError, match=f"^{name}: .*ulimit -f"):
                write()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert sorted(path.name for path in Path().iterdir()) == sorted(before)
    assert {Path(name).read_bytes() for name in before} == {b"before"}


@pytest.mark.parametrize(
    ("error", "path", "message"),
    [
        (OSError(errno.ENOSPC, "no space", "a"), None, "a: cannot be written, the disk is full"),
        (OSError(errno.EROFS, "ro", "a"), "b", "b: cannot be written, the disk is read-only"),
        (PermissionError(errno.EACCES, "denied"), "b", "b: cannot be written"),
        (PermissionError(errno.EACCES, "denied", "a"), None, "a: permission"),
        (FileNotFoundError("cannot open x"), None, "cannot open x: no such file"),
        (OSError(errno.ENAMETOOLONG, "too long", "a"), None, "a: too long"),
    ],
)
def test_an_error_of_the_system_names_the_file(
    error: OSError, path: str | None, message: str
) -> None:
    assert is_user_error(error)
    assert explain_os_error(error, path).startswith(message)


@pytest.mark.parametrize(
    "error", [PermissionError(errno.EACCES, "denied", "in.txt"), FileNotFoundError(2, "x", "in")]
)
def test_an_error_about_an_input_is_not_taken_for_one_of_the_output(
    tmp_path: Path, error: OSError
) -> None:
    with pytest.raises(type(error)), atomic_write(tmp_path / "a.txt"):
        raise error


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, ValueError])
def test_an_interruption_keeps_what_was_there(
    tmp_path: Path, interruption: type[BaseException]
) -> None:
    write_text(tmp_path / "below" / "a.txt", "before")
    with pytest.raises(interruption), atomic_write(tmp_path / "below" / "a.txt") as partial:
        partial.write_text("after")
        raise interruption
    with pytest.raises(interruption), atomic_folder(tmp_path / "below") as partial:
        (partial / "b.txt").write_text("after")
        raise interruption
    assert [path.name for path in (tmp_path / "below").iterdir()] == ["a.txt"]
    assert (tmp_path / "below" / "a.txt").read_text() == "before"
    with atomic_folder(tmp_path / "below") as partial:
        (partial / "b.txt").write_text("after")
    assert [path.name for path in (tmp_path / "below").iterdir()] == ["b.txt"]


def test_writers_of_one_file_do_not_meet_and_what_a_killed_one_left_is_removed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a[1].txt"
    killed = "with atomic_write('a[1].txt') as partial: partial.write_text('x'); os._exit(0)"
    program = f"import os; from infopursuit.core.files import atomic_write\n{killed}"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    mine = tmp_path / "a[1].txt.mine.partial"
    mine.touch()
    assert len(list(tmp_path.iterdir())) == 2
    with atomic_write(path) as first, atomic_write(path) as second:
        assert set(tmp_path.iterdir()) == {mine, first, second}
        first.write_text("first")
        second.write_text("second")
        write_files({path.name: b"third"}, tmp_path)
    assert path.read_text() == "first", "the last to end"
    assert set(tmp_path.iterdir()) == {mine, path}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a", None, "no such file"),
        ("a", b"\xff", "UTF-8"),
        ("a\0b", None, "null"),
        ("a" * 5000, None, "too long"),
    ],
)
def test_what_is_not_a_text_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes | None, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path(name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_text(name, "expected a text")


def test_a_list_of_texts_comes_back(tmp_path: Path) -> None:
    write_text_list(tmp_path / "a", ["cat", "dog"])
    assert read_text_list(tmp_path / "a") == ["cat", "dog"]
    (tmp_path / "a").write_text("\ufeff cat \n\ndog\n", encoding="utf-8")
    assert read_text_list(tmp_path / "a") == ["cat", "dog"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "Expecting"),
        ("[" * 5000, "too deep"),
        ("9" * 5000, "Exceeds"),
    ],
)
def test_json_that_python_cannot_read_is_reported(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"a.json: not valid JSON.*{fault}.*; expected x"):
        read_json(path, "expected x")
    path.write_text(f"1\n\n{text}\n")
    with pytest.raises(InputError, match=f"a.json: line 3 is not valid JSON: .*{fault}.*; a form"):
        list(json_lines(path, "expected x", "a form"))


def test_what_is_there_is_written_through(tmp_path: Path) -> None:
    """A link stays a link, a file keeps its mode, a pipe is written to."""
    (tmp_path / "private").write_text("before")
    (tmp_path / "private").chmod(0o600)
    (tmp_path / "link").symlink_to("private")
    (tmp_path / "new").symlink_to("below/none-yet")
    os.mkfifo(tmp_path / "pipe")
    writers = {
        "text": lambda name: write_text(tmp_path / name, "after"),
        "files": lambda name: write_files({name: b"after"}, tmp_path),
    }
    for write in writers.values():
        with ThreadPoolExecutor(1) as reader:
            arrived = reader.submit((tmp_path / "pipe").read_bytes)
            write("pipe")
            assert arrived.result(20) == b"after"
        write("link")
        write_text(tmp_path / "new", "after")
        assert (tmp_path / "link").is_symlink() and (tmp_path / "new").is_symlink()
        assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600
        assert {(tmp_path / each).read_text() for each in ("private", "below/none-yet")} == {
            "after"
        }
    (tmp_path / "folder").symlink_to(tmp_path / "below")
    with atomic_folder(tmp_path / "folder") as partial:
        (partial / "x").touch()
    assert (tmp_path / "folder").is_symlink() and (tmp_path / "below" / "x").exists()


def test_the_standard_output_takes_a_file(tmp_path: Path) -> None:
    code = "from infopursuit.core.files import write_text; write_text('/dev/stdout', 'after')"
    for out in ("file", "file"):
        with (tmp_path / out).open("ab") as file:
            subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert (tmp_path / "file").read_text() == "afterafter"
