"""What the pipeline ends with: one table in Markdown, and the few metrics that `dvc metrics` shows.

The table has a row for each dictionary and method, means over seeds, and one for each baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infopursuit.core.files import atomic_folder, write_text
from infopursuit.core.numbers import NOTHING, share
from infopursuit.evaluation.files import write_json
from infopursuit.evaluation.run_metrics import BUDGETS
from run_report.charts import BASELINES
from run_report.groups import Group, measured_groups
from run_report.meaning_tables import false_rows, false_share, follows_change, mean_meaning
from run_report.runs import DatasetResults, Run
from run_report.tables import baseline_accuracies, results_table

Row = Sequence[str]
# Columns of the first table, and the figures of meaning behind them.
MEANING = {"true yes": "true_yes", "supported yes": "supported"}


def write_summary(path: Path, datasets: Sequence[DatasetResults], resamples: int) -> str:
    """Write a Markdown file of the main tables, and return the first one of each data set."""
    first, whole = [], []
    for results in datasets:
        groups = measured_groups(results, BUDGETS, resamples)
        table = results_table(results, groups)
        main = _main_table(results, groups, table)
        first.append(main)
        whole += [main, _budgets_table(table)]
    write_text(path, "\n".join(whole))
    return "\n".join(first)


def write_metrics(folder: Path, datasets: Sequence[DatasetResults]) -> int:
    """Write a short file of metrics for each run and each baseline, and return how many.

    Shares are in [0, 1]. A metric that a run lacks is not in its file.
    """
    with atomic_folder(folder) as partial:
        for results in datasets:
            best = max(baseline_accuracies(results).values())
            for run in results.runs:
                write_json(partial / f"{run.name}.json", headline_metrics(run, best))
            for key in BASELINES:
                if key in results.baselines:
                    name = key.removesuffix("_accuracy")
                    metrics = {"accuracy": results.baselines[key]}
                    write_json(partial / f"{results.name}-{name}.json", metrics)
        return len(list(partial.iterdir()))


def headline_metrics(run: Run, best_baseline: float) -> dict[str, Any]:
    """Collect what a person wants to know of a run: at most sixteen numbers.

    `accuracy` and `ece` are after all questions of the budget, `at_stop` is the accuracy when
    questions stop, after `questions` on average; `over_baseline` is the accuracy less that of the
    best baseline. Of the yes, `true_yes` are true; of yes and no, `right`; `answered` are not "not
    sure". Of the first ten questions, `plausible` fit a class, `supported_yes` of the yes fit the
    class predicted; `reader` is right by them alone; `explained` is information that follows from
    the words. If pictures are known, `false_of_first_ten` answers are false, and
    `follows_change` go with what is switched in pairs of pictures.

    `best_baseline` is the highest accuracy among the baselines of the data set.
    """
    of_run, meaning = run.metrics, run.meaning
    metrics = {
        "accuracy": of_run["accuracy_at_T"],
        "at_stop": of_run["accuracy_at_stop"],
        "over_baseline": of_run["accuracy_at_T"] - best_baseline,
        "auc": of_run["auc"],
        "ece": of_run["ece_at_T"],
        "follows_change": follows_change(run),
        "distinct_queries": run.distinct_queries,
        "false_of_first_ten": false_share(run),
        "questions": of_run["mean_length_at_stop"],
        "true_yes": meaning["true_yes"],
        "right": meaning["right"],
        "answered": meaning["answered"],
        "plausible": meaning["plausible"],
        "supported_yes": meaning["supported"],
        "reader": meaning["reader"],
        "explained": meaning["explained"],
    }
    return {name: value for name, value in metrics.items() if value is not None}


def _main_table(results: DatasetResults, groups: Sequence[Group], table: dict[str, Any]) -> str:
    """Write accuracy, questions needed and truth, of every group and of the baselines."""
    columns = {name: meaning_column(groups, figure) for name, figure in MEANING.items()}
    columns["false of first ten"] = {
        (row["init"], row["method"]): row["share_false"] for row in false_rows(groups)
    }
    columns = {name: values for name, values in columns.items() if any(values.values())}
    heads = ["dictionary", "method", f"accuracy at {table['budgets'][-1]}", "at the stop"]
    heads += ["questions", *columns]
    rows = [
        [
            row["init"],
            row["method"],
            _measured(row["accuracies"][-1]),
            row["accuracy_at_stop"],
            row["length_at_stop"],
            *(values.get((row["init"], row["method"])) or NOTHING for values in columns.values()),
        ]
        for row in table["means"] or table["runs"]
    ]
    missing = [NOTHING] * (len(heads) - 3)
    rows += [
        ["baseline", name, share(accuracy), *missing]
        for name, accuracy in baseline_accuracies(results).items()
    ]
    lines = [
        f"## {results.name}",
        "",
        "Test images, percent, with 95 % intervals. Questions: mean number until the stop. True",
        "yes: share of the yes that are true. Supported yes: share of the yes to the first ten",
        "questions that fit the predicted class. False of first ten: share of false answers to",
        "questions of explanations, where pictures are known. A dash: does not apply or is not",
        "known.",
    ]
    return "\n".join([*lines, "", *_markdown(heads, rows), ""])


def meaning_column(groups: Sequence[Group], name: str) -> dict[tuple[str, str], str | None]:
    """Return a figure of meaning in %, of each group; None if it is not known."""
    found = {(group.init, group.method): mean_meaning(group, name) for group in groups}
    return {key: None if value is None else share(value) for key, value in found.items()}


def _budgets_table(table: dict[str, Any]) -> str:
    """Write accuracy by the number of questions."""
    heads = ["dictionary", "method", "AUC", *(f"Acc@{t}" for t in table["budgets"])]
    heads += ["questions", "Acc at stop"]
    rows = [
        [
            row["init"],
            row["method"],
            _measured(row["auc"]),
            *(accuracy["value"] for accuracy in row["accuracies"]),
            row["length_at_stop"],
            row["accuracy_at_stop"],
        ]
        for row in table["means"] or table["runs"]
    ]
    return "\n".join(["Accuracy by the number of questions:", "", *_markdown(heads, rows), ""])


def _markdown(heads: Row, rows: Sequence[Row]) -> list[str]:
    """Write a table whose columns line up in plain text; all but the first two are numbers."""
    columns = list(zip(heads, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    names = 2

    def line(cells: Row) -> str:
        padded = [
            f"{cell:<{width}}" if place < names else f"{cell:>{width}}"
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = [
        "-" * width if place < names else "-" * (width - 1) + ":"
        for place, width in enumerate(widths)
    ]
    return [line(heads), line(rule), *map(line, rows)]


def _measured(cell: dict[str, str]) -> str:
    return f"{cell['value']} {cell['interval']}".rstrip()
