"""Files and folders that appear under their names when they are complete, or not at all."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from infopursuit.core.errors import InputError

# No more fits on the disk, in the quota of a user, in what a process may write to one file.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def whole_file(path: str | Path, mark: str = "") -> Iterator[Path]:
    """A path beside `path` to write to; what is there at the end takes the name `path`.

    Where writing fails or is interrupted, `path` is as it was before, and nothing lies beside it.

    Args:
        path: its folder is made where it is missing.
        mark: tells the files apart that processes write to at the same time.

    Raises:
        InputError: there is no room on the disk for the file.
    """
    path = Path(path)
    partial = path.with_name(f"{path.name}{mark}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        partial.replace(path)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise InputError(no_room(error, path)) from error
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """An empty folder beside `path` to write to; at the end it takes the name `path`.

    Where writing fails or is interrupted, `path` is as it was before. What a killed process left
    beside it is removed by the next one.

    Args:
        path: a folder or a file that is there is replaced; its folder is made where it is missing.

    Raises:
        InputError: there is no room on the disk for a file.
    """
    path = Path(path)
    partial = path.with_name(f"{path.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        yield partial
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        partial.replace(path)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise InputError(no_room(error, path)) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8.

    Raises:
        InputError: there is no room on the disk for the file.
    """
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="")


def no_room(error: OSError, path: str | Path | None = None) -> str:
    """What to tell of an error whose number is in `NO_ROOM`."""
    reason = {
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the quota of this user is used up",
        errno.EFBIG: "the file is larger than this process may write (ulimit -f)",
    }[error.errno or errno.ENOSPC]
    where = path or error.filename
    return f"{where}: cannot be written, {reason}" if where else f"{reason}; nothing was written"


def write_whole(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files into a folder; where one cannot be written, all are as they were before.

    Args:
        files: content by name.
        folder: it exists.

    Raises:
        OSError: the folder is read-only, the disk is full, or a name is that of a folder; its
            `filename` is that of the file.
    """
    mark = f".{uuid4().hex[:8]}.partial"
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
            beside.unlink(missing_ok=True)
