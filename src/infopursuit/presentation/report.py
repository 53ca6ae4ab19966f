"""The report: one page that holds everything measured, and needs nothing beside itself.

Style sheet, charts and pictures are part of the file, so that it can be mailed, archived, and read
offline. Equal inputs give equal bytes. The words are in `templates/report.html.jinja`.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

import infopursuit.presentation
from infopursuit.errors import InputError
from infopursuit.presentation import report_charts, report_tables
from infopursuit.presentation.numbers import decimal, interval, percent, share
from infopursuit.presentation.report_charts import LegendEntry, Panel
from infopursuit.presentation.report_tables import Baseline, Difference, Evolution, Results
from infopursuit.presentation.runs import DatasetResults, Explanation, Run
from infopursuit.presentation.trajectories import Trajectory

SAMPLE_QUERIES = 8
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
    lines_and_markers: list[LegendEntry]
    baselines_legend: list[LegendEntry]
    budget: list[Panel]
    stopping: list[Panel]
    calibration: list[Panel]
    likelihood: list[Panel]
    training: list[Panel]
    results: Results
    baselines: list[Baseline]
    differences: list[Difference]
    evolutions: list[Evolution]
    shown: ExplainedRun
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
    environment.filters.update(percent=percent, share=share, in_words=in_words)
    template = environment.get_template("report.html.jinja")
    return template.render(
        style=Markup(_resource("report.css")),
        datasets=[dataset_part(results, resamples) for results in datasets],
        methods_of_charts=report_charts.METHODS,
        inits=report_charts.INITS,
        stop_percent=report_tables.STOP_PERCENT,
        sample_queries=SAMPLE_QUERIES,
        setting=report_tables.setting,
    )


def dataset_part(results: DatasetResults, resamples: int) -> DatasetPart:
    """Everything the page shows about one data set."""
    shown = shown_run(results.runs)
    methods, settings = report_tables.settings_rows(results.runs)
    return DatasetPart(
        name=results.name,
        selected_on_test=any(run.selected_on_test for run in results.runs),
        facts=facts(results, shown),
        lines=report_charts.legend(results),
        lines_and_markers=report_charts.legend(results, markers=True),
        baselines_legend=report_charts.baseline_legend(results),
        budget=report_charts.budget_panels(results),
        stopping=report_charts.stopping_panels(results),
        calibration=report_charts.calibration_panels(results),
        likelihood=report_charts.likelihood_panels(results),
        training=report_charts.training_panels(results),
        results=report_tables.results_table(results),
        baselines=report_tables.baseline_rows(results),
        differences=report_tables.differences(results, resamples),
        evolutions=report_tables.evolutions(results),
        shown=ExplainedRun(shown, [(each, data_uri(each.figure)) for each in shown.explanations]),
        others=[run for run in results.runs if run is not shown],
        methods=methods,
        settings=settings,
        runs=results.runs,
        several_seeds=len({run.key.seed for run in results.runs}) > 1,
    )


def shown_run(runs: Sequence[Run]) -> Run:
    """The run whose figures are shown: best in validation, so that the test plays no part."""
    return max(runs, key=lambda run: run.validation_auc)


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
            str(run.distinct_queries),
            "queries",
            f"different ones in the dictionary of {len(run.evolution['final'])}",
        ),
    ]


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
