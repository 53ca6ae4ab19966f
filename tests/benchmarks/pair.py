"""The engine and the naive implementation side by side: the cases that the benchmarks time."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from infopursuit.pursuit.rollout import roll_out
from infopursuit.vip.captured import WARM_UP
from tests.benchmarks.engine_step import IMAGES, SETTINGS, UPDATES, EngineStep, seconds
from tests.benchmarks.naive import Naive


@dataclass(frozen=True)
class Case:
    """One row of the table, and what it has to reach on a CPU and on a GPU."""

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
        self.engine = EngineStep(
            case.k,
            case.u,
            case.b,
            device=device,
            warm_up=warm_up,
            hidden=case.hidden,
            images=case.images,
        )
        updates = self.engine.updates
        copies = copy.deepcopy((updates.querier, updates.classifier))
        theta = updates.dictionary.theta.detach().clone().requires_grad_()
        self.naive = Naive(
            *copies,
            theta,
            updates.dictionary.universe.float(),
            torch.optim.AdamW(
                [p for network in copies for p in network.parameters()],
                SETTINGS.learning_rate,
                weight_decay=SETTINGS.weight_decay,
                fused=True,
            ),
            torch.optim.Adam([theta], SETTINGS.dictionary_learning_rate, fused=True),
            SETTINGS.temperature[0],
        )

    def run_naive(
        self, images: Tensor, labels: Tensor, sizes: Tensor, orders: Tensor | None
    ) -> None:
        """One step, in the biased phase with a roll-out for every update, or the evaluation."""
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
        """The same with the engine."""
        if self.case.kind != "evaluation":
            self.engine.step(*batch)
            return
        updates = self.engine.updates
        answers = updates.answers(self.engine.images).detach()
        found = roll_out(updates.querier, updates.classifier, answers, self.case.budget)
        found.posteriors.argmax(dim=2)


def times(pair: Pair, device: str, repeats: int) -> list[tuple[float, float]]:
    """Seconds of naive implementation and engine in turn.

    One turn before them does not count; the evaluation, minutes of the same step, needs none and
    is done three times. On a GPU the engine's steps are captured before anything is timed.
    """
    steps = pair.case.kind != "evaluation"
    for _ in range(WARM_UP + 1 if steps and device == "cuda" else 0):
        pair.run_engine(*pair.engine.draw(random=pair.case.kind == "random"))
    measured = []
    for _ in range(repeats + 1 if steps else 3):
        drawn = pair.engine.draw(random=pair.case.kind == "random")
        naive = seconds(partial(pair.run_naive, *drawn), device)
        engine = seconds(partial(pair.run_engine, *drawn), device)
        print(f"{pair.case.name}: naive {naive:.2f} s, engine {engine:.3f} s", flush=True)
        measured.append((naive, engine))
    return measured[1:] if steps else measured
