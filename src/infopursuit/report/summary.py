"""What the pipeline ends with: one table in Markdown, a row for each dictionary and method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from infopursuit.core.numbers import NOTHING
from infopursuit.evaluation.run_metrics import BUDGETS
from infopursuit.report.groups import measured_groups
from infopursuit.report.report_tables import (
    Measured,
    ResultRow,
    baseline_rows,
    results_table,
    truth_table,
)
from infopursuit.report.runs import DatasetResults


def write_summary(path: Path, datasets: Sequence[DatasetResults], resamples: int) -> str:
    """Write the table of every data set to a Markdown file, and give it.

    Args:
        path: the file.
        datasets: their runs, with baselines.
        resamples: of seeds and test images, for the intervals.
    """
    text = "\n".join(_dataset(results, resamples) for results in datasets)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return text


def _dataset(results: DatasetResults, resamples: int) -> str:
    groups = measured_groups(results, BUDGETS, resamples)
    table = results_table(results, groups)
    rows = table.means or table.runs
    truth = truth_table(groups)
    true = {(row.init, row.method): row.dictionary[1] for row in truth.rows} if truth else {}
    heads = ["dictionary", "method", "AUC", *(f"Acc@{t}" for t in table.budgets)]
    heads += ["questions", "Acc at stop", "true answers"]
    lines = [
        f"## {results.name}",
        "",
        "Test images, percent, with 95 % intervals; questions: mean number until the stop; true",
        "answers: share that agrees with the pictures, of queries whose truth is known.",
        "",
        "| " + " | ".join(heads) + " |",
        "|---|---|" + "---:|" * (len(heads) - 2),
    ]
    lines += ["| " + " | ".join(_cells(row, true)) + " |" for row in rows]
    lines += ["", "Without explanations: " + _baselines(results) + ".", ""]
    return "\n".join(lines)


def _cells(row: ResultRow, true: dict[tuple[str, str], str]) -> list[str]:
    return [
        row.init,
        row.method,
        _measured(row.auc),
        *(accuracy.value for accuracy in row.accuracies),
        row.length_at_stop,
        row.accuracy_at_stop,
        true.get((row.init, row.method), NOTHING),
    ]


def _measured(found: Measured) -> str:
    return f"{found.value} {found.interval}".rstrip()


def _baselines(results: DatasetResults) -> str:
    return ", ".join(f"{row.name} {row.accuracy}" for row in baseline_rows(results))
