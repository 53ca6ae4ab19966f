"""Markdown tables of all peers of one data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infopursuit.core.numbers import NOTHING, share, table
from infopursuit.pipeline.benchmark_settings import TITLES
from infopursuit_study.comparison.results import Result
from infopursuit_study.evaluation.bootstrap import SeedMeans, seed_means, two_level_intervals
from infopursuit_study.peers.peer import BUDGETS

OURS = "ours"
SHOWN = (5, 10, 20, 30)


def markdown(dataset: str, results: Sequence[Result], resamples: int) -> str:
    """Return the tables of one data set; peers may differ in seeds.

    `resamples` of seeds and test images give the intervals of differences to ours.
    """
    measured = [each for each in results if not each.absent]
    parts = [
        _accuracy(measured),
        _differences(measured, resamples),
        _claims(measured),
        _costs(measured),
    ]
    absent = [f"{TITLES[each.peer].title} (needs {each.absent.removeprefix('needs ')})"
              for each in results if each.absent]  # fmt: skip
    if absent:
        parts.append(f"Absent: {'; '.join(absent)}.")
    seeds = max((len(each.seeds) for each in measured), default=0)
    fewer = ", where a row says no other number" * any(len(each.seeds) < seeds for each in measured)
    traced = f"Seeds: {seeds}{fewer}. A row's run: `artifacts/peers/{dataset}/PEER.json`."
    return "\n\n".join([part for part in parts if part] + [traced]) + "\n"


def _accuracy(results: Sequence[Result]) -> str:
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
            text = share(value)
            leads = value is not None and value >= best[name] - 5e-4 and each in explained
            cells.append(f"**{text}**" if leads and name != "auc" else text)
        entry = TITLES[each.peer]
        control = share(each.mean("random_words_accuracy_at_10"))
        count = len(each.seeds)
        seeds = "" if count == most else f", {count} seed{'s' * (count > 1)}"
        rows.append([entry.title + seeds, f"`{each.peer}`", entry.unit, *cells, control])
    return table([*header, "random words at 10"], rows)


def _differences(results: Sequence[Result], resamples: int) -> str:
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
        intervals = two_level_intervals(less)
        cells = [
            f"{100 * value:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
            if each.bounded or t == "all"
            else NOTHING
            for t, (value, low, high) in zip((*BUDGETS, "all"), intervals, strict=True)
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
        shares = [share(each.mean(f"claims_{name}")) for name in ("true", "supported", "plausible")]
        counts = [f"{each.mean(f'claims_{name}'):.1f}" for name in ("texts", "in_model")]
        rows.append([TITLES[each.peer].title, *shares, *counts])
    header = ["at 10", "true claims", "supported", "plausible", "texts an image", "texts in all"]
    return table(header, rows) if rows else ""


def _costs(results: Sequence[Result]) -> str:
    rows = [
        [
            TITLES[each.peer].title,
            str(each.metrics[0]["tries"]),
            f"{each.median_timing('tries_seconds'):.1f}",
            f"{each.median_timing('fit_seconds'):.1f}",
            f"{each.median_timing('predict_milliseconds'):.2f}",
            f"{each.median_timing('peak_mebibytes'):.0f}",
            _settings(each.metrics),
        ]
        for each in results
    ]
    header = ["peer", "tries", "tries, s", "fit, s", "image, ms", "peak, MiB", "chosen"]
    return table(header, rows)


def _settings(metrics: Sequence[Mapping[str, Any]]) -> str:
    chosen = [
        ", ".join(f"{name} {value}" for name, value in each["settings"].items()) for each in metrics
    ]
    return max(sorted(set(chosen)), key=chosen.count) or NOTHING
