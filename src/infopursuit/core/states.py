"""The state of unfinished work, to go on from: one file, written whole, checked when read."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import torch

from infopursuit.core.errors import InputError
from infopursuit.core.whole_files import whole_file

DIGEST = hashlib.sha256().digest_size


def write_state(state: dict[str, Any], path: Path) -> None:
    """Replace the file by one with this state: its SHA-256, then what torch writes.

    Args:
        state: tensors, numbers, strings, and dictionaries and lists of them.
        path: of the file.

    Raises:
        InputError: there is no room on the disk for the file, or its folder is read-only.
    """
    written = io.BytesIO()  # torch names no reason where it cannot write
    torch.save(state, written)
    content = written.getbuffer()
    with whole_file(path) as partial, partial.open("wb") as file:
        file.write(hashlib.sha256(content).digest())
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def read_state(path: Path) -> dict[str, Any]:
    """What `write_state` wrote, on the CPU.

    Raises:
        InputError: the file is damaged. Torch alone would read on past a changed byte.
    """
    content = path.read_bytes()
    if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
        raise InputError(
            f"{path}: the file is damaged; expected what an unfinished stage left there to go on "
            "from. Delete it, and the stage begins anew"
        )
    return torch.load(io.BytesIO(content[DIGEST:]), map_location="cpu", weights_only=True)
