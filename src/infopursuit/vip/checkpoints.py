"""Checkpoints of a training run: killed at any moment, it resumes and ends in the same bytes."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch

from infopursuit.core.whole_files import remove_whole, whole_file


@runtime_checkable
class Resumable(Protocol):
    """Something whose whole state goes into a dictionary and comes back from it."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


class Checkpoint:
    """One file, replaced atomically, at most once every `seconds`.

    Args:
        path: the file; its name must depend on everything that the run depends on.
        seconds: pause between two saves; 0 saves every time.
    """

    def __init__(self, path: str | Path, seconds: float) -> None:
        self.path, self.seconds = Path(path), seconds
        self.saved = time.monotonic()

    def restore(self, run: Resumable) -> bool:
        """Load the last checkpoint into `run`; False where there is none."""
        if not self.path.is_file():
            return False
        run.load_state_dict(torch.load(self.path, map_location="cpu", weights_only=True))
        return True

    def save_if_due(self, run: Resumable) -> None:
        """Save unless the last save is less than `seconds` ago."""
        if time.monotonic() - self.saved >= self.seconds:
            self.save(run)

    def save(self, run: Resumable) -> None:
        """Write to a file beside the checkpoint, then put it in place."""
        state = io.BytesIO()  # torch names no reason where it cannot write
        torch.save(run.state_dict(), state)
        with whole_file(self.path) as partial, partial.open("wb") as file:
            file.write(state.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        self.saved = time.monotonic()

    def remove(self) -> None:
        """Forget the run; call when its outputs are written."""
        remove_whole(self.path)
