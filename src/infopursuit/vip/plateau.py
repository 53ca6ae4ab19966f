"""When training stops to gain: the rates fall, and then the phase ends."""

from __future__ import annotations

from typing import Any

# What the rates are multiplied by, and how often they fall: the phase ends in place of one more.
FACTOR, FALLS = 0.3, 2


class Plateau:
    """Watches the held-out AUC of one phase.

    After `patience` updates without a better AUC the rates fall to FACTOR of what they were. After
    FALLS falls the phase is over in place of one more. Without patience nothing happens.

    Args:
        patience: updates of the networks; 0 for none.
        begin: updates before the phase.
    """

    def __init__(self, patience: int, begin: int = 0) -> None:
        self.patience = patience
        self.falls, self.best, self.since = 0, -1.0, begin

    def consider(self, area: float, updates: int) -> None:
        """Take note of a held-out AUC."""
        if area > self.best:
            self.best, self.since = area, updates
        elif self.patience and updates - self.since >= self.patience:
            self.falls, self.since = self.falls + 1, updates

    @property
    def over(self) -> bool:
        """Whether the phase has ended."""
        return self.falls > FALLS

    @property
    def done(self) -> float:
        """The share of the falls that the rates have had, in [0, 1]."""
        return self.falls / FALLS

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on from here."""
        return {"falls": self.falls, "best": self.best, "since": self.since}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.falls, self.best, self.since = state["falls"], state["best"], state["since"]
