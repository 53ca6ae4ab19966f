"""What an update draws: a mini-batch of images, spread over processes, and their histories.

A pass over all images is shuffled, then comes another. A history says which queries of the
dictionary have been asked, as a mask (b, k) of zeros and ones. The answers are kept apart, (b, k)
for all queries; a history is the pair answers * mask, mask (appendix "Representing and Updating
Query-Answer Histories").
"""

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


# -- histories -----------------------------------------------------------------------------------


def sample_sizes(
    batch: int, k: int, max_history: int, generator: torch.Generator
) -> Int[Tensor, " b"]:
    """Draw history sizes, uniform on {0, ..., min(max_history, k) - 1}: one query is left."""
    sizes = min(max_history, k)
    uniform = torch.rand(batch, generator=generator, dtype=torch.float64)
    return (uniform * sizes).long().clamp_(max=sizes - 1)


def random_orders(batch: int, k: int, generator: torch.Generator) -> Int[Tensor, "b k"]:
    """Return random permutations of the queries; their prefixes are uniformly random subsets."""
    keys = torch.rand(batch, k, generator=generator, device=generator.device)
    return keys.argsort(dim=1)


def prefix_masks(
    orders: Int[Tensor, "*_ b length"], sizes: Int[Tensor, "*r b"], k: int
) -> Float[Tensor, "*r b k"]:
    """Return the first sizes[..., i] queries of orders[..., i], as masks.

    Orders (b, length) stand for those of each of r updates: the prefixes of one roll-out nest.
    """
    within = torch.arange(orders.shape[-1], device=orders.device) < sizes.unsqueeze(-1)
    # What is beyond a size goes to a spare column: writes never collide with different values.
    columns = torch.where(within, orders, k)
    spare = torch.zeros(*sizes.shape, k + 1, device=orders.device)
    return spare.scatter_(-1, columns, 1.0)[..., :k]


class HistoryDraws:
    """Random sizes of histories, and random histories, for batches of b images over k queries."""

    def __init__(
        self, k: int, max_history: int, batch: int, seed: int, device: torch.device | str = "cpu"
    ) -> None:
        self.k, self.max_history, self.batch = k, max_history, batch
        self.of_sizes = torch.Generator().manual_seed(seed)
        # Orders are many numbers: they are drawn where they are used.
        self.of_orders = torch.Generator(device).manual_seed(seed)

    def sizes(self, updates: int) -> Int[Tensor, "r b"]:
        """Return sizes for r updates, on the device."""
        drawn = [
            sample_sizes(self.batch, self.k, self.max_history, self.of_sizes)
            for _ in range(updates)
        ]
        return torch.stack(drawn).to(self.of_orders.device, non_blocking=True)

    def orders(self, updates: int) -> Int[Tensor, "r b k"]:
        """Return random permutations of the queries for r updates."""
        orders = random_orders(updates * self.batch, self.k, self.of_orders)
        return orders.view(updates, self.batch, self.k)

    def state_dict(self) -> dict[str, Any]:
        return {"sizes": self.of_sizes.get_state(), "orders": self.of_orders.get_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.of_sizes.set_state(state["sizes"])
        self.of_orders.set_state(state["orders"])
