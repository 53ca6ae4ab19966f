"""Peers at 200, 400 and 1,000 classes of a planted world (`planted.py`), by the peers' protocol.

    python -m infopursuit_study.experiments.many_classes --classes 200 400 1000

Writes artifacts/benchmarks/many_classes.md, and .json with the figures of each run: with `--resume`
a stopped run continues. Every figure comes from its own process, on one core. Settings are the
defaults, or with `--choose` those that the protocol chooses at the fewest classes. A peer whose fit
and predictions would take more than `--limit` seconds of processor time, judged by how its time has
grown so far, is not run at that size: the table says what it would take.

"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from infopursuit.core.files import write_text
from infopursuit.core.numbers import share, table
from infopursuit.pipeline import paths
from infopursuit.pipeline.benchmark_settings import TITLES
from infopursuit_study.comparison.entries import ENTRIES, Entry, Task
from infopursuit_study.comparison.protocol import measure_seed
from infopursuit_study.experiments.planted import PlantedWorld, best_possible, planted_world
from infopursuit_study.peers.peer import Peer
from infopursuit_study.peers.pursuits import PaperNetworks

logger = logging.getLogger("infopursuit")
OUT = paths.ARTIFACTS / "benchmarks/many_classes.md"
KEPT = OUT.with_suffix(".json")
TRAIN, TEST, HELD_OUT, SEED = 10, 1000, 0.1, 0
BUDGETS = (5, 10, 20, 30)
NETWORKS, SOME = "networks", "ours_told_some"
# Updates of the networks, half of them on random histories: the estimator's default number.
UPDATES = 900
PEERS = (
    "probe", "mlp", "descriptions", "sparse_logistic", "label_free", "labo", "ip_omp", "splice",
    "tree", NETWORKS, "generative_ip", "ours", "ours_knowing", SOME,
)  # fmt: skip
# The power of the classes that time grows with if only one size was measured: there are as many
# images as classes, and a linear head has as many scores.
ASSUMED = 2.0
Figures = Mapping[str, Any]


def networks(task: Task, texts: Sequence[str], rows: np.ndarray) -> Peer:
    """Make the paper's networks with a fixed dictionary."""
    updates = UPDATES // 2, UPDATES // 2
    return PaperNetworks(texts, rows, dictionary="fixed", updates=updates, schedule="cosine")


def some_images(task: Task, texts: Sequence[str], rows: np.ndarray) -> Peer | None:
    """Make ours with a table that says `of some images` where the task's says `true`."""
    assert task.knowledge is not None
    softer = replace(task.knowledge, values=task.knowledge.values / 2)
    return ENTRIES["ours_knowing"].make(replace(task, knowledge=softer), texts, rows)


def entry_of(peer: str) -> Entry:
    """Return how one of PEERS is made, and the settings that it may try."""
    if peer == NETWORKS:
        return Entry(networks, controlled=False)
    if peer == SOME:
        return replace(ENTRIES["ours_knowing"], make=some_images)
    return replace(ENTRIES[peer], controlled=False)


def world(classes: int) -> PlantedWorld:
    """Draw the world, the same in every process."""
    return planted_world(classes, TRAIN, TEST, seed=SEED)


def measured(peer: str, classes: int, settings: Figures | None) -> dict[str, Any]:
    """Measure a peer by the protocol, with settings; None to choose them."""
    entry = entry_of(peer)
    if settings is not None:
        entry = replace(entry, tries=(dict(settings),))
    result = measure_seed(entry, world(classes).task, SEED, HELD_OUT)
    assert result is not None, f"the planted world lacks {entry.lacks}"
    return {**result.metrics, **result.timings}


def seconds(figures: Figures) -> float:
    """Return the seconds of a fit and the predictions of the test images."""
    return figures["fit_seconds"] + TEST * figures["predict_milliseconds"] / 1000


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return the power of the size that the cost grows with: the slope between logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def foreseen(measured: Mapping[int, Figures], classes: int) -> float | None:
    """Return the seconds that a run would take by the growth so far; None without a measurement."""
    if not measured:
        return None
    sizes = sorted(measured)
    taken = [seconds(measured[size]) for size in sizes]
    power = ASSUMED if len(sizes) < 2 else exponent(sizes, taken)
    return taken[-1] * (classes / sizes[-1]) ** power


def measure(
    peers: Sequence[str], sizes: Sequence[int], limit: float, choose: bool, resume: bool
) -> dict[str, dict[int, Any]]:
    """Return each peer's figures at each size; only seconds if it would take too long."""
    kept: dict[str, Any] = {}
    if resume and KEPT.exists():
        kept = json.loads(KEPT.read_text(encoding="utf-8"))
    results: dict[str, dict[int, Any]] = {peer: {} for peer in peers}
    for size in tqdm(sorted(sizes), "sizes", disable=None):
        for peer in peers:
            smaller = _measured(results[peer])
            expected = foreseen(smaller, size)
            key = f"{peer}, {size} classes"
            if key not in kept and expected is not None and expected > limit:
                results[peer][size] = expected
                continue
            if key not in kept:
                chosen = smaller[min(smaller)]["settings"] if smaller else None if choose else {}
                kept[key] = _alone(peer, size, chosen)
                write_text(KEPT, json.dumps(kept, indent=2) + "\n")
            results[peer][size] = kept[key]
            logger.info("%s: %.1f s", key, seconds(kept[key]))
    return results


def _measured(sizes: Mapping[int, Any]) -> dict[int, Figures]:
    return {size: figures for size, figures in sizes.items() if isinstance(figures, dict)}


def _alone(peer: str, classes: int, settings: Figures | None) -> dict[str, Any]:
    """Measure in a process of its own, which has the libraries from the start."""
    with get_context("fork").Pool(1) as pool:
        return pool.apply(measured, (peer, classes, settings))


def accuracies(
    results: Mapping[str, Mapping[int, Any]], size: int, best: Mapping[int | str, float]
) -> str:
    """Return the table of accuracies in percent at one size."""
    bound = [share(best[t]) for t in (*BUDGETS, "all")]
    rows = [["true concepts, true tables", "questions", *bound, "–"]]
    names = (*(f"accuracy_at_{t}" for t in BUDGETS), "accuracy", "claims_true")
    for peer, sizes in results.items():
        figures = _measured(sizes).get(size)
        cells = [share(figures.get(name)) if figures else "–" for name in names]
        rows.append([*_title(peer), *cells])
    header = [f"{size:,} classes", "a text is", *map(str, BUDGETS), "all", "true claims at 10"]
    return table(header, rows)


def _title(peer: str) -> tuple[str, str]:
    if peer == NETWORKS:
        return f"the paper's `fixed`, {UPDATES:,} updates", "questions"
    if peer == SOME:
        return "ours, told *of some images*", "questions"
    return TITLES[peer].title, TITLES[peer].unit


def main() -> None:
    """Measure all peers and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", type=int, nargs="+", default=[200, 400, 1000])
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a run")
    parser.add_argument("--choose", action="store_true", help="settings, by the protocol's tries")
    parser.add_argument("--resume", action="store_true", help="continue a stopped run")
    given = parser.parse_args()
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    sizes = sorted(given.classes)
    results = measure(given.peers, sizes, given.limit, given.choose, given.resume)
    parts = [accuracies(results, size, best_possible(world(size), BUDGETS)) for size in sizes]
    write_text(OUT, "\n\n".join(part.strip() for part in parts) + "\n")
    print(OUT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
