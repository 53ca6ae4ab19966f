"""The tables of the report: results, what answers depend on, baselines, dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from infopursuit.core.numbers import decimal, interval, share, whole
from infopursuit.report.groups import Group, grouped
from infopursuit.report.methods import dictionary_of
from infopursuit.report.report_charts import BASELINES
from infopursuit.report.runs import DatasetResults, Run

MOMENTS = ("initial", "midway", "final")
FIXED_ORDER = {
    "random_texts": ("random texts", "drawn from the universe, mean of several draws"),
    "selected_texts": ("selected texts", "one by one, by forward selection on training images"),
}


class Measured(NamedTuple):
    """A value with its interval."""

    value: str
    interval: str


class ResultRow(NamedTuple):
    """A run, or the mean over the seeds of an initial dictionary and a method."""

    init: str
    method: str
    seed: str
    auc: Measured
    accuracies: list[Measured]
    accuracy_at_stop: str
    length_at_stop: str
    ece: str
    distinct: str
    best: bool
    selected_on_test: bool


class Results(NamedTuple):
    """The main table of a data set: single runs, and means where there are several seeds."""

    budgets: list[str]
    runs: list[ResultRow]
    means: list[ResultRow]


class DependenceRow(NamedTuple):
    """What touching only other queries does to answers and predictions, and what is asked.

    `tests` are shares of answers given, of predictions, and of answers to other queries, in %.
    """

    init: str
    method: str
    tests: tuple[str, str, str]
    perplexity: str
    distinct: str
    overlap: str


class Baseline(NamedTuple):
    """Accuracy of a classifier that sees the whole embedding."""

    name: str
    meaning: str
    accuracy: str
    interval: str


class FixedOrderRow(NamedTuple):
    """A classifier on answers to the same texts for every image."""

    name: str
    meaning: str
    accuracies: list[Measured]


class Evolution(NamedTuple):
    """How one dictionary changed: all k rows of texts, those that changed most first."""

    init: str
    method: str
    seed: int
    rows: list[tuple[str, ...]]
    changed: int
    distinct: int


def results_table(results: DatasetResults, groups: Sequence[Group]) -> Results:
    """AUC, accuracy at budgets and at the stop, explanation length, distinct queries.

    Args:
        results: the runs of a data set.
        groups: the same runs measured together; their budgets are the columns.
    """
    budgets = groups[0].measures[1:]
    rows = [_run_row(run, budgets) for run in results.runs]
    several = any(len(group.runs) > 1 for group in groups)
    means = [_group_row(group) for group in groups] if several else []
    return Results([str(t) for t in budgets], _marked(rows), _marked(means))


def _marked(rows: list[ResultRow]) -> list[ResultRow]:
    """The rows with the highest AUC marked."""
    best = max((float(row.auc.value) for row in rows), default=0.0)
    return [row._replace(best=float(row.auc.value) == best) for row in rows]


def _run_row(run: Run, budgets: Sequence[int]) -> ResultRow:
    """A single run, with intervals over test images."""
    found, curve = run.metrics, run.curve
    return ResultRow(
        *run.key[1:3],
        str(run.key.seed),
        Measured(share(found["auc"]), interval(found["auc_low"], found["auc_high"])),
        [
            Measured(share(curve["accuracy"][t]), interval(curve["low"][t], curve["high"][t]))
            for t in budgets
        ],
        share(found["accuracy_at_stop"]),
        decimal(found["mean_length_at_stop"]),
        share(found["ece_at_T"]),
        str(run.distinct_queries),
        False,
        run.selected_on_test,
    )


def _group_row(group: Group) -> ResultRow:
    """Means over seeds, with intervals over seeds and test images."""
    measured = [
        Measured(share(found.value), interval(found.low, found.high))
        for found in (group.intervals[measure] for measure in group.measures)
    ]
    auc, *accuracies = measured  # the order of the measures
    return ResultRow(
        group.init,
        group.method,
        str(len(group.runs)),
        auc,
        accuracies,
        share(_metric(group, "accuracy_at_stop")),
        decimal(_metric(group, "mean_length_at_stop")),
        share(_metric(group, "ece_at_T")),
        whole(group.mean(lambda run: run.distinct_queries)),
        False,
        group.selected_on_test,
    )


def dependence_table(groups: Sequence[Group]) -> list[DependenceRow]:
    """Means over seeds of the tests of dependence, and how the querier uses the dictionary."""
    return [
        DependenceRow(
            group.init,
            group.method,
            (
                _small_share(_metric(group, "asked_answers_changed_by_unasked")),
                _small_share(_metric(group, "predictions_changed_by_unasked")),
                _small_share(_metric(group, "answers_flipped_by_deletion")),
            ),
            decimal(_metric(group, "usage_perplexity_in_first_10")),
            whole(group.mean(lambda run: run.distinct_queries)),
            decimal(group.overlap, 2),
        )
        for group in groups
    ]


def _metric(group: Group, name: str) -> float | None:
    """Mean over seeds; None where a run was evaluated without this metric."""
    if any(name not in run.metrics for run in group.runs):
        return None
    return group.mean(lambda run: run.metrics[name])


def _small_share(value: float | None) -> str:
    """Percent with two decimals, and a plain 0 only where nothing at all changed."""
    if value == 0:
        return "0"
    if value is not None and value < 0.00005:
        return "< 0.01"
    return decimal(None if value is None else 100 * value, 2)


def baseline_rows(results: DatasetResults) -> list[Baseline]:
    """Accuracy of the baselines, with intervals where they were measured."""
    measured = results.baselines
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


def fixed_order_rows(results: DatasetResults, budgets: Sequence[str]) -> list[FixedOrderRow]:
    """Accuracy with the same texts for all images, at the budgets of the results table."""
    measured = results.baselines
    return [
        FixedOrderRow(
            name,
            meaning,
            [
                *(Measured(share(measured.get(f"{key}_at_{t}")), "") for t in budgets[:-1]),
                Measured(
                    share(measured[f"{key}_at_T"]),
                    interval(measured[f"{key}_at_T_low"], measured[f"{key}_at_T_high"]),
                ),
            ],
        )
        for key, (name, meaning) in FIXED_ORDER.items()
        if f"{key}_at_T" in measured
    ]


def evolutions(results: DatasetResults) -> list[Evolution]:
    """How the learned dictionaries of the first seed changed, one method after the other."""
    first = [runs[0] for runs in grouped(results.runs).values()]
    learned = [run for run in first if dictionary_of(run.settings) != "fixed"]
    methods = list(dict.fromkeys(run.key.method for run in learned))
    return [
        evolution(run) for run in sorted(learned, key=lambda run: methods.index(run.key.method))
    ]


def evolution(run: Run) -> Evolution:
    """Texts of all queries at the start, midway and the end.

    Queries that changed twice come first, then those that changed once, then the others, each in
    the order of the dictionary.
    """
    rows = list(zip(*(run.evolution[moment] for moment in MOMENTS), strict=True))
    changed = sum(texts[0] != texts[-1] for texts in rows)
    rows.sort(key=lambda texts: (texts[0] == texts[-1], -len(set(texts))))
    return Evolution(
        run.key.init, run.key.method, run.key.seed, rows, changed, run.distinct_queries
    )
