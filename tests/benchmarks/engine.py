"""The engine against the naive implementation: same process, same weights, same draws.

    make bench            every row, about 25 minutes on two cores
    python -m tests.benchmarks.engine --only "biased step, k = 128" --repeats 3

Writes artifacts/benchmarks/engine.json and engine.md. The networks are the paper's (2000, 500), in
float32. Before a row is timed, the engine trains on the same made-up images, so that the querier
asks different images different queries, as it does for most of a real training.
"""

from __future__ import annotations

import argparse
import copy
import json
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from infopursuit.dictionary.learnable import LearnableDictionary
from infopursuit.pursuit.growing_histories import DistinctHistories
from infopursuit.pursuit.histories import HistoryDraws
from infopursuit.pursuit.networks import HistoryNetwork
from infopursuit.pursuit.recipe import Recipe
from infopursuit.pursuit.rollout import roll_out
from infopursuit.pursuit.updates import Updates
from tests.benchmarks.memory import peak_memory
from tests.benchmarks.naive import Naive
from tests.benchmarks.problems import problem

OUT = Path("artifacts/benchmarks")
RECIPE = Recipe(hidden=(2000, 500), learning_rate=1e-5, dictionary_learning_rate=1e-5)
WARM_UP_RATE = 3e-4  # of the networks, before the timing
UPDATES = RECIPE.network_updates
EVALUATED = 10_000


@dataclass(frozen=True)
class Case:
    """One row of the table, and what it has to reach on a CPU and on a GPU."""

    name: str
    kind: str  # `biased` or `random` step, or `evaluation`
    k: int
    target: dict[str, float]
    u: int = 300_000
    b: int = 256


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
        made = problem(max(4096, EVALUATED), case.u, case.k)
        self.images = made.images.embeddings.to(device)
        self.labels = made.images.labels.to(device)
        self.draws = HistoryDraws(case.k, RECIPE.max_history, seed=0, device=device)
        self.rows = torch.Generator().manual_seed(0)
        torch.manual_seed(0)
        querier = HistoryNetwork(case.k, case.k, RECIPE.hidden).to(device)
        classifier = HistoryNetwork(case.k, 10, RECIPE.hidden).to(device)
        dictionary = LearnableDictionary(made.universe.to(device), made.initial.to(device))
        self.engine = Updates(querier, classifier, dictionary.to(device), RECIPE, case.b)
        self._warm_up(warm_up)
        copies = copy.deepcopy((querier, classifier))
        theta = dictionary.theta.detach().clone().requires_grad_()
        self.naive = Naive(
            *copies,
            theta,
            dictionary.universe.float(),
            torch.optim.AdamW(
                [p for network in copies for p in network.parameters()],
                RECIPE.learning_rate,
                weight_decay=RECIPE.weight_decay,
                fused=True,
            ),
            torch.optim.Adam([theta], RECIPE.dictionary_learning_rate, fused=True),
            RECIPE.temperature[0],
        )

    def _warm_up(self, batches: int) -> None:
        """Train on random histories, then as long on biased ones; back to the recipe's rate."""
        networks = self.engine.network_optimizer.param_groups[0]
        networks["lr"] = WARM_UP_RATE
        for batch in range(batches):
            images, labels, sizes, orders = self.draw("random" if 2 * batch < batches else "biased")
            if not orders:
                self.engine.roll_out(images, sizes)
                orders = [self.engine.orders]
            self.engine.update_networks(images, labels, sizes[:UPDATES], orders[0][:UPDATES])
        networks["lr"] = RECIPE.learning_rate

    def draw(self, kind: str) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
        """A batch with histories for its t + 1 updates."""
        rows = torch.randint(len(self.labels), (self.case.b,), generator=self.rows)
        sizes = self.draws.sizes(UPDATES + 1, 1, self.case.b)
        orders = [self.draws.orders(UPDATES + 1, self.case.b)] if kind == "random" else []
        return self.images[rows], self.labels[rows], sizes, orders

    def run_naive(
        self, images: Tensor, labels: Tensor, sizes: Tensor, orders: list[Tensor]
    ) -> None:
        """One step, or the evaluation."""
        if self.case.kind == "evaluation":
            self.naive.evaluate(self.images[:EVALUATED], 128)
        else:
            self.naive.alternating_step(
                images, labels, sizes[:, 0], *(drawn[:, 0] for drawn in orders)
            )

    def run_engine(
        self, images: Tensor, labels: Tensor, sizes: Tensor, orders: list[Tensor]
    ) -> None:
        """The same with the engine, one roll-out a batch."""
        engine = self.engine
        if self.case.kind == "evaluation":
            answers = engine.answers(self.images[:EVALUATED]).detach()
            for part in answers.split(2048):
                roll_out(engine.querier, engine.classifier, part, 128).posteriors.argmax(dim=2)
            return
        if self.case.kind == "biased":
            engine.roll_out(images, sizes)
            orders = [engine.orders]
        engine.update_networks(images, labels, sizes[:UPDATES], *(o[:UPDATES] for o in orders))
        engine.update_dictionary(images, labels, sizes[UPDATES:], *(o[-1:] for o in orders))


