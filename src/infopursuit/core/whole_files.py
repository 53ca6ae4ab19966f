"""Files and folders that appear under their names when they are complete, or not at all."""

from __future__ import annotations

import errno
import glob
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from uuid import uuid4

from infopursuit.core.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

# How files end that are being written.
PARTIAL = ".partial"
# Seconds in which a process that has made such a file comes to hold it.
JUST_MADE = 60.0
# No more fits on the disk, in the quota of a user, in what a process may write to one file.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# The disk takes no file, or this user may write none there.
READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
# Something that was there is gone.
GONE = frozenset({errno.ENOENT, errno.ENOTDIR})
# No file can be called that, or a folder is.
NOWHERE = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.EISDIR})
# What a person can mend, and is told in one line (`reason`).
TOLD = NO_ROOM | READ_ONLY | GONE | NOWHERE


@contextmanager
def whole_file(path: str | Path, mark: str = "") -> Iterator[Path]:
    """A path beside `path` to write to; what is there at the end takes the name `path`.

    Where writing fails or is interrupted, `path` is as it was before, and nothing lies beside it.

    Args:
        path: its folder is made where it is missing.
        mark: tells the files apart that processes write to at the same time.

    Raises:
        InputError: there is no room on the disk for the file, or its folder is read-only.
    """
    path = Path(path)
    partial = path.with_name(f"{path.name}{mark}{PARTIAL}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        partial.replace(path)
    except OSError as error:
        if error.errno in NO_ROOM or (error.errno in READ_ONLY and _writes(error, path, partial)):
            raise InputError(reason(error, path)) from error
        raise
    finally:
        _remove(partial)


def _writes(error: OSError, path: Path, partial: Path) -> bool:
    """Whether an error is about the file that is written, and not about one that is read."""
    return error.filename is None or Path(error.filename) in (path, partial, *path.parents)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():  # a disk that is read-only refuses even to remove what is not there
        path.unlink(missing_ok=True)


def remove_whole(path: str | Path) -> None:
    """Remove a file of `whole_file`, and what a process left beside it that was killed."""
    path = Path(path)
    for each in (path, path.with_name(f"{path.name}{PARTIAL}")):
        _remove(each)


def remove_partial(folder: Path) -> None:
    """Remove what killed processes left in a folder; none that is alive may be writing there."""
    for partial in folder.glob(f"*{PARTIAL}"):
        _remove(partial)


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """An empty folder beside `path` to write to; at the end it takes the name `path`.

    Where writing fails or is interrupted, `path` is as it was before. What a killed process left
    beside it is removed by the next one.

    Args:
        path: a folder or a file that is there is replaced; its folder is made where it is missing.

    Raises:
        InputError: there is no room on the disk for a file, or the folder is read-only.
    """
    path = Path(path)
    partial = path.with_name(f"{path.name}{PARTIAL}")
    try:
        _remove(partial)
        partial.mkdir(parents=True)
        yield partial
        _remove(path)
        partial.replace(path)
    except OSError as error:
        if error.errno in NO_ROOM or (error.errno in READ_ONLY and _writes(error, path, partial)):
            raise InputError(reason(error, path)) from error
        raise
    finally:
        _remove(partial)


def hold(file: IO[bytes]) -> None:
    """Tell `remove_abandoned` that a process is writing this file, for as long as it is open."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)


def remove_abandoned(path: Path) -> None:
    """Remove what killed processes left of `path` under marks of their own, and nobody holds."""
    if fcntl is None:  # it cannot be told whether somebody is writing
        return
    for partial in path.parent.glob(f"{glob.escape(path.name)}.*{PARTIAL}"):
        with suppress(FileNotFoundError, BlockingIOError), partial.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if time.time() - partial.stat().st_mtime > JUST_MADE:
                partial.unlink()


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8.

    Raises:
        InputError: there is no room on the disk for the file, or its folder is read-only.
    """
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="")


def number_of(error: OSError) -> int | None:
    """The number of an error; pyarrow gives none to that of a file which is not there."""
    if error.errno is None and isinstance(error, FileNotFoundError):
        return errno.ENOENT
    return error.errno


def reason(error: OSError, path: str | Path | None = None) -> str:
    """What to tell of an error whose number is in `TOLD`.

    Args:
        error: it names the file, or not.
        path: the file, where it is known to be written.
    """
    number = number_of(error) or errno.ENOSPC
    where = path or error.filename
    if number in NOWHERE:
        return f"{where}: {error.strerror}; expected another path"
    if number in GONE:
        where = where or (None if error.errno else error)  # pyarrow's message is the path
        told = f"{where}: no such file or folder" if where else str(error)
        return f"{told}; it may have been removed meanwhile"
    if number in (errno.EACCES, errno.EPERM) and path is None:  # to read or to write
        return f"{where}: permission denied" if where else str(error)
    why = {
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the quota of this user is used up",
        errno.EFBIG: "the file is larger than this process may write (ulimit -f)",
        errno.EROFS: "the disk is read-only",
        errno.EACCES: "this user may not write there",
        errno.EPERM: "this user may not write there",
    }[number]
    return f"{where}: cannot be written, {why}" if where else f"{why}; nothing was written"


def write_whole(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files into a folder; where one cannot be written, all are as they were before.

    Args:
        files: content by name.
        folder: it exists.

    Raises:
        OSError: the folder is read-only, the disk is full, or a name is that of a folder; its
            `filename` is that of the file.
    """
    mark = f".{uuid4().hex[:8]}{PARTIAL}"
    partial = {folder / name: folder / (name + mark) for name in files}
    try:
        for (path, beside), content in zip(partial.items(), files.values(), strict=True):
            if path.is_dir():
                raise IsADirectoryError(f"{path} is a folder; expected a file or nothing")
            try:
                beside.write_bytes(content)
            except OSError as error:
                error.filename = str(path)  # a write that fails does not say where
                raise
        for path, beside in partial.items():
            beside.replace(path)
    finally:
        for beside in partial.values():
            _remove(beside)
