"""Checkpoints of a training run: killed at any moment, it resumes and ends in the same bytes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from infopursuit.core.states import read_state, write_state
from infopursuit.core.whole_files import remove_whole


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
        """Load the last checkpoint into `run`; False where there is none.

        Raises:
            InputError: the file is damaged.
        """
        if not self.path.is_file():
            return False
        run.load_state_dict(read_state(self.path))
        return True

    def save_if_due(self, run: Resumable) -> None:
        """Save unless the last save is less than `seconds` ago."""
        if time.monotonic() - self.saved >= self.seconds:
            self.save(run)

    def save(self, run: Resumable) -> None:
        """Replace the checkpoint by the state of `run`."""
        write_state(run.state_dict(), self.path)
        self.saved = time.monotonic()

    def remove(self) -> None:
        """Forget the run; call when its outputs are written."""
        remove_whole(self.path)
