"""Tables and curves of all peers of one data set, from the files of their seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool

from infopursuit.benchmark.files import read_peer
from infopursuit.benchmark.titles import TITLES
from infopursuit.evaluation.bootstrap import SeedMeans, seed_means, two_level_intervals
from infopursuit.peers.budgets import BUDGETS

OURS = "ours"
SHOWN = (5, 10, 20, 30)


@dataclass(frozen=True)
class Result:
    """One peer on one data set.

    Attributes:
        peer: a key of TITLES.
        absent: why there are no figures; None where there are.
        seeds: that were measured.
        metrics: of each seed.
        timings: of each seed.
        correct: (s, n, b + 1) whether test images are right, at each of BUDGETS and with all texts;
            None where the peer has no number of texts or is absent: then the last alone counts.
        bounded: whether the peer has a number of texts.
    """

    peer: str
    absent: str | None
    seeds: list[str]
    metrics: Sequence[Mapping[str, Any]]
    timings: Sequence[Mapping[str, float]]
    correct: Bool[np.ndarray, "s n b"]
    bounded: bool

    def mean(self, name: str) -> float | None:
        """Of a metric over seeds; None where a seed has none."""
        values = [each.get(name) for each in self.metrics]
        return None if not values or None in values else float(np.mean(values))  # pyright: ignore

    def with_seeds(self, seeds: Sequence[str]) -> Bool[np.ndarray, "s n b"]:
        """`correct` of some seeds."""
        return self.correct[[self.seeds.index(seed) for seed in seeds]]

    def slowest(self, name: str) -> float:
        """Of a timing, the median over seeds."""
        return float(np.median([each[name] for each in self.timings]))


def read_result(folder: Path, dataset: str, peer: str) -> Result:
    """Read what the stage `peers` wrote.

    Raises:
        InputError: a file is missing.
    """
    absent, seeds = read_peer(folder, dataset, peer)
    metrics = [each.metrics for each in seeds.values()]
    correct = [each.predictions.correct for each in seeds.values()]
    return Result(
        peer,
        absent,
        list(seeds),
        metrics,
        [each.timings for each in seeds.values()],
        np.stack(correct) if correct else np.zeros((0, 0, len(BUDGETS) + 1), dtype=bool),
        bool(metrics) and "accuracy_at_5" in metrics[0],
    )


def curve_rows(results: Iterable[Result]) -> list[tuple[Any, ...]]:
    """`peer, t, accuracy`, a row for each number of texts; t is empty for all texts."""
    rows: list[tuple[Any, ...]] = []
    for each in results:
        for place, t in enumerate((*BUDGETS, "")):
            if not each.absent and (each.bounded or t == ""):
                rows.append((each.peer, t, float(each.correct[:, :, place].mean())))
    return rows


def markdown(dataset: str, results: Sequence[Result], resamples: int) -> str:
    """The tables of one data set; every row names the file that it comes from.

    Args:
        dataset: its name.
        results: peers; some may have fewer seeds.
        resamples: of seeds and test images, for the intervals of differences to ours.
    """
    there = [each for each in results if not each.absent]
    parts = [_accuracy(there), _differences(there, resamples), _claims(there), _costs(there)]
    absent = [f"{TITLES[each.peer].title} (needs {each.absent.removeprefix('needs ')})"
              for each in results if each.absent]  # fmt: skip
    if absent:
        parts.append(f"Absent: {'; '.join(absent)}.")
    seeds = max((len(each.seeds) for each in there), default=0)
    fewer = ", where a row says no other number" * any(len(each.seeds) < seeds for each in there)
    traced = f"Seeds: {seeds}{fewer}. A row's run: `artifacts/peers/{dataset}/PEER.json`."
    return "\n\n".join([part for part in parts if part] + [traced]) + "\n"


def _accuracy(results: Sequence[Result]) -> str:
    """Accuracy in percent; the best explained peer of each column in bold."""
    columns = [*(f"accuracy_at_{t}" for t in SHOWN), "accuracy_5_to_30", "accuracy", "auc"]
    explained = [each for each in results if TITLES[each.peer].explained]
    best = {name: max((each.mean(name) or 0 for each in explained), default=0) for name in columns}
    header = ["peer", "PEER", "a text is", *(str(t) for t in SHOWN), "mean 5-30", "all", "AUC"]
    rows = []
    most = max((len(each.seeds) for each in results), default=0)
    for each in results:
        cells = []
        for name in columns:
            value = each.mean(name)
            shown = percent(value)
            leads = value is not None and value >= best[name] - 5e-4 and each in explained
            cells.append(f"**{shown}**" if leads and name != "auc" else shown)
        entry = TITLES[each.peer]
        control = percent(each.mean("random_words_accuracy_at_10"))
        count = len(each.seeds)
        seeds = "" if count == most else f", {count} seed{'s' * (count > 1)}"
        rows.append([entry.title + seeds, f"`{each.peer}`", entry.unit, *cells, control])
    return table([*header, "random words at 10"], rows)


def _differences(results: Sequence[Result], resamples: int) -> str:
    """Each peer less ours, over the seeds of both; paired intervals over them and test images."""
    ours = next((each for each in results if each.peer == OURS), None)
    if ours is None:
        return ""
    rows = []
    bases: dict[tuple[str, ...], SeedMeans] = {}
    for each in results:
        common = [seed for seed in ours.seeds if seed in each.seeds]
        if each is ours or not common:
            continue
        means = seed_means(each.with_seeds(common), resamples)
        if tuple(common) not in bases:
            bases[tuple(common)] = seed_means(ours.with_seeds(common), resamples)
        base = bases[tuple(common)]
        less = SeedMeans(means.measured - base.measured, means.resampled - base.resampled)
        found = two_level_intervals(less)
        cells = [
            f"{100 * value:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
            if each.bounded or t == "all"
            else "–"
            for t, (value, low, high) in zip((*BUDGETS, "all"), found, strict=True)
            if t in (*SHOWN, "all")
        ]
        rows.append([TITLES[each.peer].title, *cells])
    header = ["less ours, points [95 %]", *(f"at {t}" for t in SHOWN), "all"]
    return table(header, rows) if rows else ""


def _claims(results: Sequence[Result]) -> str:
    rows = []
    for each in results:
        if not each.mean("claims_in_model"):
            continue
        shares = [
            percent(each.mean(f"claims_{name}")) for name in ("true", "supported", "plausible")
        ]
        counts = [f"{each.mean(f'claims_{name}'):.1f}" for name in ("texts", "in_model")]
        rows.append([TITLES[each.peer].title, *shares, *counts])
    header = ["at 10", "true claims", "supported", "plausible", "texts an image", "texts in all"]
    return table(header, rows) if rows else ""


def _costs(results: Sequence[Result]) -> str:
    rows = [
        [
            TITLES[each.peer].title,
            str(each.metrics[0]["tries"]),
            f"{each.slowest('tries_seconds'):.1f}",
            f"{each.slowest('fit_seconds'):.1f}",
            f"{each.slowest('predict_milliseconds'):.2f}",
            f"{each.slowest('peak_mebibytes'):.0f}",
            _settings(each.metrics),
        ]
        for each in results
    ]
    header = ["peer", "tries", "tries, s", "fit, s", "image, ms", "peak, MiB", "chosen"]
    return table(header, rows)


def _settings(metrics: Sequence[Mapping[str, Any]]) -> str:
    """Settings that most seeds chose."""
    told = [
        ", ".join(f"{name} {value}" for name, value in each["settings"].items()) for each in metrics
    ]
    return max(sorted(set(told)), key=told.count) or "–"


def percent(share: float | None) -> str:
    """One digit after the point; a dash where there is nothing."""
    return "–" if share is None else f"{100 * share:.1f}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
