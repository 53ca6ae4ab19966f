"""Peers at 200, 400 and 1,000 classes of a planted world (`planted.py`), by the peers' protocol.

    python -m benchmarks.many_classes --classes 200 400 1000

Writes artifacts/benchmarks/many_classes.md, and .json with all that was found, run by run: with
`--resume` a stopped run goes on. Every figure is of a process of its own, on one core. Settings are
the defaults, or with `--choose` those that the protocol chooses at the fewest classes. A peer whose
fit and predictions would take more than `--limit` seconds of processor time, judged by how its time
has grown so far, is not run at that size: the table says what it would take.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from benchmarks import querier_step
from benchmarks.planted import PlantedWorld, best_possible, planted_world
from benchmarks.querier_step import exponent
from infopursuit.benchmark.entries import ENTRIES, Entry, Task
from infopursuit.benchmark.protocol import measure_seed
from infopursuit.benchmark.settings import TITLES
from infopursuit.benchmark.tables import table
from infopursuit.core.files import write_text
from infopursuit.core.numbers import share
from infopursuit.peers.peer import Peer
from infopursuit.peers.pursuits import PaperNetworks

logger = logging.getLogger("infopursuit")
OUT = Path("artifacts/benchmarks/many_classes.md")
KEPT = OUT.with_suffix(".json")
TRAIN, TEST, HELD_OUT, SEED = 10, 1000, 0.1, 0
ASKED = (5, 10, 20, 30)
NETWORKS = "networks"
# Updates of the networks, half of them on random histories: as many as the estimator's default.
UPDATES = 900
NETWORKS_ENTRY = Entry(
    lambda _, texts, rows: PaperNetworks(
        texts, rows, dictionary="fixed", updates=(UPDATES // 2, UPDATES // 2), schedule="cosine"
    ),
    controlled=False,
)
TOLD_SOME = "ours_told_some"
PEERS = (
    "probe", "mlp", "descriptions", "sparse_logistic", "label_free", "labo", "ip_omp", "splice",
    "tree", NETWORKS, "generative_ip", "ours", "ours_knowing", TOLD_SOME,
)  # fmt: skip
# How time grows where one size alone was measured: images are as many as classes, and a linear
# head has as many scores.
ASSUMED = 2.0
Found = Mapping[str, Any]


def told_some(task: Task, texts: Sequence[str], rows: np.ndarray) -> Peer | None:
    """Ours with a knowledge table that says `of some images` where the task's says `true`."""
    assert task.knowledge is not None
    softer = replace(task.knowledge, values=task.knowledge.values / 2)
    return ENTRIES["ours_knowing"].make(replace(task, knowledge=softer), texts, rows)


def entry_of(peer: str) -> Entry:
    """How one of PEERS is made, and the settings that it may try."""
    if peer == NETWORKS:
        return NETWORKS_ENTRY
    if peer == TOLD_SOME:
        return replace(ENTRIES["ours_knowing"], make=told_some)
    return replace(ENTRIES[peer], controlled=False)


def world(classes: int) -> PlantedWorld:
    """That of every process."""
    return planted_world(classes, TRAIN, TEST, seed=SEED)


