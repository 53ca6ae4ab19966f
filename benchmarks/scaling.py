"""How the cost of a step grows with k, u, b and T, and how far it is from its floor.

    make bench            or: python -m benchmarks.scaling

Writes artifacts/benchmarks/scaling.json, .md and .svg. One setting varies at a time around
k = 128, u = 300,000, b = 256, T = 128. The floor next to every measured line is the matrix
products of the step that cannot be avoided, at the best rate of this machine.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import asdict, dataclass
from functools import partial

import torch

from benchmarks.engine_pair import CLASSES, SETTINGS, UPDATES, EngineStep
from benchmarks.harness import OUT, save, seconds
from infopursuit.core.numbers import table
from infopursuit.core.repeatable import compute_repeatably
from infopursuit.pursuit.vip.batches import prefix_masks
from infopursuit_study.experiments.panels import draw

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
    """Count floating-point operations of the products in a forward pass of both channels."""
    return {
        "first": 2 * 2 * rows * k * WIDE,
        "second": 2 * 2 * rows * WIDE * NARROW,
        "head": 2 * rows * 2 * NARROW * outputs,
    }


def floor(size: Size, counts: dict[str, int]) -> dict[str, float]:
    """Count floating-point operations of the unavoidable products of one step, part by part.

    The networks' updates need the products of both forward passes, as many for the gradients of
    their weights and, except in the querier's first layer, of their inputs. The dictionary's update
    needs no gradients of weights. A roll-out needs the second layer and the head of computed rows.
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
    """Return the best rate of this machine in products of the second layer, operations a second."""
    rates = []
    for rows in (64, 128, 256, 512):
        values, weights = torch.randn(rows, WIDE), torch.randn(WIDE, NARROW)
        took = min(seconds(partial(torch.mm, values, weights)) for _ in range(50))
        rates.append(2 * rows * WIDE * NARROW / took)
    return max(rates)


def measure(size: Size, rate: float, warm_up: int, repeats: int) -> dict:
    """Return median seconds of the parts of a step, and their floors."""
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


def markdown(rows: list[dict]) -> str:
    """Return a table of the parts of a step against their floors."""
    lines = []
    for row in rows:
        parts = {**row["seconds"], "whole step": sum(row["seconds"].values())}
        floors = {**row["floor_seconds"], "whole step": sum(row["floor_seconds"].values())}
        lines += [
            [row["k"], name, f"{taken:.3f}", f"{floors[name]:.3f}", f"{taken / floors[name]:.2f}"]
            for name, taken in parts.items()
        ]
    return table(["k", "part", "seconds", "its products alone, s", "ratio"], lines)


def panel(name: str, sweep: list[dict]) -> dict:
    """Return the panel of a sweep: measured, and the floor."""
    x = [row[name] for row in sweep]
    lines = [
        (label, x, [sum(row[key].values()) for row in sweep])
        for label, key in (("measured", "seconds"), ("its products alone", "floor_seconds"))
    ]
    return {"lines": lines, "log": "xy", "xlabel": name, "xticks": x}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=20, help="batches before the timing")
    given = parser.parse_args()
    compute_repeatably()
    rate = product_rate()
    rows: dict[str, list[dict]] = {}
    for name, values in SWEEPS.items():
        rows[name] = []
        for value in values:
            row = measure(Size(**{name: value}), rate, given.warm_up, given.repeats)
            rows[name].append(row)
            print(name, value, f"{sum(row['seconds'].values()):.3f} s", flush=True)
    chosen = [row for row in rows["k"] if row["k"] in (128, 824)]
    print(save("scaling", rows, markdown(chosen)))
    panels = [panel(name, sweep) for name, sweep in rows.items()]
    panels[0] |= {"ylabel": "seconds of one step", "legend": "within"}
    draw(OUT / "scaling.svg", panels, columns=len(panels), figsize=(13, 3.3))


if __name__ == "__main__":
    main()
