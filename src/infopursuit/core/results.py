"""Finished results in a folder, by key: a stopped stage goes on, and nothing is made twice.

    <folder>/<hash of inputs and settings>/<key>

Embeddings, answers of language models, searches for medoids and training runs keep their progress
here. A file appears under its key when it is complete, so processes may share a folder and be
killed at any moment. Values are Parquet, JSON lines or tensors, never pickles (as in diskcache):
reading what a stranger left in a folder runs no code.
"""

from __future__ import annotations

import glob
import hashlib
import io
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit.core.errors import InputError
from infopursuit.core.files import PARTIAL, atomic_write

DIGEST = hashlib.sha256().digest_size


def job_digest(parts: Iterable[str | np.ndarray], digits: int = 16) -> str:
    """Return hexadecimal digits that change with any part, or with their order."""
    digest = hashlib.sha256()
    for number, part in enumerate(parts):
        if number:
            digest.update(b"\0")
        digest.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).data)
    return digest.hexdigest()[:digits]


class ResultFolder:
    """The finished results of one job."""

    def __init__(self, parent: str | Path, job: str = "") -> None:
        self.parent = Path(parent)
        self.folder = self.parent / job

    def path(self, key: str) -> Path:
        """Return where the result of `key` is, once it is finished."""
        return self.folder / key

    def keys(self) -> set[str]:
        """Return the keys of all finished results."""
        if not self.folder.is_dir():
            return set()
        return {path.name for path in self.folder.iterdir() if path.suffix != PARTIAL}

    @contextmanager
    def write(self, key: str) -> Iterator[Path]:
        """Give a path to write to; at the end the file there becomes the result of `key`."""
        with atomic_write(self.path(key)) as partial:
            yield partial

    def write_state(self, key: str, state: dict[str, Any]) -> None:
        """Keep the state of unfinished work: tensors, numbers, strings, and containers of them."""
        import torch

        written = io.BytesIO()  # torch itself gives no reason when it cannot write
        torch.save(state, written)
        content = written.getbuffer()
        with self.write(key) as partial, partial.open("wb") as file:
            file.write(hashlib.sha256(content).digest())
            file.write(content)

    def read_state(self, key: str) -> dict[str, Any] | None:
        """Return what `write_state` kept, on the CPU; None if there is nothing."""
        import torch

        path = self.path(key)
        if not path.is_file():
            return None
        content = path.read_bytes()
        if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
            raise InputError(
                f"{path}: the file is damaged; expected the state of an unfinished stage. Delete "
                "it, and the stage starts from the beginning"
            )
        return torch.load(io.BytesIO(content[DIGEST:]), map_location="cpu", weights_only=True)

    def remove(self, key: str | None = None) -> None:
        """Remove one result, and what killed processes left of it; without a key the whole job."""
        if key is None:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        self.path(key).unlink(missing_ok=True)
        for partial in self.folder.glob(f"{glob.escape(key)}.*{PARTIAL}"):
            partial.unlink(missing_ok=True)

    def remove_other_jobs(self) -> None:
        """Remove the results of other inputs and settings."""
        if self.parent.is_dir():
            for other in sorted(self.parent.iterdir()):
                if other != self.folder:
                    shutil.rmtree(other)
