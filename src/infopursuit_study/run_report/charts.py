"""The charts of the report: small multiples of one data set, a panel for each initial dictionary.

A line is the mean over seeds, in the style of its method (`methods.line_styles`). Its band spans
the seeds if there are several, and the 95 % bootstrap interval over test images if there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from infopursuit.core.files import atomic_folder
from infopursuit.core.numbers import share
from infopursuit.report.figures import Chart, Level, Line, chart_svg, charts_png, limits, swatch
from infopursuit_study.run_report.groups import grouped
from infopursuit_study.run_report.methods import INITS, WORDS, line_styles, meaning
from infopursuit_study.run_report.runs import DatasetResults, Run

BASELINES, RULES = WORDS["baselines"], WORDS["rules"]
ASKED = "questions asked"

# The hue and dash of each method.
Styles = Mapping[str, tuple[int, int]]
# The lines of each initial dictionary, one a method: means over seeds.
Lines = dict[str, list[Line]]


def legend(runs: Sequence[Run], styles: Styles) -> list[dict[str, Any]]:
    """Return a row for each method that the runs have."""
    methods = {run.name.method: run.settings for run in runs}
    return [
        {"swatch": swatch(*styles[name]), "name": name, "meaning": meaning(settings)}
        for name, settings in methods.items()
    ]


def baseline_legend(results: DatasetResults) -> list[dict[str, Any]]:
    """Return a row for each classifier that sees the whole embedding."""
    return [
        {"swatch": swatch(None, dash), "name": name, "meaning": means}
        for key, (name, dash, means) in BASELINES.items()
        if key in results.baselines
    ]


def budget_charts(results: DatasetResults, styles: Styles) -> list[Chart]:
    """Draw accuracy after t queries, with the baselines as levels."""
    levels = [
        Level(f"{name} {share(results.baselines[key])}", dash, 100 * results.baselines[key])
        for key, (name, dash, _) in BASELINES.items()
        if key in results.baselines
    ]
    lines = _budget_lines(results, styles, "accuracy", scale=100.0, bands=True)
    return _by_init(lines, "Accuracy", "accuracy, %", ASKED, 0.0, levels)


def calibration_charts(results: DatasetResults, styles: Styles) -> list[Chart]:
    """Draw the expected calibration error after t queries."""
    lines = _budget_lines(results, styles, "ece", scale=100.0)
    return _by_init(lines, "Calibration error", "expected calibration error, %", ASKED, 0.0)


def training_charts(results: DatasetResults, styles: Styles) -> list[Chart]:
    """Draw the validation AUC over the updates of training; nothing without updates."""
    trained = [run for run in results.runs if run.training]
    if not trained:
        return []
    lines: Lines = {}
    for (init, method), runs in grouped(trained).items():
        areas = [[100 * value for value in run.training["validation_auc"]] for run in runs]
        line = _mean_line(method, styles, runs[0].training["updates"], areas)
        lines.setdefault(init, []).append(line)
    rules = sorted({end for run in trained for end in _phase_ends(run)})
    return _by_init(lines, "AUC in training", "validation AUC, %", "updates", rules=rules)


def opening_chart(results: DatasetResults, run: Run) -> Markup:
    """Draw accuracy of one run after t queries, where its questions stop, and the black box."""
    alone, style = DatasetResults(results.name, (run,), {}), {run.name.method: (0, 0)}
    ((init, (line,)),) = _budget_lines(alone, style, "accuracy", 100.0, bands=True).items()
    box = 100 * results.baselines["linear_probe_accuracy"]
    stop = run.metrics["mean_length_at_stop"]
    end = min(float(line.x[-1]), float(len(run.evolution["final"])))
    # The curve is level after the last question.
    before = sum(x <= end for x in line.x)
    line = line._replace(
        **{name: getattr(line, name)[:before] for name in ("x", "y", "low", "high")}
    )
    chart = Chart(
        "",
        "Accuracy against the number of questions",
        f"{_spoken(init, [line], '{:.3g} % at {:g}')} Questions stop after {stop:.1f} on average. "
        f"Linear probe on the whole embedding: {box:.1f} %.",
        [line],
        ASKED,
        "accuracy, %",
        (0.0, end),
        limits([*line.y, *line.high, box], 0.0),
        [Level(f"linear probe {box:.1f}", 0, box)],
        [stop],
    )
    return chart_svg(chart)


def stopping_charts(results: DatasetResults, styles: Styles) -> list[tuple[str, list[Chart]]]:
    """Draw mean explanation length against accuracy, for each rule, a point a threshold."""
    of_rules = {rule: _stopping_lines(results, styles, rule) for rule in RULES}
    every = [line for lines in of_rules.values() for of_init in lines.values() for line in of_init]
    x = limits([value for line in every for value in line.x], 0.0)
    y = limits([value for line in every for value in line.y])
    return [
        (
            RULES[rule],
            [
                Chart(
                    f"{init}: {INITS[init]}",
                    f"{RULES[rule]}, for the initial dictionary {init}",
                    _spoken(init, of_init, "{:.1f} % with {:.1f} questions"),
                    of_init,
                    "questions asked, mean",
                    "accuracy at the stop, %",
                    x,
                    y,
                )
                for init, of_init in lines.items()
            ],
        )
        for rule, lines in of_rules.items()
    ]


def write_plots(folder: Path, datasets: Sequence[DatasetResults]) -> int:
    """Replace the folder of images that `dvc plots show` shows, and return how many there are.

    Images, because DVC draws tables of numbers with a script from another host.
    """
    styles = line_styles(run.name.method for results in datasets for run in results.runs)
    with atomic_folder(folder) as partial:
        for results in datasets:
            accuracy = f"{results.name}: test accuracy by the number of questions, mean over seeds"
            training = f"{results.name}: AUC on validation images in training, mean over seeds"
            for name, title, charts in (
                ("accuracy", accuracy, budget_charts(results, styles)),
                ("training", training, training_charts(results, styles)),
            ):
                if charts:
                    path = partial / f"{results.name}-{name}.png"
                    path.write_bytes(charts_png(title, charts))
        return len(list(partial.iterdir()))


def _stopping_lines(results: DatasetResults, styles: Styles, rule: str) -> Lines:
    lines: Lines = {}
    for (init, method), runs in grouped(results.runs).items():
        points = [[each for each in run.stopping if each.rule == rule] for run in runs]
        lengths = np.mean([[each.mean_length for each in of_run] for of_run in points], axis=0)
        shares = np.mean([[each.accuracy for each in of_run] for of_run in points], axis=0)
        order = np.argsort(lengths, kind="stable")
        x, y = lengths[order].tolist(), (100 * shares[order]).tolist()
        lines.setdefault(init, []).append(Line(method, *styles[method], x, y, marker=True))
    return lines


def _budget_lines(
    results: DatasetResults, styles: Styles, column: str, scale: float = 1.0, bands: bool = False
) -> Lines:
    lines: Lines = {}
    for (init, method), runs in grouped(results.runs).items():
        values = [[scale * value for value in run.curve[column]] for run in runs]
        line = _mean_line(method, styles, runs[0].curve["t"], values)
        if bands and len(runs) == 1:
            low, high = ([scale * x for x in runs[0].curve[edge]] for edge in ("low", "high"))
            line = line._replace(low=low, high=high)
        lines.setdefault(init, []).append(line)
    return lines


def _mean_line(
    method: str, styles: Styles, x: Sequence[float], y: Sequence[Sequence[float]]
) -> Line:
    values = np.array(y)
    edges = (values.min(axis=0).tolist(), values.max(axis=0).tolist()) if len(y) > 1 else ()
    return Line(method, *styles[method], x, values.mean(axis=0).tolist(), *edges)


def _by_init(
    lines: Lines,
    title: str,
    y_label: str,
    x_label: str,
    low: float | None = None,
    levels: Sequence[Level] = (),
    rules: Sequence[float] = (),
) -> list[Chart]:
    every = [line for of_init in lines.values() for line in of_init]
    values = [value for line in every for part in (line.y, line.low, line.high) for value in part]
    y = limits([*values, *(level.y for level in levels)], low)
    return [
        Chart(
            f"{init}: {INITS[init]}",
            f"{title} for the initial dictionary {init}",
            _spoken(init, of_init, "{:.3g} at {:g}"),
            of_init,
            x_label,
            y_label,
            # Up to where the lines end, so that no chart has an empty margin.
            (0.0, float(max(line.x[-1] for line in of_init))),
            y,
            levels,
            rules,
        )
        for init, of_init in lines.items()
    ]


def _spoken(init: str, lines: Sequence[Line], end: str) -> str:
    """Say what each line comes to, for readers who do not see the chart."""
    ends = (f"{init}, {line.label}: {end.format(line.y[-1], line.x[-1])}" for line in lines)
    return "; ".join(ends) + "."


def _phase_ends(run: Run) -> list[float]:
    """Find the updates at which the random phase gave way to the biased one."""
    phases, updates = run.training["phase"], run.training["updates"]
    return [updates[row] for row in range(len(phases) - 1) if phases[row] != phases[row + 1]]
