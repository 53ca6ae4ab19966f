"""Mini-batches: a shuffled pass over all images, then another; and images over processes."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.pursuit.vip.distributed import Processes


class Batches:
    """Endless batches of row numbers; every pass is a new permutation of the n images.

    The last batch of a pass is completed from the next one, so that all batches have one size
    (n if there are fewer images than that). They can be resumed at any batch.
    """

    def __init__(self, n: int, batch_size: int, seed: int) -> None:
        self.n, self.size = n, min(batch_size, n)
        self.generator = torch.Generator().manual_seed(seed)
        self.waiting = torch.empty(0, dtype=torch.long)

    def next(self) -> Int[Tensor, " b"]:
        """Return the rows of the next batch, on the CPU."""
        if len(self.waiting) < self.size:
            permutation = torch.randperm(self.n, generator=self.generator)
            self.waiting = torch.cat((self.waiting, permutation))
        batch, self.waiting = self.waiting[: self.size], self.waiting[self.size :]
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Return the state to go on from here."""
        return {"generator": self.generator.get_state(), "waiting": self.waiting.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.generator.set_state(state["generator"])
        self.waiting = state["waiting"]


@runtime_checkable
class ImageRows(Protocol):
    """n images of which each process reads its own share."""

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int) -> Float[Tensor, "m d"]:
        """Return images `start` to `stop` - 1; unit norm, float32."""
        ...


class ImageShard:
    """n images, of which a process keeps its share on its device, and reads no others.

    Attributes:
        place: which rows the share is.
        own: (m, d) these.
    """

    def __init__(
        self,
        images: Float[Tensor, "n d"] | ImageRows,
        processes: Processes,
        device: torch.device | str,
    ) -> None:
        self.processes = processes
        self.place = processes.share(len(images))
        if isinstance(images, Tensor):
            self.own = images[self.place].to(device)
        else:
            self.own = images.read(self.place.start, self.place.stop).to(device)

    def take(self, rows: Int[Tensor, " b"]) -> Float[Tensor, "b d"]:
        """Return images of the whole set on every process; all of them call with the same rows."""
        if self.processes.count == 1:
            return self.own[rows]
        mine = (rows >= self.place.start) & (rows < self.place.stop)
        if not len(self.own):  # fewer images than processes
            return self.processes.sum(self.own.new_zeros(len(rows), self.own.shape[1]))
        local = torch.where(mine, rows - self.place.start, 0)
        # Every image is zero on all processes but one: the sum is the image, to the bit.
        return self.processes.sum(self.own[local] * mine.unsqueeze(1))
