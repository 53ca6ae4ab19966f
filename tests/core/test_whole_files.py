"""Files are written whole or not at all; a full disk is told with the name of the file.

A limit on the size of a file (RLIMIT_FSIZE) stands for the disk: writes fail the same way.
"""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.whole_files import (
    TOLD,
    reason,
    remove_partial,
    remove_whole,
    whole_file,
    write_text,
    write_whole,
)
from tests.disks import mounted_or_skip

LIMIT = 2000
SCRIPT = """
import resource
import numpy as np
import torch
from pathlib import Path
from infopursuit.core.errors import InputError

noise = np.random.default_rng(0).standard_normal((500, 8)).astype(np.float32)
texts = [str(each) for each in noise[:, 0]]
resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
try:
    WRITE
except InputError as error:
    print(error)
"""
WRITERS = {
    "a.txt": "from infopursuit.core.text_lists import write_text_list; "
    "write_text_list('a.txt', texts)",
    "a.json": "from infopursuit.evaluation.files import write_json; "
    "write_json('a.json', dict.fromkeys(texts, 0))",
    "a.csv": "from infopursuit.evaluation.files import write_csv; "
    "write_csv('a.csv', ['x'] * 8, noise.tolist())",
    "a.parquet": "from infopursuit.core.tables import EMBEDDED_CLASSES, write_table; "
    "write_table('a.parquet', EMBEDDED_CLASSES, {'label': range(500), 'class_name': texts, "
    "'embedding': noise})",
    "a.pt": "from infopursuit.vip.checkpoints import Checkpoint; "
    "Checkpoint('a.pt', 0).save(torch.nn.Linear(100, 100))",
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("there", [False, True])
def test_no_room_is_told_with_the_file_and_leaves_what_was_there(
    tmp_path: Path, name: str, there: bool
) -> None:
    if there:
        (tmp_path / name).write_bytes(b"before")
    script = SCRIPT.replace("LIMIT, LIMIT", f"{LIMIT}, {LIMIT}")
    # -B: bytecode of what is imported under the limit would be cut off, and break later imports.
    done = subprocess.run(
        [sys.executable, "-B", "-c", script.replace("WRITE", WRITERS[name])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == (
        f"{name}: cannot be written, the file is larger than this process may write (ulimit -f)\n"
    ), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ([name] if there else [])
    assert not there or (tmp_path / name).read_bytes() == b"before"


def test_a_disk_that_is_full_is_told(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with mounted_or_skip(disk, "size=16k"):
        with pytest.raises(InputError, match=r"disk/a\.txt: cannot be written, the disk is full"):
            write_text(disk / "a.txt", "x" * 40000)
        with pytest.raises(OSError, match="No space left") as caught:
            write_whole({"small": b"x", "large": b"x" * 40000}, disk)
        assert caught.value.filename == str(disk / "large")
        assert not list(disk.iterdir())
        write_text(disk / "a.txt", "x" * 4000)


def test_a_disk_that_is_read_only_is_told(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with mounted_or_skip(disk, "ro"):
        for path in (disk / "a.txt", disk / "below" / "a.txt"):
            with pytest.raises(
                InputError, match=r"a\.txt: cannot be written, the disk is read-only"
            ):
                write_text(path, "x")
        with pytest.raises(OSError, match="Read-only") as caught:
            write_whole({"small": b"x"}, disk)
        assert caught.value.filename == str(disk / "small")


@pytest.mark.parametrize(
    ("error", "path", "told"),
    [
        (OSError(errno.ENOSPC, "no space", "a"), None, "a: cannot be written, the disk is full"),
        (
            OSError(errno.EROFS, "read-only", "a"),
            "b",
            "b: cannot be written, the disk is read-only",
        ),
        (PermissionError(errno.EACCES, "denied"), "b", "b: cannot be written, this user may not"),
        (PermissionError(errno.EACCES, "denied", "a"), None, "a: permission denied"),
        (FileNotFoundError(errno.ENOENT, "none", "a"), None, "a: no such file or folder; it may"),
        (FileNotFoundError(errno.ENOENT, "cannot open x"), None, "[Errno 2] cannot open x; it may"),
    ],
)
def test_the_reason_names_the_file(error: OSError, path: str | None, told: str) -> None:
    assert error.errno in TOLD
    assert reason(error, path).startswith(told)


def test_an_input_that_may_not_be_read_is_not_taken_for_the_file(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), whole_file(tmp_path / "a.txt"):
        raise PermissionError(errno.EACCES, "denied", "input.txt")


def test_what_a_killed_process_left_goes_with_the_file(tmp_path: Path) -> None:
    names = ("a.pt", "a.pt.partial", "b.pt", "model.json.0a1b2c3d.partial")
    for name in names:
        (tmp_path / name).write_text("x")
    remove_whole(tmp_path / "a.pt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.pt", names[3]]
    remove_partial(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["b.pt"]
    remove_whole(tmp_path / "nothing")
    remove_partial(tmp_path / "nowhere")


def test_an_interruption_leaves_what_was_there(tmp_path: Path) -> None:
    write_text(tmp_path / "below" / "a.txt", "before")
    with pytest.raises(KeyboardInterrupt), whole_file(tmp_path / "below" / "a.txt") as partial:
        partial.write_text("after")
        raise KeyboardInterrupt
    assert [path.name for path in (tmp_path / "below").iterdir()] == ["a.txt"]
    assert (tmp_path / "below" / "a.txt").read_text() == "before"


def test_other_errors_are_not_taken_for_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "a.txt"):
        (tmp_path / "nowhere").read_text()
