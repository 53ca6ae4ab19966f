"""How the cost of a step grows with k, u, b and T, and how far it is from its floor.

    make bench            or: python -m tests.benchmarks.scaling

Writes artifacts/benchmarks/scaling.json, .svg and floor.md. One setting varies at a time around
k = 128, u = 300,000, b = 256, T = 128. Beside every measured line stands the floor: the matrix
products of the step that cannot be avoided, at the rate that this machine reaches at best.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch

from infopursuit.core.repeatable import compute_repeatably
from infopursuit.vip.histories import prefix_masks
from tests.benchmarks.engine_step import CLASSES, SETTINGS, UPDATES, EngineStep, seconds
from tests.benchmarks.machine import OUT, machine

D = 768
WIDE, NARROW = SETTINGS.hidden


@dataclass(frozen=True)
class Size:
    """Sizes of a step; T is the longest history plus one."""

    k: int = 128
    u: int = 300_000
    b: int = 256
    T: int = 128


SWEEPS = {
    "k": [32, 128, 384, 824],
    "u": [1_000, 10_000, 100_000, 300_000],
    "b": [32, 128, 256, 1024],
    "T": [8, 32, 64, 128],
}


def forward(rows: int, k: int, outputs: int) -> dict[str, int]:
    """Floating-point operations of the products in a forward of both channels of `rows`."""
    return {
        "first": 2 * 2 * rows * k * WIDE,
        "second": 2 * 2 * rows * WIDE * NARROW,
        "head": 2 * rows * 2 * NARROW * outputs,
    }


def floor(size: Size, counts: dict[str, int]) -> dict[str, float]:
    """Floating-point operations of the unavoidable products of one step, part by part.

    The networks' updates need the products of both forwards, as many for the gradients of their
    weights and, but for the querier's first layer, of their inputs. The dictionary's update needs
    no gradients of weights. A roll-out needs the second layer and the head of the rows computed.
    """
    querier, classifier = forward(size.b, size.k, size.k), forward(size.b, size.k, CLASSES)
    forwards = sum(querier.values()) + sum(classifier.values())
    inputs = forwards - querier["first"]
    tail = 2 * NARROW * (WIDE + size.k)
    scores = 2 * size.b * size.k * D
    return {
        "networks": UPDATES * (2 * forwards + inputs),
        "dictionary": forwards + inputs + querier["first"] + 3 * scores,
        "roll-out": (counts["masks"] + counts["answers"]) * tail + scores,
    }


def product_rate() -> float:
    """Operations per second that this machine reaches at best in products of the second layer."""
    rates = []
    for rows in (64, 128, 256, 512):
        values, weights = torch.randn(rows, WIDE), torch.randn(WIDE, NARROW)
        took = min(seconds(partial(torch.mm, values, weights)) for _ in range(50))
        rates.append(2 * rows * WIDE * NARROW / took)
    return max(rates)


def measure(size: Size, rate: float, warm_up: int, repeats: int) -> dict:
    """Median seconds of the parts of a step, and their floors."""
    engine = EngineStep(size.k, size.u, size.b, size.T, warm_up=warm_up)
    updates = engine.updates
    parts: dict[str, list[float]] = {"networks": [], "dictionary": [], "roll-out": []}
    for _ in range(repeats + 1):
        images, labels, sizes, _ = engine.draw(random=False)
        parts["roll-out"].append(seconds(partial(updates.roll_out, images, sizes)))
        masks = prefix_masks(updates.orders, sizes, size.k)
        arguments = images, labels, masks[:UPDATES]
        parts["networks"].append(seconds(partial(updates.update_networks, *arguments)))
        arguments = images, labels, masks[UPDATES]
        parts["dictionary"].append(seconds(partial(updates.update_dictionary, *arguments)))
    counts = engine.computed()
    floors = {name: operations / rate for name, operations in floor(size, counts).items()}
    return {
        **asdict(size),
        "seconds": {name: statistics.median(taken[1:]) for name, taken in parts.items()},
        "floor_seconds": floors,
        "gflops": rate / 1e9,
        "computed": {name: counts[name] / max(1, counts["rows"]) for name in ("masks", "answers")},
        "full_search_share": updates.dictionary.full_search_share,
    }


def draw(rows: dict[str, list[dict]], out: Path) -> None:
    """One panel a sweep, both axes logarithmic: measured, and the floor."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1, len(rows), figsize=(13, 3.3), layout="constrained", sharey=True
    )
    for panel, (name, sweep) in zip(panels, rows.items(), strict=True):
        values = [row[name] for row in sweep]
        panel.loglog(
            values, [sum(row["seconds"].values()) for row in sweep], marker="o", label="measured"
        )
        panel.loglog(
            values,
            [sum(row["floor_seconds"].values()) for row in sweep],
            ls="--",
            color="0.5",
            label="its matrix products alone",
        )
        panel.set_xlabel(name)
        labels = [f"{value // 1000}k" if value >= 10_000 else f"{value:,}" for value in values]
        panel.set_xticks(values, labels, fontsize="small")
        panel.minorticks_off()
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("seconds of one step")
    ticks = [0.1, 0.2, 0.5, 1, 2, 5]
    panels[0].set_yticks(ticks, [str(tick) for tick in ticks])
    panels[0].legend(frameon=False, fontsize="small")
    figure.savefig(out, metadata={"Date": None})


def markdown(rows: list[dict]) -> str:
    """Parts of a step against their floors."""
    lines = [
        f"{machine()}.",
        "",
        "| k | part | seconds | its products alone | ratio |",
        "|---:|---|---:|---:|---:|",
    ]
    for row in rows:
        parts = {**row["seconds"], "whole step": sum(row["seconds"].values())}
        floors = {**row["floor_seconds"], "whole step": sum(row["floor_seconds"].values())}
        lines += [
            f"| {row['k']} | {name} | {taken:.3f} | {floors[name]:.3f} "
            f"| {taken / floors[name]:.2f} |"
            for name, taken in parts.items()
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=20, help="batches before the timing")
    given = parser.parse_args()
    compute_repeatably()
    OUT.mkdir(parents=True, exist_ok=True)
    rate = product_rate()
    rows: dict[str, list[dict]] = {}
    for name, values in SWEEPS.items():
        rows[name] = []
        for value in values:
            row = measure(Size(**{name: value}), rate, given.warm_up, given.repeats)
            rows[name].append(row)
            print(name, value, f"{sum(row['seconds'].values()):.3f} s", flush=True)
    (OUT / "scaling.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    draw(rows, OUT / "scaling.svg")
    chosen = [row for row in rows["k"] if row["k"] in (128, 824)]
    (OUT / "floor.md").write_text(markdown(chosen), encoding="utf-8")
    print(markdown(chosen))


if __name__ == "__main__":
    main()
