"""Checkpoints of a training run: killed at any moment, it resumes and ends in the same bytes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from infopursuit.core.results import ResultFolder


@runtime_checkable
class Resumable(Protocol):
    """Something whose whole state goes into a dictionary and comes back from it."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


class Checkpoint:
    """One file, replaced atomically, at most once every `seconds`."""

    def __init__(self, path: str | Path, seconds: float) -> None:
        self.path, self.seconds = Path(path), seconds
        self.results = ResultFolder(self.path.parent)
        self.saved = time.monotonic()

    def restore(self, run: Resumable) -> bool:
        """Load the last checkpoint into `run`; False if there is no checkpoint."""
        state = self.results.read_state(self.path.name)
        if state is not None:
            run.load_state_dict(state)
        return state is not None

    def save_if_due(self, run: Resumable) -> None:
        """Save unless the last save is less than `seconds` ago."""
        if time.monotonic() - self.saved >= self.seconds:
            self.save(run)

    def save(self, run: Resumable) -> None:
        """Replace the checkpoint by the state of `run`."""
        self.results.write_state(self.path.name, run.state_dict())
        self.saved = time.monotonic()

    def remove(self) -> None:
        """Forget the run; call when its outputs are written."""
        self.results.remove(self.path.name)
