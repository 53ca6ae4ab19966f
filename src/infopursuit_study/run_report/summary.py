"""What the pipeline ends with: one table in Markdown, and the few metrics that `dvc metrics` shows.

The table has a row for each dictionary and method, means over seeds, and one for each baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from infopursuit.core.files import write_text
from infopursuit.core.numbers import NOTHING, share
from infopursuit_study.evaluation.files import write_json
from infopursuit_study.evaluation.run_metrics import BUDGETS
from infopursuit_study.run_report.charts import BASELINES
from infopursuit_study.run_report.groups import Group, grouped, measured_groups
from infopursuit_study.run_report.meaning_tables import false_rows, mean_meaning
from infopursuit_study.run_report.runs import DatasetResults, Run
from infopursuit_study.run_report.tables import baseline_accuracies, results_table

Row = Sequence[str]
# Columns of the first table, and the figures of meaning behind them.
MEANING = {"true yes": "true_yes", "supported yes": "supported"}


def write_summary(path: Path, datasets: Sequence[DatasetResults], resamples: int) -> str:
    """Write a Markdown file with the table of each data set, and return its text."""
    text = "\n".join(_main_table(results, resamples) for results in datasets)
    write_text(path, text)
    return text


def write_metrics(path: Path, datasets: Sequence[DatasetResults]) -> None:
    """Write the headline metrics of each method, means over seeds, and of each baseline.

    Names are short, so that `dvc exp show` has columns that a terminal holds: `gaussian`, with
    the initial dictionary and the data set before it (`llm-gaussian`) if there are several.
    """
    metrics: dict[str, Any] = {}
    for results in datasets:
        before = [results.name] if len(datasets) > 1 else []
        groups = grouped(results.runs)
        several = len({init for init, _ in groups}) > 1
        for (init, method), runs in groups.items():
            of_runs = [headline_metrics(run) for run in runs]
            name = "-".join([*before, *([init] if several else []), method])
            metrics[name] = {key: fmean(each[key] for each in of_runs) for key in of_runs[0]}
        for key in results.baselines.keys() & BASELINES:
            name = "-".join([*before, key.removesuffix("_accuracy")])
            metrics[name] = {"accuracy": results.baselines[key]}
    write_json(path, metrics)


def headline_metrics(run: Run) -> dict[str, Any]:
    """Collect what a person compares runs by; two shares, so that `dvc exp show` has room.

    `at_stop` is the accuracy when questions stop; of the yes to the first ten questions,
    `supported_yes` fit the class predicted. What is not known is left out.
    """
    metrics = {
        "at_stop": run.metrics["accuracy_at_stop"],
        "supported_yes": run.meaning["supported"],
    }
    return {name: value for name, value in metrics.items() if value is not None}


def _main_table(results: DatasetResults, resamples: int) -> str:
    groups = measured_groups(results, BUDGETS, resamples)
    table = results_table(results, groups)
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
    figures = {(group.init, group.method): mean_meaning(group, name) for group in groups}
    return {key: None if value is None else share(value) for key, value in figures.items()}


def _markdown(heads: Row, rows: Sequence[Row]) -> list[str]:
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
