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
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from infopursuit.core.repeatable import compute_repeatably
from infopursuit.pursuit.rollout import roll_out
from tests.benchmarks.engine_step import SETTINGS, UPDATES, EngineStep, seconds
from tests.benchmarks.margins import margins
from tests.benchmarks.memory import peak_memory
from tests.benchmarks.naive import Naive

OUT = Path("artifacts/benchmarks")


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
        self.engine = EngineStep(case.k, case.u, case.b, device=device, warm_up=warm_up)
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
            naive.evaluate(self.engine.images, 128)
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
        found = roll_out(updates.querier, updates.classifier, answers, 128)
        found.posteriors.argmax(dim=2)


def times(pair: Pair, device: str, repeats: int) -> list[tuple[float, float]]:
    """Seconds of naive implementation and engine in turn.

    One turn before them does not count; the evaluation, minutes of the same step, needs none and
    is done three times.
    """
    steps = pair.case.kind != "evaluation"
    measured = []
    for _ in range(repeats + 1 if steps else 3):
        drawn = pair.engine.draw(random=pair.case.kind == "random")
        naive = seconds(partial(pair.run_naive, *drawn), device)
        engine = seconds(partial(pair.run_engine, *drawn), device)
        print(f"{pair.case.name}: naive {naive:.2f} s, engine {engine:.3f} s", flush=True)
        measured.append((naive, engine))
    return measured[1:] if steps else measured


def measure(case: Case, device: str, repeats: int, warm_up: int) -> dict[str, object]:
    """One row."""
    pair = Pair(case, device, warm_up)
    calls = margins(pair.engine, pair.naive)
    columns = zip(*times(pair, device, repeats), strict=True)
    reference, engine = (statistics.median(column) for column in columns)
    counts = pair.engine.computed() if device == "cpu" else {}
    del pair  # its universe is no part of the memory of the process that is measured next
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
        **calls,
        **{f"computed_{name}": counts[name] / counts["rows"] for name in list(counts)[1:]},
    }


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
    compute_repeatably()
    cases = [replace(c, u=given.u) for c in CASES if given.only in (None, c.name)]
    rows = [measure(case, given.device, given.repeats, given.warm_up) for case in cases]
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "engine.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    table = markdown(rows, "make bench")
    (OUT / "engine.md").write_text(table, encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
