"""Files: written whole or not at all, hashed, and read with messages that name the place."""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import re
import shutil
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any
from uuid import uuid4

from infopursuit.core.errors import NO_ROOM, READ_ONLY, InputError, explain_os_error

try:
    import fcntl
except ImportError:
    fcntl = None

# How the names of files end while they are being written.
PARTIAL = ".partial"
# Errors of folders that cannot be opened or synced, though files in them can be written.
NO_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EACCES})
# Links in a row, at most; a ring has no end.
LINKS = 40
# Bytes of a file that is read as a whole; a file may claim more than a disk holds.
LARGEST = 2**30
# An escaped half of a surrogate pair; whole pairs have two of them.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """Give a path next to `path` to write to; at the end the file there takes the name `path`.

    If writing fails or is interrupted, `path` stays as it was, and nothing lies next to it. The
    next call removes what a killed process left behind. Each of several writers has its own file.
    A link stays one, a file keeps its mode, and devices and pipes are written to at the end.
    """
    path = _beyond_links(Path(path))
    with _user_errors(path):
        if _takes_what_comes(path):
            with TemporaryDirectory() as folder:
                partial = Path(folder) / "content"
                yield partial
                with partial.open("rb") as content, _stream(path) as stream:
                    shutil.copyfileobj(content, stream)
            return
        with made_folder(path.parent), _partial(path) as partial:
            yield partial
            _sync(partial)
            _take_name(partial, path)
            _sync(path.parent)


@contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Make a folder; if what is written there fails, new folders that are empty are removed."""
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for each in new:
            with suppress(OSError):  # it is not empty, or not there
                each.rmdir()
        raise


def _beyond_links(path: Path) -> Path:
    """Return the path that links lead to; an open file of a process has no name of its own."""
    for _ in range(LINKS):
        if not path.is_symlink() or path.parts[1:2] == ("proc",):
            break
        path = path.parent / path.readlink()
    return path


def _takes_what_comes(path: Path) -> bool:
    """Return whether this is a device, a pipe or an open file, such as the standard output."""
    return path.parts[1:2] == ("proc",) or (path.exists() and not (path.is_file() or path.is_dir()))


def _stream(path: Path) -> IO[bytes]:
    own = path.parts[1:] == ("proc", "self", "fd", path.name)  # what others wrote to it stays
    return os.fdopen(os.dup(int(path.name)), "ab") if own else path.open("ab")


def _take_name(partial: Path, path: Path) -> None:
    """Give a written file the name, and the mode of the file that had it."""
    with suppress(FileNotFoundError):
        partial.chmod(stat.S_IMODE(path.stat().st_mode))
    partial.replace(path)


@contextmanager
def _partial(path: Path) -> Iterator[Path]:
    """Give a file that this process alone writes, and remove it at the end if it is still there."""
    for left in path.parent.glob(f"{glob.escape(path.name)}.{'[0-9a-f]' * 8}{PARTIAL}"):
        with suppress(OSError), left.open("rb") as file:  # a living process holds its own
            _hold(file)
            left.unlink()
    partial = path.with_name(f"{path.name}.{uuid4().hex[:8]}{PARTIAL}")
    try:
        with partial.open("xb") as file:
            with suppress(OSError):  # where nothing can be held, nobody removes it either
                _hold(file)
            yield partial
    finally:
        _remove(partial)


def _hold(file: IO[bytes]) -> None:
    """Hold a file until it is closed.

    Raises:
        OSError: another process holds it, or it cannot be held on this system or disk.
    """
    if fcntl is None:  # Windows renames no file that is open
        file.close()
        raise OSError("files cannot be held on this system")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync(path: Path) -> None:
    """Wait until the disk has a file or, where the system can do that, the names in a folder."""
    if fcntl is None:  # Windows opens no folder, and syncs no file that is only read
        return
    folder = path.is_dir()
    try:
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
    except OSError as error:
        if not (folder and error.errno in NO_SYNC):
            raise


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """Give an empty folder next to `path` to write to; at the end it takes the name `path`.

    If writing fails or is interrupted, `path` stays as it was. The next call removes what a killed
    process left behind.
    """
    path = _beyond_links(Path(path))
    partial = path.with_name(f"{path.name}{PARTIAL}")
    with _user_errors(path):
        _remove(partial)
        try:
            partial.mkdir(parents=True)
            yield partial
            _remove(path)
            partial.replace(path)
        finally:
            _remove(partial)


@contextmanager
def _user_errors(path: Path) -> Iterator[None]:
    """Raise InputError for what a disk refuses to take."""
    try:
        yield
    except OSError as error:
        name = None if error.filename is None else Path(error.filename)
        partial = name is not None and name.parent == path.parent and name.suffix == PARTIAL
        writing = name is None or partial or name in (path, *path.parents)
        if error.errno in NO_ROOM or (error.errno in READ_ONLY and writing):
            raise InputError(explain_os_error(error, path)) from error
        raise


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():  # a read-only disk refuses even to remove what does not exist
        path.unlink(missing_ok=True)


def remove_partial(folder: Path) -> None:
    """Remove what killed processes left in a folder; no living one may be writing there."""
    for partial in folder.glob(f"*{PARTIAL}"):
        _remove(partial)


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8, atomically."""
    with atomic_write(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="")


def write_text_list(path: str | Path, texts: Sequence[str]) -> None:
    """Write one text a line."""
    write_text(path, "".join(f"{text}\n" for text in texts))


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files into a folder; if one cannot be written, all stay as they were.

    They take their names one after the other, in their order.
    """
    with ExitStack() as stack:
        partial: dict[Path, Path] = {}
        streams: dict[Path, bytes] = {}
        for name, content in files.items():
            path = _beyond_links(folder / name)
            if path.is_dir():
                raise IsADirectoryError(f"{path} is a folder; expected a file or nothing")
            if _takes_what_comes(path):
                streams[path] = content
                continue
            try:
                partial[path] = stack.enter_context(_partial(path))
                partial[path].write_bytes(content)
                _sync(partial[path])
            except OSError as error:
                error.filename = str(path)  # a failing write does not name the file
                raise
        for path, content in streams.items():
            with _stream(path) as stream:
                stream.write(content)
        for path, temporary in partial.items():
            _take_name(temporary, path)
        _sync(folder)


