"""The report: one page that holds everything measured, and needs no other file.

Style sheet, charts and pictures are part of the file, so that it can be mailed, archived, and read
offline. Equal inputs give equal bytes. The words are in `templates/report.html.jinja`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from infopursuit.core.errors import InputError
from infopursuit.core.files import write_text
from infopursuit.core.numbers import percent, share
from infopursuit.pursuit.explanation import IMAGE, Explanation, ending
from infopursuit.pursuit.sentences import question, say
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.report.figures import Chart, chart_svg
from infopursuit.report.words import stops_when
from infopursuit_study.evaluation.run_metrics import BUDGETS
from infopursuit_study.run_report import charts, meaning_tables, tables
from infopursuit_study.run_report.groups import Group, comparisons, grouped, measured_groups
from infopursuit_study.run_report.methods import (
    CONTROL,
    explains_in_words,
    first_of_best,
    line_styles,
    stands_alone,
)
from infopursuit_study.run_report.paper_tables import paper_tables, table_budgets
from infopursuit_study.run_report.runs import DatasetResults, Run

SAMPLE_QUERIES = 8
SAMPLE_EVOLUTIONS = 6
# Longer tables are folded away.
LONG_TABLE = 12


def write_report(path: str | Path, datasets: Sequence[DatasetResults], resamples: int) -> None:
    """Write the page; see `render_report`."""
    write_text(path, render_report(datasets, resamples))


def render_report(datasets: Sequence[DatasetResults], resamples: int) -> str:
    """Return the page as HTML text."""
    environment = Environment(
        loader=PackageLoader("infopursuit_study.run_report", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=percent,
        share=share,
        summary=summary,
        groupby_in_order=in_order,
        question=question,
        columns=columns,
        belief=belief,
        data_uri=data_uri,
    )
    sheets = (files("infopursuit.explorer") / "page/base.css",
              files("infopursuit_study.run_report") / "templates" / "report.css")  # fmt: skip
    styles = line_styles(run.name.method for results in datasets for run in results.runs)
    groups = {results.name: _groups(results, resamples) for results in datasets}
    return environment.get_template("report.html.jinja").render(
        style=Markup("\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets)),
        datasets=[dataset_part(results, groups[results.name], styles) for results in datasets],
        paper_tables=paper_tables(groups),
        sample_queries=SAMPLE_QUERIES,
        sample_evolutions=SAMPLE_EVOLUTIONS,
        long_table=LONG_TABLE,
        none_of_the_classes=say("nonconforming", noun=IMAGE),
    )


def _groups(results: DatasetResults, resamples: int) -> tuple[Group, ...]:
    budgets = (*BUDGETS, *table_budgets(results.name, len(results.runs[0].class_names)))
    return measured_groups(results, budgets, resamples)


def dataset_part(
    results: DatasetResults, groups: Sequence[Group], styles: charts.Styles
) -> dict[str, Any]:
    """Collect everything that the template says about one data set."""
    runs = results.runs
    shown = shown_run(runs)
    methods, settings = tables.settings_rows(runs)
    table = tables.results_table(results, groups)
    firsts = [of_group[0] for of_group in grouped(runs).values()]
    return {
        "name": results.name,
        "verdict": tables.verdict(results, shown),
        "selected_on_test": any(run.selected_on_test for run in runs),
        "curve": charts.opening_chart(results, shown),
        "lines": charts.legend(results.runs, styles),
        "trained": charts.legend([run for run in runs if run.training], styles),
        "baselines_legend": charts.baseline_legend(results),
        "budget": _panels(charts.budget_charts(results, styles)),
        "stopping": [
            {"title": title, "panels": _panels(of_rule)}
            for title, of_rule in charts.stopping_charts(results, styles)
        ],
        "calibration": _panels(charts.calibration_charts(results, styles)),
        "training": _panels(charts.training_charts(results, styles)),
        "results": table,
        "baselines": tables.baseline_rows(results),
        "dependence": tables.dependence_rows(groups),
        "meaning": meaning_tables.meaning_section(groups, shown.meaning),
        "people": meaning_tables.people_table(shown.meaning["people"]),
        "false_answers": meaning_tables.false_rows(groups),
        "comparisons": comparisons(groups),
        "evolutions": tables.evolutions(results),
        "shown": shown,
        "shown_alone": stands_alone(shown.settings),
        "others": [run for run in firsts if run.name[:3] != shown.name[:3]],
        "methods": methods,
        "settings": settings,
        "stop": stops_when(one_rule(runs)),
        "runs": runs,
        "several_seeds": len({run.name.seed for run in runs}) > 1,
    }


def _panels(drawn: Sequence[Chart]) -> list[dict[str, Any]]:
    return [
        {
            "title": each.title,
            "start": each.heading,
            "unit": each.y_label,
            "chart": chart_svg(each),
        }
        for each in drawn
    ]


def shown_run(runs: Sequence[Run]) -> Run:
    """Choose the run whose figures are shown: best in validation; the test plays no part.

    Seeds count by their mean, and of the best group the first is shown (`first_of_best`). Of those
    whose explanations are texts answered by yes or no, and that are not the control, if any; of
    these, of those whose answers depend on their own question alone, if any.
    """
    telling = [run for run in runs if explains_in_words(run.settings) and run.name.init != CONTROL]
    alone = [run for run in telling if stands_alone(run.settings)]
    groups = [*grouped(alone or telling or runs).values()]
    best = first_of_best([[(run.validation_auc, run.held_out) for run in each] for each in groups])
    return groups[best][0]


def one_rule(runs: Sequence[Run]) -> StoppingRule:
    """Return the stopping rule of all runs."""
    first = runs[0]
    for run in runs:
        if run.stop != first.stop:
            raise InputError(
                f"explanations of {run.name} stop by {run.stop}, those of {first.name} by "
                f"{first.stop}; expected one stopping rule: `dvc repro` makes both again"
            )
    return first.stop


def in_order(rows: Sequence[Mapping[str, Any]], name: str) -> list[tuple[str, list[Any]]]:
    """Group rows by a value, values and rows in the order they come."""
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(row[name], []).append(row)
    return list(groups.items())


def columns(panels: int) -> int:
    """Return how many charts are side by side, so that they fill their card: at most three."""
    return 2 if panels == 4 else min(3, max(1, panels))


def belief(posterior: tuple[float, ...], explanation: Explanation) -> str:
    """Name the most probable class with its probability; equally probable ones as a tie."""
    return " ".join(explanation.leaders(posterior))


def summary(explanation: Explanation) -> str:
    """Say in one sentence how an explanation ended."""
    text = f"{explanation.predicted_class}, {explanation.percent}"
    if explanation.true_class is not None:
        text += f", {'right' if explanation.correct else f'wrong: it is {explanation.true_class}'}"
    return f"{text}, {ending(explanation)}"


def data_uri(path: str | Path) -> str:
    """Read a PNG as a data URI."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such figure; `dvc repro` draws it") from error
    return "data:image/png;base64," + base64.b64encode(content).decode("ascii")