def measured(peer: str, classes: int, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the protocol finds, and its timings.

    Args:
        peer: one of PEERS.
        classes: c.
        settings: those that were chosen before; None to choose.
    """
    task = world(classes).task
    entry = entry_of(peer)
    if settings is not None:
        entry = replace(entry, tries=(dict(settings),))
    found = measure_seed(entry, task, SEED, HELD_OUT)
    if found is None:
        raise ValueError(f"the planted world lacks {entry.lacks}")
    return {**found.metrics, **found.timings}


def seconds(found: Found) -> float:
    """Of a fit and the predictions of the test images."""
    return found["fit_seconds"] + TEST * found["predict_milliseconds"] / 1000


def foreseen(found: Mapping[int, Found], classes: int) -> float | None:
    """What a run would take, as time has grown so far; None where nothing was measured."""
    sizes = sorted(found)
    if not sizes:
        return None
    taken = [seconds(found[size]) for size in sizes]
    power = ASSUMED if len(sizes) < 2 else exponent(sizes, taken)
    return taken[-1] * (classes / sizes[-1]) ** power


def measure(
    peers: Sequence[str], sizes: Sequence[int], limit: float, choose: bool, resume: bool
) -> dict[str, dict[int, Any]]:
    """Of each peer what was found at each size; seconds alone where it would take too long."""
    kept: dict[str, Any] = {}
    if resume and KEPT.exists():
        kept = json.loads(KEPT.read_text(encoding="utf-8"))
    found: dict[str, dict[int, Any]] = {peer: {} for peer in peers}
    for size in tqdm(sorted(sizes), "sizes", disable=None):
        for peer in peers:
            run = {each: told for each, told in found[peer].items() if isinstance(told, dict)}
            expected = foreseen(run, size)
            key = f"{peer}, {size} classes"
            if key not in kept and expected is not None and expected > limit:
                found[peer][size] = expected
                continue
            if key not in kept:
                settings = run[min(run)]["settings"] if run else None if choose else {}
                kept[key] = _alone(peer, size, settings)
                write_text(KEPT, json.dumps(kept, indent=2) + "\n")
            found[peer][size] = kept[key]
            logger.info("%s: %.1f s", key, seconds(kept[key]))
    return found


def _alone(peer: str, classes: int, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Measured in a process of its own, which has the libraries from the start."""
    with get_context("fork").Pool(1) as pool:
        return pool.apply(measured, (peer, classes, settings))


def accuracies(
    found: Mapping[str, Mapping[int, Any]], size: int, best: Mapping[int | str, float]
) -> str:
    """Accuracy in percent at one size."""
    told = ["true concepts, true tables", "questions"]
    rows = [[*told, *(share(best[t]) for t in (*ASKED, "all")), "–"]]
    for peer, sizes in found.items():
        row = sizes[size]
        title, unit = _title(peer)
        if isinstance(row, float):
            rows.append([title, unit, *("–" for _ in range(len(ASKED) + 1)), "–"])
            continue
        names = (*(f"accuracy_at_{t}" for t in ASKED), "accuracy", "claims_true")
        rows.append([title, unit, *(share(row.get(name)) for name in names)])
    header = [f"{size:,} classes", "a text is", *map(str, ASKED), "all", "true claims at 10"]
    return table(header, rows)


def costs(found: Mapping[str, Mapping[int, Any]], sizes: Sequence[int]) -> str:
    """Seconds, milliseconds and memory at each size, and the power of c that each grows with."""
    kinds = (
        ("fit, s", "fit_seconds", ".1f"),
        ("image, ms", "predict_milliseconds", ".2f"),
        ("peak, MiB", "peak_mebibytes", ".0f"),
    )
    rows = []
    for peer, told in found.items():
        run = {size: each for size, each in told.items() if isinstance(each, dict)}
        cells = []
        for _, name, form in kinds:
            for size in sizes:
                shown = "–"
                if size in run:
                    shown = format(run[size][name], form)
                elif name == "fit_seconds":
                    shown = f"not run (about {told[size]:,.0f})"
                cells.append(shown)
            values = [run[size][name] for size in run]
            cells.append(f"{exponent(list(run), values):.1f}" if len(run) > 1 else "–")
        rows.append([_title(peer)[0], *cells])
    header = ["peer"]
    for kind, _, _ in kinds:
        header += [f"{kind}, {size:,}" for size in sizes] + ["grows"]
    return table(header, rows)


def _title(peer: str) -> tuple[str, str]:
    if peer == NETWORKS:
        return f"the paper's `fixed`, {UPDATES:,} updates", "questions"
    if peer == TOLD_SOME:
        return "ours, told *of some images*", "questions"
    return TITLES[peer].title, TITLES[peer].unit


def main() -> None:
    """Measure all peers and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", type=int, nargs="+", default=[200, 400, 1000])
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a run")
    parser.add_argument("--choose", action="store_true", help="settings, by the protocol's tries")
    parser.add_argument("--resume", action="store_true", help="go on after what was found before")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    sizes = sorted(chosen.classes)
    found = measure(chosen.peers, sizes, chosen.limit, chosen.choose, chosen.resume)
    parts = [accuracies(found, size, best_possible(world(size), ASKED)) for size in sizes]
    parts.append(costs(found, sizes))
    parts.append(querier_step.tables())
    write_text(OUT, "\n\n".join(part.strip() for part in parts) + "\n")
    print(OUT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
