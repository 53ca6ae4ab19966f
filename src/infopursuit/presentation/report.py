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

import infopursuit.presentation
from infopursuit.errors import InputError
from infopursuit.evaluation.run_metrics import BUDGETS
from infopursuit.presentation import report_charts, report_tables
from infopursuit.presentation.comparisons import Comparisons, comparisons
from infopursuit.presentation.groups import Group, grouped, measured_groups
from infopursuit.presentation.methods import (
    CONTROL,
    explains_in_words,
    line_styles,
    stands_alone,
)
from infopursuit.presentation.numbers import decimal, interval, percent, share
from infopursuit.presentation.paper_tables import paper_tables, table_budgets
from infopursuit.presentation.report_charts import LegendEntry, Panel, RulePanels
from infopursuit.presentation.report_tables import (
    Baseline,
    DependenceRow,
    Evolution,
    PlainRow,
    Results,
    Truths,
)
from infopursuit.presentation.runs import DatasetResults, Explanation, Run
from infopursuit.presentation.trajectories import Trajectory

SAMPLE_QUERIES = 8
SAMPLE_EVOLUTIONS = 6
# More rows than this are folded away.
LONG_TABLE = 12
NB = "\N{NO-BREAK SPACE}"


class Fact(NamedTuple):
    """A number at the head of a data set's part."""

    number: str
    unit: str
    meaning: str


class ExplainedRun(NamedTuple):
    """A run and the explanations of its sample images."""

    run: Run
    explanations: list[tuple[Explanation, str]]


class DatasetPart(NamedTuple):
    """What the template says about one data set."""

    name: str
    selected_on_test: bool
    facts: list[Fact]
    lines: list[LegendEntry]
    baselines_legend: list[LegendEntry]
    budget: list[Panel]
    stopping: list[RulePanels]
    calibration: list[Panel]
    likelihood: list[Panel]
    training: list[Panel]
    results: Results
    baselines: list[Baseline]
    plain: list[PlainRow]
    dependence: list[DependenceRow]
    truth: Truths | None
    comparisons: Comparisons
    evolutions: list[Evolution]
    shown: ExplainedRun
    shown_alone: bool
    others: list[Run]
    methods: list[str]
    settings: list[tuple[str, list[str]]]
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
        loader=PackageLoader("infopursuit.presentation", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=percent, share=share, in_words=in_words, groupby_in_order=in_order
    )
    template = environment.get_template("report.html.jinja")
    styles = line_styles(run.key.method for results in datasets for run in results.runs)
    groups = {results.name: _groups(results, resamples) for results in datasets}
    return template.render(
        style=Markup(_resource("report.css")),
        datasets=[dataset_part(results, groups[results.name], styles) for results in datasets],
        paper_tables=paper_tables(groups),
        stop_percent=report_tables.STOP_PERCENT,
        sample_queries=SAMPLE_QUERIES,
        sample_evolutions=SAMPLE_EVOLUTIONS,
        long_table=LONG_TABLE,
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
    methods, settings = report_tables.settings_rows(results.runs)
    table = report_tables.results_table(results, groups)
    firsts = [runs[0] for runs in grouped(results.runs).values()]
    return DatasetPart(
        name=results.name,
        selected_on_test=any(run.selected_on_test for run in results.runs),
        facts=facts(results, shown),
        lines=report_charts.legend(results, styles),
        baselines_legend=report_charts.baseline_legend(results),
        budget=report_charts.budget_panels(results, styles),
        stopping=report_charts.stopping_panels(results, styles),
        calibration=report_charts.calibration_panels(results, styles),
        likelihood=report_charts.likelihood_panels(results, styles),
        training=report_charts.training_panels(results, styles),
        results=table,
        baselines=report_tables.baseline_rows(results),
        plain=report_tables.plain_rows(results, table.budgets),
        dependence=report_tables.dependence_table(groups),
        truth=report_tables.truth_table(groups),
        comparisons=comparisons(groups),
        evolutions=report_tables.evolutions(results),
        shown=ExplainedRun(shown, [(each, data_uri(each.figure)) for each in shown.explanations]),
        shown_alone=stands_alone(shown.recipe),
        others=[run for run in firsts if run.key[:3] != shown.key[:3]],
        methods=methods,
        settings=settings,
        runs=results.runs,
        several_seeds=len({run.key.seed for run in results.runs}) > 1,
    )


def shown_run(runs: Sequence[Run]) -> Run:
    """The run whose figures are shown: best in validation, so that the test plays no part.

    Of those whose explanations are texts answered by yes or no, and that are no control, if any;
    of these, of those whose answers depend on their own question alone, if any.
    """
    telling = [run for run in runs if explains_in_words(run.recipe) and run.key.init != CONTROL]
    alone = [run for run in telling if stands_alone(run.recipe)]
    return max(alone or telling or runs, key=lambda run: run.validation_auc)


def facts(results: DatasetResults, run: Run) -> list[Fact]:
    """The few numbers to remember, of the run that is best in validation."""
    found = run.metrics
    ceiling = results.black_box["mlp_accuracy"]
    stop = report_tables.STOP_PERCENT
    return [
        Fact(
            share(found["auc"]),
            "%",
            f"mean accuracy over all budgets (AUC), 95{NB}% interval "
            + interval(found["auc_low"], found["auc_high"]),
        ),
        Fact(
            share(found["accuracy_at_T"]),
            "%",
            f"accuracy after {found['budget']:g} questions; "
            f"{share(ceiling)}{NB}% for a black box on the whole embedding",
        ),
        Fact(
            decimal(found[f"mean_length_at_probability_{stop}"]),
            "questions",
            f"asked on average until {stop}{NB}% sure, and "
            f"{share(found[f'accuracy_at_probability_{stop}'])}{NB}% of images are then right",
        ),
        Fact(
            share(found.get("asked_answers_changed_by_unasked")),
            "%",
            "of answers given change when questions that were never asked are answered otherwise",
        ),
        Fact(
            str(run.distinct_queries),
            "queries",
            f"different ones in the dictionary of {len(run.evolution['final'])}",
        ),
    ]


def in_order(rows: Sequence[Any], name: str) -> list[tuple[str, list[Any]]]:
    """Rows by the value of an attribute, values and rows in the order they come."""
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(getattr(row, name), []).append(row)
    return list(groups.items())


def in_words(trajectory: Trajectory) -> str:
    """One sentence that tells how an explanation ended."""
    count = len(trajectory.steps)
    questions = f"{count} question{'' if count == 1 else 's'}"
    said = f"{trajectory.predicted_class} ({percent(trajectory.probability)}) after {questions}"
    if trajectory.true_class is None:
        return said
    return f"{said}, {'right' if trajectory.correct else f'wrong: it is {trajectory.true_class}'}"


def data_uri(path: Path) -> str:
    """A PNG as a data URI.

    Raises:
        InputError: the file is missing.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such figure; the stage explain draws it") from error
    return "data:image/png;base64," + base64.b64encode(content).decode("ascii")


def write_report(path: str | Path, datasets: Sequence[DatasetResults], resamples: int) -> None:
    """Write the page; see `render_report`."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_report(datasets, resamples), encoding="utf-8")


def _resource(name: str) -> str:
    return (files(infopursuit.presentation) / "templates" / name).read_text(encoding="utf-8")
