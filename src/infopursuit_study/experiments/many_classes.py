"""Peers at 200, 400 and 1,000 classes of a planted world (`planted.py`), by the peers' protocol.

    python -m infopursuit_study.experiments.many_classes --classes 200 400 1000

Writes artifacts/benchmarks/many_classes.md, and .json with the figures of each run: with `--resume`
a stopped run continues. Every figure comes from its own process, on one core. Settings are the
defaults, or with `--choose` those that the protocol chooses at the fewest classes. A peer whose fit
and predictions would take more than `--limit` seconds of processor time, judged by how its time has
grown so far, is not run at that size: the table says what it would take.

    python -m infopursuit_study.experiments.many_classes --parts --classes 1000

prints where ours loses: the rates, the answers and the questions in turn as they would be at best.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from benchmarks import querier_step
from benchmarks.querier_step import exponent
from infopursuit import InformationPursuitClassifier
from infopursuit.core.files import write_text
from infopursuit.core.numbers import share, table
from infopursuit.datasets.labelled_images import hold_out
from infopursuit.pipeline.benchmark_settings import TITLES
from infopursuit.pursuit.answers.table import AnswerTable, count_yes, yes_rates
from infopursuit.pursuit.naive_bayes.fit import fit_table
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.rollout import images_at_once, roll_out
from infopursuit_study.comparison.entries import ENTRIES, Entry, Task, named
from infopursuit_study.comparison.protocol import measure_seed
from infopursuit_study.experiments.planted import PlantedWorld, best_possible, planted_world
from infopursuit_study.peers.peer import Peer
from infopursuit_study.peers.pursuits import PaperNetworks

logger = logging.getLogger("infopursuit")
OUT = Path("artifacts/benchmarks/many_classes.md")
KEPT = OUT.with_suffix(".json")
TRAIN, TEST, HELD_OUT, SEED = 10, 1000, 0.1, 0
BUDGETS = (5, 10, 20, 30)
# Images of each class that true rates are counted on.
OTHERS = 60
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


def costs(results: Mapping[str, Mapping[int, Any]], sizes: Sequence[int]) -> str:
    """Return seconds, milliseconds and memory at each size, and the power of c of each."""
    kinds = (
        ("fit, s", "fit_seconds", ".1f"),
        ("image, ms", "predict_milliseconds", ".2f"),
        ("peak, MiB", "peak_mebibytes", ".0f"),
    )
    rows, header = [], ["peer"]
    for kind, _, _ in kinds:
        header += [f"{kind}, {size:,}" for size in sizes] + ["grows"]
    for peer, by_size in results.items():
        run, cells = _measured(by_size), [_title(peer)[0]]
        for _, name, form in kinds:
            missing = "not run (about {:,.0f})" if name == "fit_seconds" else "–"
            cells += [
                format(run[size][name], form) if size in run else missing.format(by_size[size])
                for size in sizes
            ]
            values = [figures[name] for figures in run.values()]
            cells.append(f"{exponent(list(run), values):.1f}" if len(run) > 1 else "–")
        rows.append(cells)
    return table(header, rows)


def _title(peer: str) -> tuple[str, str]:
    if peer == NETWORKS:
        return f"the paper's `fixed`, {UPDATES:,} updates", "questions"
    if peer == SOME:
        return "ours, told *of some images*", "questions"
    return TITLES[peer].title, TITLES[peer].unit


def with_oracles(classes: int, answers: str, questions: int) -> str:
    """Return accuracies with true rates, answers and questions in the place of ours.

    Rates of other images are counted on OTHERS of each class. With true answers, a question is
    answered by whether the image was drawn with its concept.
    """
    drawn = planted_world(classes, TRAIN, TEST + OTHERS * classes, seed=SEED)
    task = drawn.task
    train, held_out = hold_out(task.train, HELD_OUT, SEED)
    images, shown = task.test.embeddings, drawn.shown
    rows, tables = [], {}
    model = InformationPursuitClassifier(
        task.texts, task.embeddings, questions, answers=answers, random_state=SEED
    ).fit(*named(train), validation=named(held_out))
    tables["counted"] = model.pursuit_.classifier.table
    rule, places = model.pursuit_.rule, np.searchsorted(model.classes_, task.train.class_names)
    labels = torch.from_numpy(places)[task.test.labels]
    others, truth = slice(TEST, None), labels[:TEST]
    few = slice(TEST, TEST + len(train.labels))
    ours = rule.answers(images[:TEST])
    block = [(slice(None), images[others])]
    tables["others"] = fit_table(rule, block, labels[others])
    columns = sorted(
        {int(name.split()[1].strip(",")) for name in model.queries_ if "concept" in name}
    )
    flat = torch.full((classes,), -np.log(classes), dtype=torch.float64)

    def of_concepts(yes: torch.Tensor) -> AnswerTable:
        return AnswerTable(torch.stack([1 - yes, yes]).mT.log(), flat)

    known = drawn.tables.double()[np.argsort(places)]
    counted, totals = count_yes([(slice(None), shown[few][:, columns].float())], labels[few])
    for title, asked, judged, given in (
        ("ours", "counted", "counted", ours),
        (f"rates of {OTHERS} other images a class", "others", "others", ours),
        ("these rates to judge alone", "counted", "others", ours),
        ("these rates to ask alone", "others", "counted", ours),
        (
            "true answers, rates of as few images",
            of_concepts(yes_rates(counted, totals)),
            None,
            columns,
        ),
        ("true answers, true rates", of_concepts(known[:, columns]), None, columns),
        ("true answers, true rates, all concepts", of_concepts(known), None, slice(None)),
    ):
        asks = tables[asked] if isinstance(asked, str) else asked
        judge = asks if judged is None else tables[judged]
        if judged is None:
            given = shown[:TEST][:, given].double()
        right, size = torch.zeros(len(BUDGETS)), images_at_once(max(BUDGETS), classes)
        for some, labelled in zip(given.split(size), truth.split(size), strict=True):
            rolled = roll_out(InformationGain(asks), NaiveBayes(judge), some, max(BUDGETS))
            found = rolled.posteriors[:, list(BUDGETS)].argmax(dim=2)
            right += (found == labelled.unsqueeze(1)).sum(dim=0)
        every = NaiveBayes(judge)(given, torch.ones_like(given)).argmax(dim=1)
        cells = [*(right / TEST).tolist(), (every == truth).double().mean().item()]
        rows.append([title, *map(share, cells)])
    return table([f"{classes:,} classes, {answers}", *map(str, BUDGETS), "all"], rows)


def main() -> None:
    """Measure all peers and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", type=int, nargs="+", default=[200, 400, 1000])
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a run")
    parser.add_argument("--choose", action="store_true", help="settings, by the protocol's tries")
    parser.add_argument("--resume", action="store_true", help="continue a stopped run")
    parser.add_argument("--parts", action="store_true", help="where ours loses")
    parser.add_argument("--questions", type=int, default=128, help="of ours, with --parts")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.parts:
        for classes, answers in product(given.classes, ("three_valued", "five_valued")):
            print(with_oracles(classes, answers, given.questions), flush=True)
        return
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    sizes = sorted(given.classes)
    results = measure(given.peers, sizes, given.limit, given.choose, given.resume)
    parts = [accuracies(results, size, best_possible(world(size), BUDGETS)) for size in sizes]
    parts += [costs(results, sizes), querier_step.tables()]
    write_text(OUT, "\n\n".join(part.strip() for part in parts) + "\n")
    print(OUT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
