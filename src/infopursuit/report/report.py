"""The report: one page that holds everything measured, and needs nothing beside itself.

Style sheet, charts and pictures are part of the file, so that it can be mailed, archived, and read
offline. Equal inputs give equal bytes. The words are in `templates/report.html.jinja`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

import infopursuit.report
from infopursuit.core.errors import InputError
from infopursuit.core.numbers import percent, share
from infopursuit.core.whole_files import write_text
from infopursuit.evaluation.run_metrics import BUDGETS
from infopursuit.explanation.explanation import ExplainedImage, Explanation
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.explanation.text import (
    NONE_OF_THE_CLASSES,
    ending,
    most_probable,
    question,
    stops_when,
)
from infopursuit.report import origin_tables, report_charts, report_tables, truth_tables
from infopursuit.report.comparisons import Comparisons, comparisons
from infopursuit.report.groups import Group, grouped, measured_groups
from infopursuit.report.meaning_tables import (
    Meaning,
    WorstRow,
    meaning_section,
    worst_rows,
)
from infopursuit.report.methods import (
    CONTROL,
    explains_in_words,
    line_styles,
    stands_alone,
)
from infopursuit.report.origin_tables import SelectionRow
from infopursuit.report.paper_tables import paper_tables, table_budgets
from infopursuit.report.report_charts import LegendEntry, Panel, RulePanels
from infopursuit.report.report_tables import (
    Baseline,
    DependenceRow,
    Evolution,
    FixedOrderRow,
    Results,
)
from infopursuit.report.runs import DatasetResults, Run
from infopursuit.report.truth_tables import FalseRow, Pairs, Truth
from infopursuit.report.verdict import Verdict, verdict

SAMPLE_QUERIES = 8
SAMPLE_EVOLUTIONS = 6
# More rows than this are folded away.
LONG_TABLE = 12
NB = "\N{NO-BREAK SPACE}"


class ExplainedRun(NamedTuple):
    """A run and the explanations of its sample images."""

    run: Run
    explanations: list[tuple[ExplainedImage, str]]


class DatasetPart(NamedTuple):
    """What the template says about one data set."""

    name: str
    verdict: Verdict
    selected_on_test: bool
    curve: Markup
    lines: list[LegendEntry]
    baselines_legend: list[LegendEntry]
    budget: list[Panel]
    stopping: list[RulePanels]
    calibration: list[Panel]
    likelihood: list[Panel]
    training: list[Panel]
    results: Results
    baselines: list[Baseline]
    fixed_order: list[FixedOrderRow]
    dependence: list[DependenceRow]
    meaning: Meaning
    worst: list[WorstRow]
    truth: Truth | None
    false_answers: list[FalseRow]
    pairs: Pairs | None
    comparisons: Comparisons
    evolutions: list[Evolution]
    shown: ExplainedRun
    shown_alone: bool
    others: list[Run]
    methods: list[str]
    settings: list[tuple[str, list[str]]]
    selection: list[SelectionRow]
    stop: str
    runs: tuple[Run, ...]
    several_seeds: bool


def render_report(datasets: Sequence[DatasetResults], resamples: int) -> str:
    """The page as HTML text.

    Args:
        datasets: results of each data set.
        resamples: of test images, for the intervals of paired differences.

    Raises:
        InputError: a figure is missing, or two runs of a data set are of different test images.
    """
    environment = Environment(
        loader=PackageLoader("infopursuit.report", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=percent,
        share=share,
        in_words=in_words,
        in_short=in_short,
        groupby_in_order=in_order,
        question=question,
        columns=columns,
        belief=belief,
        data_uri=data_uri,
    )
    template = environment.get_template("report.html.jinja")
    styles = line_styles(run.key.method for results in datasets for run in results.runs)
    groups = {results.name: _groups(results, resamples) for results in datasets}
    return template.render(
        style=Markup(_resource("report.css")),
        datasets=[dataset_part(results, groups[results.name], styles) for results in datasets],
        paper_tables=paper_tables(groups),
        sample_queries=SAMPLE_QUERIES,
        sample_evolutions=SAMPLE_EVOLUTIONS,
        long_table=LONG_TABLE,
        none_of_the_classes=NONE_OF_THE_CLASSES,
    )


def _groups(results: DatasetResults, resamples: int) -> tuple[Group, ...]:
    """The runs of a data set, measured at the budgets of all tables."""
    budgets = (*BUDGETS, *table_budgets(results.name, results.runs[0].classes))
    return measured_groups(results, budgets, resamples)


def dataset_part(
    results: DatasetResults, groups: Sequence[Group], styles: Mapping[str, str]
) -> DatasetPart:
    """Everything the page shows about one data set."""
    shown = shown_run(results.runs)
    methods, settings = origin_tables.settings_rows(results.runs)
    table = report_tables.results_table(results, groups)
    firsts = [runs[0] for runs in grouped(results.runs).values()]
    return DatasetPart(
        name=results.name,
        verdict=verdict(results, shown),
        selected_on_test=any(run.selected_on_test for run in results.runs),
        curve=report_charts.opening_chart(results, shown),
        lines=report_charts.legend(results, styles),
        baselines_legend=report_charts.baseline_legend(results),
        budget=report_charts.budget_panels(results, styles),
        stopping=report_charts.stopping_panels(results, styles),
        calibration=report_charts.calibration_panels(results, styles),
        likelihood=report_charts.likelihood_panels(results, styles),
        training=report_charts.training_panels(results, styles),
        results=table,
        baselines=report_tables.baseline_rows(results),
        fixed_order=report_tables.fixed_order_rows(results, table.budgets),
        dependence=report_tables.dependence_table(groups),
        meaning=meaning_section(groups, shown.meaning),
        worst=worst_rows(shown.worst),
        truth=truth_tables.truth_table(groups),
        false_answers=truth_tables.false_table(groups),
        pairs=truth_tables.pairs_table(groups, shown),
        comparisons=comparisons(groups),
        evolutions=report_tables.evolutions(results),
        shown=ExplainedRun(
            shown, [(each, data_uri(Path(each.figure))) for each in shown.explanations]
        ),
        shown_alone=stands_alone(shown.settings),
        others=[run for run in firsts if run.key[:3] != shown.key[:3]],
        methods=methods,
        settings=settings,
        selection=origin_tables.selection_rows(results.runs),
        stop=stops_when(one_rule(results.runs)),
        runs=results.runs,
        several_seeds=len({run.key.seed for run in results.runs}) > 1,
    )


def shown_run(runs: Sequence[Run]) -> Run:
    """The run whose figures are shown: best in validation, so that the test plays no part.

    Of those whose explanations are texts answered by yes or no, and that are no control, if any;
    of these, of those whose answers depend on their own question alone, if any.
    """
    telling = [run for run in runs if explains_in_words(run.settings) and run.key.init != CONTROL]
    alone = [run for run in telling if stands_alone(run.settings)]
    return max(alone or telling or runs, key=lambda run: run.validation_auc)


def one_rule(runs: Sequence[Run]) -> StoppingRule:
    """The stopping rule of all runs.

    Raises:
        InputError: two runs have different ones.
    """
    first = runs[0]
    for run in runs:
        if run.stop != first.stop:
            raise InputError(
                f"explanations of {run.key.name} stop by {run.stop}, those of {first.key.name} by "
                f"{first.stop}; expected one stopping rule: `dvc repro` makes both anew"
            )
    return first.stop


def in_order(rows: Sequence[Any], name: str) -> list[tuple[str, list[Any]]]:
    """Rows by the value of an attribute, values and rows in the order they come."""
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(getattr(row, name), []).append(row)
    return list(groups.items())


def columns(panels: int) -> int:
    """How many charts stand side by side, so that they fill their card: at most three."""
    return 2 if panels == 4 else min(3, max(1, panels))


def belief(posterior: tuple[float, ...], explanation: Explanation) -> str:
    """The most probable class with its probability; equally probable ones as a tie."""
    leaders, probability = most_probable(explanation.class_names, posterior)
    return f"{leaders} {percent(probability)}"


def in_words(explanation: Explanation) -> str:
    """One sentence that tells how an explanation ended."""
    count = len(explanation.steps)
    questions = f"{count} question{'' if count == 1 else 's'}"
    said = f"{explanation.predicted_class} ({percent(explanation.probability)}) after {questions}"
    if not explanation.confident:
        said += " (the limit)"
    if explanation.true_class is None:
        return said
    return f"{said}, {'right' if explanation.correct else f'wrong: it is {explanation.true_class}'}"


def in_short(decisive: Explanation) -> str:
    """The answers that decide, and what they alone lead to."""
    answers = ", ".join(f"{step.query}: {step.said}" for step in decisive.steps)
    alone = f"{ending(decisive)} alone: {belief(decisive.posterior, decisive)}"
    return f"{answers} ({alone})" if answers else alone


def data_uri(path: Path) -> str:
    """A PNG as a data URI.

    Raises:
        InputError: the file is missing.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such figure; `dvc repro` draws it") from error
    return "data:image/png;base64," + base64.b64encode(content).decode("ascii")


def write_report(path: str | Path, datasets: Sequence[DatasetResults], resamples: int) -> None:
    """Write the page; see `render_report`."""
    write_text(path, render_report(datasets, resamples))


def _resource(name: str) -> str:
    return (files(infopursuit.report) / "templates" / name).read_text(encoding="utf-8")
