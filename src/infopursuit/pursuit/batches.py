"""Mini-batches: a shuffled pass over all images, then another, resumable at any batch."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor


class Batches:
    """Endless batches of row numbers; every pass is a new permutation of the n images.

    The last batch of a pass is completed from the next one, so that all batches have one size
    (n, where there are fewer images than that).
    """

    def __init__(self, n: int, batch_size: int, seed: int) -> None:
        self.n, self.size = n, min(batch_size, n)
        self.generator = torch.Generator().manual_seed(seed)
        self.waiting = torch.empty(0, dtype=torch.long)

    def next(self) -> Int[Tensor, " b"]:
        """Rows of the next batch, on the CPU."""
        if len(self.waiting) < self.size:
            permutation = torch.randperm(self.n, generator=self.generator)
            self.waiting = torch.cat((self.waiting, permutation))
        batch, self.waiting = self.waiting[: self.size], self.waiting[self.size :]
        return batch

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on from here."""
        return {"generator": self.generator.get_state(), "waiting": self.waiting.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.generator.set_state(state["generator"])
        self.waiting = state["waiting"]
