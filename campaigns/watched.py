"""What runs while a stranger's file is read, seen by an audit hook of Python.

with watched(folder):
    read(folder / "model")

A reader may open files of the folder it is given, of this program and of Python, and nothing else;
it runs no code, starts no program, unpickles nothing and connects to nobody.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Read by Python, torch and the system's libraries at their first use.
ELSEWHERE = (ROOT, sys.prefix, sys.base_prefix, "/usr", "/etc", "/proc", "/sys", "/dev", "/lib")
FORBIDDEN = {
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system",
    "pickle.find_class", "socket.connect", "socket.getaddrinfo", "subprocess.Popen",
}  # fmt: skip
_watching: list[tuple[int, tuple[str, ...], list[str]]] = []


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """Raise AssertionError at the end if this thread did anything else in a block of code."""
    allowed = tuple(os.path.realpath(each) for each in (folder, *ELSEWHERE))
    seen: list[str] = []
    _watching.append((threading.get_ident(), allowed, seen))
    try:
        yield
    finally:
        _watching.pop()
    assert not seen, f"a reader of a file did {'; '.join(seen[:3])}"


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not _watching or _watching[-1][0] != threading.get_ident():
        return
    _, allowed, seen = _watching[-1]
    if event in FORBIDDEN:
        seen.append(f"{event} {arguments[:2]!r:.200}")
    elif event == "exec":
        caller = sys._getframe(1).f_code.co_filename
        # Imports run modules, and the standard library makes classes (dataclasses, namedtuple).
        if not caller.startswith(("<frozen importlib", sys.base_prefix, sys.prefix)):
            seen.append(f"exec in {caller}")
    elif event == "open" and isinstance(arguments[0], str | bytes):
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if not path.startswith(allowed):
            seen.append(f"open {path}")


sys.addaudithook(_hook)
