"""The tables of the report: results, baselines, dependence, dictionaries, settings, first lines.

A table is a list of rows for the page, each a dictionary of texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infopursuit.core.numbers import NOTHING, decimal, interval, share, whole
from infopursuit.report.words import stops_when
from infopursuit_study.evaluation.run_metrics import BUDGETS
from infopursuit_study.run_report.charts import BASELINES
from infopursuit_study.run_report.groups import AUC, Group, grouped
from infopursuit_study.run_report.meaning_tables import of_100
from infopursuit_study.run_report.methods import WORDS, dictionary_of
from infopursuit_study.run_report.runs import DatasetResults, Run

MOMENTS = ("initial", "midway", "final")
NB = "\N{NO-BREAK SPACE}"

Row = dict[str, Any]


def results_table(results: DatasetResults, groups: Sequence[Group]) -> Row:
    """Tabulate AUC, accuracy at budgets and at the stop, explanation length, distinct queries.

    Returns:
        `budgets`, a row for each of `runs`, and one for each group as `means` if there are seeds.
    """
    *budgets, longest = groups[0].measures[1:]
    # Those of the paper have tables of their own.
    budgets = [*(t for t in budgets if t in BUDGETS), longest]
    several = any(len(group.runs) > 1 for group in groups)
    return {
        "budgets": [str(t) for t in budgets],
        "runs": _marked([_run_row(run, budgets) for run in results.runs]),
        "means": _marked([_group_row(group, budgets) for group in groups]) if several else [],
    }


def _marked(rows: list[Row]) -> list[Row]:
    best = max((float(row["auc"]["value"]) for row in rows), default=0.0)
    return [row | {"best": float(row["auc"]["value"]) == best} for row in rows]


def measured(value: float | None, low: float | None = None, high: float | None = None) -> Row:
    """Make a share in % with its interval."""
    return {"value": share(value), "interval": interval(low, high)}


def _run_row(run: Run, budgets: Sequence[int]) -> Row:
    metrics, curve = run.metrics, run.curve
    return {
        "init": run.name.init,
        "method": run.name.method,
        "seed": str(run.name.seed),
        "auc": measured(metrics["auc"], metrics["auc_low"], metrics["auc_high"]),
        "accuracies": [
            measured(curve["accuracy"][t], curve["low"][t], curve["high"][t]) for t in budgets
        ],
        "accuracy_at_stop": share(metrics["accuracy_at_stop"]),
        "length_at_stop": decimal(metrics["mean_length_at_stop"]),
        "ece": share(metrics["ece_at_T"]),
        "distinct": str(run.distinct_queries),
        "selected_on_test": run.selected_on_test,
    }


def _group_row(group: Group, budgets: Sequence[int]) -> Row:
    return {
        "init": group.init,
        "method": group.method,
        "seed": str(len(group.runs)),
        "auc": measured(*group.intervals[AUC]),
        "accuracies": [measured(*group.intervals[t]) for t in budgets],
        "accuracy_at_stop": share(_metric(group, "accuracy_at_stop")),
        "length_at_stop": decimal(_metric(group, "mean_length_at_stop")),
        "ece": share(_metric(group, "ece_at_T")),
        "distinct": whole(group.mean(lambda run: run.distinct_queries)),
        "selected_on_test": group.selected_on_test,
    }


def dependence_rows(groups: Sequence[Group]) -> list[Row]:
    """Average over seeds what answers depend on, and how the querier uses the dictionary."""
    tests = (
        "asked_answers_changed_by_unasked",
        "predictions_changed_by_unasked",
        "answers_flipped_by_deletion",
    )
    return [
        {
            "init": group.init,
            "method": group.method,
            "tests": tuple(_small_share(_metric(group, name)) for name in tests),
            "perplexity": decimal(_metric(group, "usage_perplexity_in_first_10")),
            "distinct": whole(group.mean(lambda run: run.distinct_queries)),
            "overlap": decimal(group.overlap, 2),
        }
        for group in groups
    ]


def _metric(group: Group, name: str) -> float | None:
    if any(name not in run.metrics for run in group.runs):
        return None
    return group.mean(lambda run: run.metrics[name])


def _small_share(value: float | None) -> str:
    """Write percent with two decimals, and a plain 0 only if nothing at all changed."""
    if value == 0:
        return "0"
    if value is not None and value < 0.00005:
        return "< 0.01"
    return decimal(None if value is None else 100 * value, 2)


def baseline_rows(results: DatasetResults) -> list[Row]:
    """List the accuracy of the baselines, with intervals if they were measured."""
    baselines = results.baselines
    return [
        {
            "name": name,
            "meaning": meaning,
            "accuracy": share(baselines[key]),
            "interval": interval(baselines.get(f"{key}_low"), baselines.get(f"{key}_high")),
        }
        for key, (name, _, meaning) in BASELINES.items()
        if key in baselines
    ]


def evolutions(results: DatasetResults) -> list[Row]:
    """Show how the learned dictionaries of the first seed changed, method by method."""
    first = [runs[0] for runs in grouped(results.runs).values()]
    learned = [run for run in first if dictionary_of(run.settings) != "fixed"]
    methods = list(dict.fromkeys(run.name.method for run in learned))
    return [
        evolution(run) for run in sorted(learned, key=lambda run: methods.index(run.name.method))
    ]


def evolution(run: Run) -> Row:
    """Show the texts of all queries at the start, midway and the end.

    Queries that changed twice come first, then those that changed once, then the others, each in
    the order of the dictionary.
    """
    rows = list(zip(*(run.evolution[moment] for moment in MOMENTS), strict=True))
    rows.sort(key=lambda texts: (texts[0] == texts[-1], -len(set(texts))))
    return {
        "name": run.name,
        "rows": rows,
        "changed": sum(texts[0] != texts[-1] for texts in rows),
        "distinct": run.distinct_queries,
    }


def settings_rows(runs: Sequence[Run]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the names of the methods, and each setting with its value for each method."""
    methods: dict[str, Mapping[str, Any]] = {run.name.method: run.settings for run in runs}
    names = sorted({name for settings in methods.values() for name in settings})
    return list(methods), [
        (name, [_setting(each[name]) if name in each else NOTHING for each in methods.values()])
        for name in names
    ]


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def verdict(results: DatasetResults, run: Run) -> Row:
    """Compare one run with every baseline, by accuracy when its questions stop and at the end.

    `figures` say how good, how true and how short it is. `ahead` are the baselines that are more
    accurate when its questions stop, empty for none; `still` says which of them are so after all
    questions; `behind` are the others.
    """
    explained, every = run.metrics["accuracy_at_stop"], run.metrics["accuracy_at_T"]
    others = sorted(baseline_accuracies(results).items(), key=lambda each: -each[1])
    ahead = [each for each in others if each[1] > explained]
    behind = [each for each in others if each[1] <= explained]
    return {
        "run": f"{run.name.init}, {run.name.method}",
        "figures": figures(run),
        "ahead": _listed(ahead),
        "still": _still([name for name, accuracy in ahead if accuracy > every], len(ahead)),
        "behind": _listed(behind),
    }