def file_sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_sha256(content: Any) -> str | None:
    """Return the SHA-256 of bytes, or of the file at a path; None for what is neither."""
    if isinstance(content, bytes | bytearray | memoryview):
        return hashlib.sha256(content).hexdigest()
    if isinstance(content, str | Path) and is_file(Path(content)):
        return file_sha256(content)
    return None  # a missing file, or no bytes: whoever reads it says why


def table_sha256(path: str | Path) -> str:
    """Return the SHA-256 of a table: of its file, or of the names and SHA-256 of its shards."""
    path = Path(path)
    if not path.is_dir():
        return file_sha256(path)
    return settings_sha256({file.name: file_sha256(file) for file in sorted(path.iterdir())})


def settings_sha256(settings: Mapping[str, Any]) -> str:
    """Return the SHA-256 of JSON-like settings, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def check_writable(path: Path, option: str, folder: bool = False) -> None:
    """Raise InputError unless a file can be written there, or a folder made: before work.

    A folder may be a new one in new folders, a file needs a folder that is there.
    """
    what, other = ("a folder", "a file") if folder else ("a file", "a folder")
    if path.exists() and path.is_dir() != folder:
        raise InputError(f"{option} {path}: is {other}; expected {what}, or nothing")
    above = path.absolute().parent
    there = next(each for each in (above, *above.parents) if each.exists())
    if not there.is_dir() or not (folder or there == above):
        kind = "a file" if there == above else "nothing"
        raise InputError(f"{option} {path}: {above} is {kind}; expected a folder")
    if not os.access(path if path.exists() else there, os.W_OK):
        raise InputError(f"{option} {path}: {there} is read-only; expected another place")


def is_file(path: Path) -> bool:
    """Return whether a file exists; False for a name that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def check_regular(path: Path) -> None:
    """Raise InputError for a pipe or a device, which may end never or have no data."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{path}: not a regular file; expected one")


def suffix_of(path: str | Path, what: str, kinds: Mapping[str, str]) -> str:
    """Return the suffix of a file; InputError unless it is one of `kinds` (suffix to name)."""
    suffix = Path(path).suffix
    if suffix not in kinds:
        *first, last = (f"{name} ({known})" for known, name in kinds.items())
        expected = f"{', '.join(first)} or {last}"
        raise InputError(f"{path}: unknown kind of {what} {suffix!r}; expected {expected}")
    return suffix


def read_bytes(path: str | Path, expected: str, most: int = LARGEST) -> bytes:
    """Return the content of a regular file of at most `most` bytes."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InputError(f"{path}: not a regular file; {expected}")
            if status.st_size > most:
                raise InputError(
                    f"{path}: {status.st_size / 1e6:,.0f} MB; expected at most {most / 1e6:,.0f} MB"
                )
            return file.read()
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; {expected}") from error
    except (OSError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or "there is not enough memory for it"
        raise InputError(f"{path}: cannot be read ({reason}); {expected}") from error


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe to which nobody writes would wait for ever."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_text(path: str | Path, expected: str, most: int = LARGEST) -> str:
    """Return the text of a file in UTF-8, without the byte order mark that Windows writes."""
    try:
        text = read_bytes(path, expected, most).decode("utf-8-sig")
    except ValueError as error:  # a path that no file can have is one, too
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not a readable UTF-8 text file ({error})") from error
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_text_list(path: str | Path) -> list[str]:
    """Read one text a line, in order, without blank lines and surrounding blanks."""
    lines = read_text(path, "expected one text a line").splitlines()
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text:
            continue
        if text in seen:
            raise InputError(f"{path}: line {number} repeats {text!r} of line {seen[text]}")
        seen[text] = number
    if not seen:
        raise InputError(f"{path}: the file is empty; expected one text a line")
    return list(seen)


def read_json(path: str | Path, expected: str, most: int = LARGEST) -> Any:
    """Return the value in a JSON file."""
    text = read_text(path, expected, most)
    try:
        return _parse_json(text)
    except (ValueError, RecursionError) as error:
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{path}: not valid JSON{line}: {_fault(error)}; {expected}") from error


def packaged_toml(package: str, name: str) -> dict[str, Any]:
    """Return the data of a TOML file that ships in a package."""
    return tomllib.loads(files(package).joinpath(name).read_text(encoding="utf-8"))


def json_lines(path: str | Path, expected: str, form: str) -> Iterator[tuple[int, Any]]:
    """Yield the values in a file of one JSON value a line, each with the number of its line.

    Numbers begin at 1; blank lines are skipped.
    """
    # Not splitlines: a JSON text may hold other characters that Unicode counts as line ends.
    for number, line in enumerate(read_text(path, expected).split("\n"), start=1):
        if line.strip():
            try:
                yield number, _parse_json(line)
            except (ValueError, RecursionError) as error:
                fault = f"line {number} is not valid JSON: {_fault(error)}"
                raise InputError(f"{path}: {fault}; {form}") from error


def _parse_json(text: str) -> Any:
    value = json.loads(text)
    if _SURROGATE.search(text):
        json.dumps(value, ensure_ascii=False).encode()  # half a pair is an error
    return value


def _fault(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "lists or objects too deep in one another"
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)
