"""The tables of the report: results, paired differences, and how the dictionaries changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from infopursuit.evaluation.bootstrap import Interval
from infopursuit.evaluation.predictions import compare_runs
from infopursuit.evaluation.run_metrics import BUDGETS, STOP_AT_PROBABILITY
from infopursuit.presentation.charts import interval_bar
from infopursuit.presentation.numbers import decimal, interval, points, share
from infopursuit.presentation.report_charts import BASELINES, grouped
from infopursuit.presentation.runs import DatasetResults, Run

STOP_PERCENT = round(100 * STOP_AT_PROBABILITY)
STAGES = ("initial", "midway", "final")


class ResultRow(NamedTuple):
    """A run, or the mean over the seeds of an initial dictionary and a method."""

    init: str
    method: str
    seed: str
    auc: str
    auc_interval: str
    accuracies: list[str]
    accuracy_at_stop: str
    length_at_stop: str
    distinct: str
    best: bool
    selected_on_test: bool


class Results(NamedTuple):
    """The main table of a data set: single runs, and means where there are several seeds."""

    budgets: list[str]
    runs: list[ResultRow]
    means: list[ResultRow]


class Baseline(NamedTuple):
    """Accuracy of a classifier that sees the whole embedding."""

    name: str
    meaning: str
    accuracy: str
    interval: str


class Difference(NamedTuple):
    """AUC of a learned dictionary less that of the fixed one it started from."""

    init: str
    method: str
    seed: str
    value: str
    interval: str
    verdict: str
    bar: Markup


class Evolution(NamedTuple):
    """How one dictionary changed: all k rows of texts, those that changed most first."""

    init: str
    method: str
    seed: int
    rows: list[tuple[str, ...]]
    changed: int
    distinct: int


def results_table(results: DatasetResults) -> Results:
    """AUC, accuracy at budgets and at the stop, explanation length, distinct queries."""
    budget = int(results.runs[0].metrics["budget"])  # a setting of the data set
    at = [t for t in BUDGETS if t < budget]
    rows = [_row(run, at) for run in results.runs]
    means = [_mean_row(runs, at) for runs in grouped(results.runs).values() if len(runs) > 1]
    return Results([*map(str, at), str(budget)], _marked(rows), _marked(means))


def _marked(rows: list[ResultRow]) -> list[ResultRow]:
    """The rows with the highest AUC marked."""
    best = max((float(row.auc) for row in rows), default=0.0)
    return [row._replace(best=float(row.auc) == best) for row in rows]


def _columns(run: Run, at: Sequence[int]) -> dict[str, float]:
    return {
        "auc": run.metrics["auc"],
        **{f"at_{t}": run.metrics[f"accuracy_at_{t}"] for t in at},
        "at_T": run.metrics["accuracy_at_T"],
        "stop": run.metrics[f"accuracy_at_probability_{STOP_PERCENT}"],
        "length": run.metrics[f"mean_length_at_probability_{STOP_PERCENT}"],
        "distinct": run.distinct_queries,
    }


def _row(run: Run, at: Sequence[int]) -> ResultRow:
    values = _columns(run, at)
    return ResultRow(
        run.key.init,
        run.key.method,
        str(run.key.seed),
        share(values["auc"]),
        interval(run.metrics["auc_low"], run.metrics["auc_high"]),
        [share(values[f"at_{t}"]) for t in (*at, "T")],
        share(values["stop"]),
        decimal(values["length"]),
        str(run.distinct_queries),
        False,
        run.selected_on_test,
    )


def _mean_row(runs: Sequence[Run], at: Sequence[int]) -> ResultRow:
    """Means over seeds, the AUC with its standard deviation."""
    columns = [_columns(run, at) for run in runs]
    mean = {name: float(np.mean([values[name] for values in columns])) for name in columns[0]}
    spread = float(np.std([values["auc"] for values in columns], ddof=1))
    return ResultRow(
        runs[0].key.init,
        runs[0].key.method,
        f"mean of {len(runs)}",
        share(mean["auc"]),
        f"± {share(spread)}",
        [share(mean[f"at_{t}"]) for t in (*at, "T")],
        share(mean["stop"]),
        decimal(mean["length"]),
        decimal(mean["distinct"]),
        False,
        any(run.selected_on_test for run in runs),
    )


def baseline_rows(results: DatasetResults) -> list[Baseline]:
    """Accuracy of the baselines, with intervals where they were measured."""
    measured = results.black_box
    return [
        Baseline(
            name,
            meaning,
            share(measured[key]),
            interval(measured.get(f"{key}_low"), measured.get(f"{key}_high")),
        )
        for key, (name, _, meaning) in BASELINES.items()
        if key in measured
    ]


def differences(results: DatasetResults, resamples: int) -> list[Difference]:
    """Every learned dictionary against the fixed one with the same start and seed.

    Raises:
        InputError: two runs have predictions of different test images.
    """
    fixed = {
        (run.key.init, run.key.seed): run.predictions
        for run in results.runs
        if run.key.method == "fixed"
    }
    pairs = []
    for run in results.runs:
        other = fixed.get((run.key.init, run.key.seed))
        if run.key.method != "fixed" and other is not None:
            pairs.append((run, compare_runs(run.predictions, other, resamples)))
    limit = max([0.01, *(abs(edge) for _, found in pairs for edge in found)])
    rows = [_difference(run, found, limit) for run, found in pairs]
    for runs in grouped(run for run, _ in pairs).values():
        if len(runs) > 1:
            values = [found.value for run, found in pairs if run in runs]
            rows.append(_mean_difference(runs, values))
    return rows


def _difference(run: Run, found: Interval, limit: float) -> Difference:
    return Difference(
        run.key.init,
        run.key.method,
        str(run.key.seed),
        points(found.value),
        f"[{points(found.low)}, {points(found.high)}]",
        "better" if found.low > 0 else "worse" if found.high < 0 else "not told apart",
        interval_bar(found.low, found.value, found.high, limit),
    )


def _mean_difference(runs: Sequence[Run], values: Sequence[float]) -> Difference:
    """The mean over seeds with its standard deviation."""
    return Difference(
        runs[0].key.init,
        runs[0].key.method,
        f"mean of {len(runs)}",
        points(float(np.mean(values))),
        f"± {decimal(100 * float(np.std(values, ddof=1)), 2)}",
        f"better with {sum(value > 0 for value in values)} of {len(values)} seeds",
        Markup(),
    )


def evolutions(results: DatasetResults) -> list[Evolution]:
    """How the learned dictionaries of the first seed changed."""
    return [
        evolution(runs[0])
        for (_, method), runs in grouped(results.runs).items()
        if method != "fixed"
    ]


def evolution(run: Run) -> Evolution:
    """Texts of all queries at the start, midway and the end.

    Queries that changed twice come first, then those that changed once, then the others, each in
    the order of the dictionary.
    """
    rows = list(zip(*(run.evolution[stage] for stage in STAGES), strict=True))
    changed = sum(texts[0] != texts[-1] for texts in rows)
    rows.sort(key=lambda texts: (texts[0] == texts[-1], -len(set(texts))))
    return Evolution(
        run.key.init, run.key.method, run.key.seed, rows, changed, run.distinct_queries
    )


def settings_rows(runs: Sequence[Run]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Names of the methods, and each setting of their recipes with its value for each method."""
    recipes: dict[str, Mapping[str, Any]] = {run.key.method: run.settings["recipe"] for run in runs}
    names = sorted({name for recipe in recipes.values() for name in recipe})
    return list(recipes), [
        (name, [setting(recipe.get(name)) for recipe in recipes.values()]) for name in names
    ]


def setting(value: Any) -> str:
    """A value of the settings as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(setting, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