def figures(run: Run) -> list[Row]:
    """Say how good, how true and how short a run is, a number each."""
    metrics, meaning = run.metrics, run.meaning
    most = min(int(metrics["budget"]), len(run.evolution["final"]))
    true, chance = meaning["true_yes"], meaning["chance_yes"]
    by_chance = "" if chance is None else f"; by chance {of_100(chance)}"
    return [
        {
            "asked": "How good?",
            "number": share(metrics["accuracy_at_stop"]),
            "unit": "%",
            "meaning": "of test images are named right when the questions stop; "
            f"{share(metrics['accuracy_at_T'])}{NB}% after all {most} questions",
        },
        {
            "asked": "How true?",
            "number": NOTHING if true is None else of_100(true),
            "unit": "" if true is None else "of 100",
            "meaning": WORDS["true_yes"][meaning["truth_by"] or "nobody"] + by_chance,
        },
        {
            "asked": "How short?",
            "number": decimal(metrics["mean_length_at_stop"]),
            "unit": "questions",
            "meaning": f"on average; they stop {stops_when(run.stop)}",
        },
    ]


def baseline_accuracies(results: DatasetResults) -> dict[str, float]:
    """Return the accuracy of each baseline by name."""
    baselines = results.baselines
    return {name: baselines[key] for key, (name, *_) in BASELINES.items() if key in baselines}


def _still(names: Sequence[str], ahead: int) -> str:
    if not names:
        return "but none of them after all questions"
    if len(names) == ahead:
        return "even after all questions"
    *others, last = names
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"and even after all questions {listed}"


def _listed(baselines: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{name} ({share(accuracy)}{NB}%)" for name, accuracy in baselines)
