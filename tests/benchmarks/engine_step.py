"""The engine on made-up embeddings, warmed up, step by step: what the benchmarks time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from infopursuit.dictionary.learnable import LearnableDictionary
from infopursuit.vip.answering import rule_of
from infopursuit.vip.batches import ImageShard
from infopursuit.vip.captured import CapturedCalls
from infopursuit.vip.histories import HistoryDraws, prefix_masks
from infopursuit.vip.networks import DistinctHistories, HistoryNetwork
from infopursuit.vip.processes import ALONE
from infopursuit.vip.settings import VariationalSettings
from infopursuit.vip.updates import Updates
from tests.benchmarks.problems import problem

SETTINGS = VariationalSettings(
    dictionary="alternating",
    hidden=(2000, 500),
    learning_rate=1e-5,
    dictionary_learning_rate=1e-5,
)
UPDATES = SETTINGS.network_updates
CLASSES = 10
IMAGES = 10_000
WARM_UP_RATE = 3e-4  # of the networks, before the timing

# Images (b, d), labels (b,), sizes (t + 1, b), and orders (t + 1, b, k), which are None where the
# querier is to be rolled out.
Batch = tuple[Tensor, Tensor, Tensor, Tensor | None]


class EngineStep:
    """Networks and dictionary of a size, trained for `warm_up` batches.

    Untrained, a querier asks nearly all images the same queries or different ones at random; only
    a trained one does what the querier does for most of a training.
    """

    def __init__(
        self,
        k: int,
        u: int,
        b: int,
        max_history: int = 128,
        device: str = "cpu",
        warm_up: int = 40,
        hidden: tuple[int, int] = SETTINGS.hidden,
        images: int = IMAGES,
    ) -> None:
        self.b = b
        made = problem(images, u, k, classes=CLASSES)
        self.images = made.images.embeddings.to(device)
        self.labels = made.images.labels.to(device)
        self.k, self.draws = k, HistoryDraws(k, max_history, b, seed=0, device=device)
        self.rows = torch.Generator().manual_seed(0)
        torch.manual_seed(0)
        settings = replace(SETTINGS, max_history=max_history, hidden=hidden)
        dictionary = LearnableDictionary(made.universe.to(device), made.initial.to(device))
        dictionary = dictionary.to(device)
        shard = ImageShard(made.images.embeddings, ALONE, device)
        self.updates = Updates(
            HistoryNetwork(k, k, hidden).to(device),
            HistoryNetwork(k, CLASSES, hidden).to(device),
            dictionary,
            rule_of(settings, dictionary, shard, made.images.labels, made.universe),
            settings,
            b,
        )
        self.call = CapturedCalls()
        self._warm_up(warm_up)

    def _warm_up(self, batches: int) -> None:
        """Train on random histories, then as long on biased ones; back to the rate of settings."""
        networks = self.updates.network_optimizer.param_groups[0]
        networks["lr"] = WARM_UP_RATE
        for batch in range(batches):
            images, labels, sizes, orders = self.draw(random=2 * batch < batches)
            if orders is None:
                self.updates.roll_out(images, sizes)
                orders = self.updates.orders
            masks = prefix_masks(orders, sizes, self.k)
            self.updates.update_networks(images, labels, masks[:UPDATES])
        networks["lr"] = SETTINGS.learning_rate
        self.updates.dictionary.snap()

    def draw(self, random: bool) -> Batch:
        """A batch with the histories of its t + 1 updates, random or to be rolled out."""
        rows = torch.randint(len(self.labels), (self.b,), generator=self.rows)
        sizes = self.draws.sizes(UPDATES + 1)
        orders = self.draws.orders(UPDATES + 1) if random else None
        return self.images[rows], self.labels[rows], sizes, orders

    def step(self, images: Tensor, labels: Tensor, sizes: Tensor, orders: Tensor | None) -> None:
        """t updates of the networks and one of the dictionary, at most one roll-out."""
        updates, call = self.updates, self.call
        if orders is None:
            call(updates.roll_out, images, sizes)
            orders = updates.orders
        masks = prefix_masks(orders, sizes, self.k)
        call(updates.update_networks, images, labels, masks[:UPDATES])
        call(updates.update_dictionary, images, labels, masks[UPDATES])

    def computed(self) -> dict[str, int]:
        """Rows of one roll-out: all, and those of each channel that are computed on a CPU."""
        counts = {"rows": 0, "masks": 0, "answers": 0}
        original = DistinctHistories.add

        def counting(self: DistinctHistories, queries: Tensor, answers: Tensor) -> None:
            original(self, queries, answers)
            counts["rows"] += len(queries)
            counts["masks"] += len(self.mask_first)
            counts["answers"] += int(answers.count_nonzero())

        images, _, sizes, _ = self.draw(random=False)
        DistinctHistories.add = counting
        self.updates.roll_out(images, sizes)
        DistinctHistories.add = original
        return counts


def seconds(call: Callable[[], object], device: str = "cpu") -> float:
    """Wall-clock time of a call, with all that the device still has to do."""
    if device == "cuda":
        torch.cuda.synchronize()
    started = time.perf_counter()
    call()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - started
