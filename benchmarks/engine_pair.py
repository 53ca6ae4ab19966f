"""The engine and the naive implementation on made-up embeddings, for the benchmarks to time."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks.harness import seconds
from benchmarks.made_up import problem
from benchmarks.naive import Naive
from infopursuit.pursuit.dictionary.learnable import LearnableDictionary
from infopursuit.pursuit.rollout import roll_out
from infopursuit.pursuit.vip.batches import HistoryDraws, ImageShard, prefix_masks
from infopursuit.pursuit.vip.cuda_graphs import WARM_UP, CapturedCalls
from infopursuit.pursuit.vip.distributed import ALONE
from infopursuit.pursuit.vip.networks import HistoryNetwork
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.pursuit.vip.updates import Updates, answer_rule

SETTINGS = VariationalSettings(
    dictionary="alternating",
    hidden=(2000, 500),
    learning_rate=1e-5,
    dictionary_learning_rate=1e-5,
)
UPDATES = SETTINGS.network_updates
CLASSES = 10
IMAGES = 10_000
MAX_HISTORY = 128
WARM_UP_RATE = 3e-4  # of the networks, before the timing

# Images (b, d), labels (b,), sizes (t + 1, b) and orders (t + 1, b, k), which are None if the
# querier has to be rolled out.
Batch = tuple[Tensor, Tensor, Tensor, Tensor | None]


class EngineStep:
    """Networks and dictionary of a size, trained for `warm_up` batches.

    An untrained querier asks nearly all images the same queries, or different ones at random; only
    a trained one asks as it does during most of a training.
    """

    def __init__(
        self,
        k: int,
        u: int,
        b: int,
        device: str = "cpu",
        warm_up: int = 40,
        hidden: tuple[int, int] = SETTINGS.hidden,
        images: int = IMAGES,
    ) -> None:
        self.b = b
        made = problem(images, u, k, classes=CLASSES)
        shard = ImageShard(made.images.embeddings, ALONE, device)
        self.images = shard.own
        self.labels = made.images.labels.to(device)
        self.k, self.draws = k, HistoryDraws(k, MAX_HISTORY, b, seed=0, device=device)
        self.rows = torch.Generator().manual_seed(0)
        torch.manual_seed(0)
        settings = replace(SETTINGS, max_history=MAX_HISTORY, hidden=hidden)
        dictionary = LearnableDictionary(made.universe.to(device), made.initial.to(device))
        dictionary = dictionary.to(device)
        self.updates = Updates(
            HistoryNetwork(k, k, hidden).to(device),
            HistoryNetwork(k, CLASSES, hidden).to(device),
            dictionary,
            answer_rule(settings, dictionary, shard, made.images.labels, made.universe),
            settings,
            b,
        )
        self.call = CapturedCalls()
        self._warm_up(warm_up)

    def _warm_up(self, batches: int) -> None:
        """Train on random histories, then as long on biased ones, at a higher learning rate."""
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
        """Draw a batch with the histories of its t + 1 updates, random or to be rolled out."""
        rows = torch.randint(len(self.labels), (self.b,), generator=self.rows)
        sizes = self.draws.sizes(UPDATES + 1)
        orders = self.draws.orders(UPDATES + 1) if random else None
        return self.images[rows], self.labels[rows], sizes, orders

    def step(self, images: Tensor, labels: Tensor, sizes: Tensor, orders: Tensor | None) -> None:
        """Make t updates of the networks and one of the dictionary, with at most one roll-out."""
        updates, call = self.updates, self.call
        if orders is None:
            call(updates.roll_out, images, sizes)
            orders = updates.orders
        masks = prefix_masks(orders, sizes, self.k)
        call(updates.update_networks, images, labels, masks[:UPDATES])
        call(updates.update_dictionary, images, labels, masks[UPDATES])


@dataclass(frozen=True)
class Case:
    """One row of the table, and the ratio to reach on a CPU and on a GPU."""

    name: str
    kind: str  # `biased` or `random` step, or `evaluation`
    k: int
    target: dict[str, float]
    u: int = 300_000
    b: int = 256
    images: int = IMAGES
    hidden: tuple[int, int] = SETTINGS.hidden
    budget: int = 128


CASES = [
    Case("biased step, k = 128", "biased", 128, {"cpu": 12, "cuda": 30}),
    Case("biased step, k = 824", "biased", 824, {"cpu": 25, "cuda": 40}),
    Case("random step, k = 128", "random", 128, {"cpu": 10, "cuda": 5}),
    Case("evaluation of 10,000 images, k = 128", "evaluation", 128, {"cpu": 3, "cuda": 10}),
]


class Pair:
    """Engine and naive implementation of one case, with the same weights."""

    def __init__(self, case: Case, device: str, warm_up: int) -> None:
        self.case = case
        shape = {"hidden": case.hidden, "images": case.images}
        self.engine = EngineStep(case.k, case.u, case.b, device=device, warm_up=warm_up, **shape)
        updates = self.engine.updates
        universe = updates.dictionary.universe.float()
        self.naive = Naive(updates, universe, SETTINGS, fused=True)

    def run_naive(
        self, images: Tensor, labels: Tensor, sizes: Tensor, orders: Tensor | None
    ) -> None:
        """Run one step, in the biased phase with a roll-out for every update, or the evaluation."""
        naive = self.naive
        if self.case.kind == "evaluation":
            naive.evaluate(self.engine.images, self.case.budget)
        elif orders is None:
            masks = (naive.biased_masks(images, drawn) for drawn in sizes)
            naive.alternating_step(images, labels, masks, UPDATES)
        else:
            masks = map(naive.random_masks, sizes, orders)
            naive.alternating_step(images, labels, masks, UPDATES)

    def run_engine(self, *batch: Any) -> None:
        """Run the same with the engine."""
        if self.case.kind != "evaluation":
            self.engine.step(*batch)
            return
        updates = self.engine.updates
        answers = updates.answers(self.engine.images).detach()
        rolled = roll_out(updates.querier, updates.classifier, answers, self.case.budget)
        rolled.posteriors.argmax(dim=2)


def median_seconds(pair: Pair, device: str, repeats: int) -> tuple[float, float]:
    """Return median seconds of the naive implementation and of the engine, timed in turn.

    One turn before them does not count; the evaluation, minutes of the same step, needs none and
    is done three times. On a GPU the engine's steps are captured before anything is timed.
    """
    steps, random = pair.case.kind != "evaluation", pair.case.kind == "random"
    for _ in range(WARM_UP + 1 if steps and device == "cuda" else 0):
        pair.run_engine(*pair.engine.draw(random))
    measured = []
    for _ in range(repeats + 1 if steps else 3):
        drawn = pair.engine.draw(random)
        naive = seconds(partial(pair.run_naive, *drawn), device)
        engine = seconds(partial(pair.run_engine, *drawn), device)
        print(f"{pair.case.name}: naive {naive:.2f} s, engine {engine:.3f} s", flush=True)
        measured.append((naive, engine))
    naive, engine = map(statistics.median, zip(*measured[int(steps) :], strict=True))
    return naive, engine


@torch.no_grad()
def margins(engine: EngineStep, naive: Naive, images: int = 1024) -> dict[str, float]:
    """Compare the orders of engine and naive implementation, which have the same weights.

    Returns:
        other_orders: the share of images with another order.
        closest_calls: for those, the largest lead (in logits) of one choice over the other where
            the two orders first differ.
    """
    updates = engine.updates
    answers = updates.answers(engine.images[:images])
    k = answers.shape[1]
    budget = min(128, k)
    orders = roll_out(updates.querier, updates.classifier, answers, budget).order
    expected, _ = naive.evaluate(engine.images[:images], budget)
    differs = orders != expected
    rows = differs.any(dim=1).nonzero().squeeze(1)
    if not len(rows):
        return {"other_orders": 0.0, "closest_calls": 0.0}
    first = differs[rows].long().argmax(dim=1)
    logits = naive.querier(answers[rows], prefix_masks(expected[rows], first, k))
    at = first.unsqueeze(1)
    choices = torch.cat((expected[rows].gather(1, at), orders[rows].gather(1, at)), dim=1)
    leads = logits.gather(1, choices).diff(dim=1).abs()
    return {"other_orders": len(rows) / images, "closest_calls": leads.max().item()}
