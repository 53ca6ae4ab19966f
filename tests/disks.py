"""Small and read-only disks, for tests of what happens on them. Root alone can mount them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A tmpfs over a folder, such as one with `size=16k` or `ro`.

    Raises:
        PermissionError: nothing may be mounted here.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        raise PermissionError(f"{folder}: no disk can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def mounted_or_skip(folder: Path, options: str) -> Iterator[None]:
    """The same; where nothing may be mounted the test is skipped."""
    with ExitStack() as stack:
        try:
            stack.enter_context(mounted(folder, options))
        except PermissionError:
            pytest.skip("a small disk can be mounted by root alone")
        yield
