"""What runs while a stranger's file is read, seen by an audit hook of Python.

with watched(folder):
    read(folder / "model")

A reader may open files of the folder it is given, of this program and of Python, and nothing else;
it runs no code but theirs, starts no program, unpickles nothing and connects to nobody. Threads
that it starts are seen, those that ran before, such as a cluster's, are not its doing. What a
library does in C alone, such as pyarrow's own opening of a file, the hook does not see.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType

import matplotlib

# Modules of these may run; only those of the last two may make code (dataclasses, templates).
PROGRAM = (str(Path(__file__).parents[1]), sys.prefix, sys.base_prefix)
# Read by Python, torch and the system's libraries at their first use.
SYSTEM = ("/usr", "/etc", "/proc", "/sys", "/dev", "/lib", matplotlib.get_cachedir())
FORBIDDEN = {
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system",
    "pickle.find_class", "socket.connect", "socket.getaddrinfo", "subprocess.Popen",
}  # fmt: skip
_watching: list[tuple[Path, list[str], set[int]]] = []


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """Raise AssertionError at the end if anything else was done in a block of code."""
    seen: list[str] = []
    others = set(sys._current_frames()) - {threading.get_ident()}
    _watching.append((folder, seen, others))
    try:
        yield
    finally:
        _watching.pop()
    assert not seen, f"a reader of a file did {'; '.join(seen[:3])}"


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not _watching:
        return
    folder, seen, others = _watching[-1]
    if threading.get_ident() in others:
        return
    if event in FORBIDDEN:
        seen.append(f"{event} {arguments[:2]!r:.200}")
    elif event == "exec" and isinstance(arguments[0], CodeType):
        file, allowed = arguments[0].co_filename, PROGRAM
        if file.startswith("<"):
            file, allowed = sys._getframe(1).f_code.co_filename, PROGRAM[1:]
        if not (file.startswith("<frozen importlib") or _is_in(file, allowed)):
            seen.append(f"exec of {file}")
    elif event == "open" and isinstance(arguments[0], str | bytes):
        path = os.fsdecode(arguments[0])
        if not _is_in(path, (str(folder), *PROGRAM, *SYSTEM)):
            seen.append(f"open {path}")


def _is_in(path: str, folders: tuple[str, ...]) -> bool:
    real = os.path.realpath(path)
    return any(Path(real).is_relative_to(os.path.realpath(folder)) for folder in folders)


sys.addaudithook(_hook)