def seconds(call: Callable[[], None], device: str) -> float:
    """Wall-clock time of a call, with all that the device still has to do."""
    if device == "cuda":
        torch.cuda.synchronize()
    started = time.perf_counter()
    call()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - started


def measure(case: Case, device: str, repeats: int, warm_up: int) -> dict[str, object]:
    """One row: both in turn, `repeats` times after one that does not count."""
    pair = Pair(case, device, warm_up)
    times: list[tuple[float, float]] = []
    for _ in range(repeats + 1):
        drawn = pair.draw(case.kind)
        calls = partial(pair.run_naive, *drawn), partial(pair.run_engine, *drawn)
        times.append((seconds(calls[0], device), seconds(calls[1], device)))
        print(f"{case.name}: naive {times[-1][0]:.2f} s, engine {times[-1][1]:.3f} s", flush=True)
    reference, engine = (statistics.median(column) for column in zip(*times[1:], strict=True))
    found = shares(pair) if device == "cpu" else {}
    del pair, calls  # their universe is not part of anybody's memory
    return {
        "name": case.name,
        "k": case.k,
        "u": case.u,
        "b": case.b,
        "device": device,
        "reference_seconds": round(reference, 4),
        "seconds": round(engine, 4),
        "ratio": round(reference / engine, 1),
        "target_ratio": case.target[device],
        "peak_rss_mb": peak_memory(case.u, case.k, device),
        **found,
    }


def shares(pair: Pair) -> dict[str, float]:
    """What the engine need not compute anew, on the state that was timed."""
    images, _, sizes, _ = pair.draw("biased")
    rows = sets = yes = 0
    original = DistinctHistories.add

    def counting(self: DistinctHistories, queries: Tensor, answers: Tensor) -> None:
        nonlocal rows, sets, yes
        original(self, queries, answers)
        rows += len(queries)
        sets += len(self.mask_first)
        yes += int(answers.count_nonzero())

    DistinctHistories.add = counting
    pair.engine.roll_out(images, sizes)
    DistinctHistories.add = original
    return {"distinct_masks": round(sets / rows, 3), "changed_answers": round(yes / rows, 3)}


def machine() -> str:
    """Processor, cores and versions, for the reader of the table."""
    names = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return (
        f"{names[0] if names else platform.processor()}, {torch.get_num_threads()} threads{gpu}, "
        f"Python {platform.python_version()}, torch {torch.__version__}"
    )


def markdown(rows: list[dict], command: str) -> str:
    """The table of the README."""
    lines = [
        f"{machine()}. `{command}`",
        "",
        "| what | naive | engine | ratio | to reach | peak memory |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['name']} | {row['reference_seconds']:.2f} s | {row['seconds']:.3f} s "
        f"| {row['ratio']:.1f} | {row['target_ratio']} | {row['peak_rss_mb']} MB |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=40, help="batches before the timing")
    parser.add_argument("--only", choices=[case.name for case in CASES])
    parser.add_argument("--u", type=int, default=300_000)
    given = parser.parse_args()
    torch.use_deterministic_algorithms(True)
    cases = [replace(c, u=given.u) for c in CASES if given.only in (None, c.name)]
    rows = [measure(case, given.device, given.repeats, given.warm_up) for case in cases]
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "engine.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    table = markdown(rows, "make bench")
    (OUT / "engine.md").write_text(table, encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
