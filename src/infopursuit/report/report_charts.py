"""The charts of the report: small multiples of one data set, a panel for each initial dictionary.

A line is the mean over seeds, in the style of its method (`methods.line_styles`). Its band spans
the seeds where there are several, and the 95 % bootstrap interval over test images where there is
one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from infopursuit.core.numbers import share
from infopursuit.report.charts import Axis, Level, Series, axis, line_chart, swatch
from infopursuit.report.groups import grouped
from infopursuit.report.methods import INITS, meaning
from infopursuit.report.runs import DatasetResults, Run

BASELINES = {
    "mlp_accuracy": ("MLP", "level-mlp", "two-layer network on the whole embedding"),
    "linear_probe_accuracy": (
        "linear probe",
        "level-probe",
        "logistic regression on the whole embedding",
    ),
    "zero_shot_accuracy": ("zero-shot", "level-zero", "nearest class name, no training"),
}
RULES = {
    "max_probability": "Stop once a class is probable enough",
    "entropy": "Stop once the entropy is low enough",
    "stability": "Stop once the prediction stays the same",
}


# A method's classes of the style sheet.
Styles = Mapping[str, str]


class Panel(NamedTuple):
    """One chart with its heading and the unit of its vertical axis."""

    title: str
    unit: str
    chart: Markup


class RulePanels(NamedTuple):
    """The charts of one stopping rule."""

    title: str
    panels: list[Panel]


class LegendEntry(NamedTuple):
    """What a line style stands for."""

    swatch: Markup
    name: str
    meaning: str


class Lines(NamedTuple):
    """One measure over the seeds of an initial dictionary and a method; all of one length."""

    init: str
    method: str
    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def legend(results: DatasetResults, styles: Styles) -> list[LegendEntry]:
    """The methods that the data set's runs have."""
    methods = {run.key.method: run.settings for run in results.runs}
    return [
        LegendEntry(swatch(styles[name]), name, meaning(settings))
        for name, settings in methods.items()
    ]


def baseline_legend(results: DatasetResults) -> list[LegendEntry]:
    """The classifiers that see the whole embedding."""
    return [
        LegendEntry(swatch(style), name, meaning)
        for key, (name, style, meaning) in BASELINES.items()
        if key in results.baselines
    ]


def budget_panels(results: DatasetResults, styles: Styles) -> list[Panel]:
    """Accuracy after t queries, with the baselines as levels."""
    levels = [
        Level(f"{name} {share(results.baselines[key])}", style, 100 * results.baselines[key])
        for key, (name, style, _) in BASELINES.items()
        if key in results.baselines
    ]
    lines = _lines(results, "accuracy", scale=100.0, bands=True)
    return _by_init(
        lines,
        styles,
        "Accuracy",
        "accuracy, %",
        "questions asked",
        0.0,
        levels,
        [level.y for level in levels],
    )


def opening_chart(results: DatasetResults, run: Run) -> Markup:
    """Accuracy of one run after t queries, where its questions stop, and the black box."""
    (line,) = _lines(DatasetResults(results.name, (run,), {}), "accuracy", scale=100.0, bands=True)
    box = 100 * results.baselines["mlp_accuracy"]
    stop = run.metrics["mean_length_at_stop"]
    end = min(float(line.x[-1]), float(len(run.evolution["final"])))
    return line_chart(
        "Accuracy against the number of questions",
        f"{_spoken([line], lambda each: f'{each.mean[-1]:.3g} % at {each.x[-1]:g}')} "
        f"Questions stop after {stop:.1f} on average. MLP on the whole embedding: {box:.1f} %.",
        [_series(_up_to(line, end), {line.method: "hue-0 dash-0"})],
        Axis("questions asked", 0.0, end),
        axis("accuracy, %", [*line.mean.tolist(), *line.high.tolist(), box], 0.0),
        [Level(f"MLP {box:.1f}", "level-mlp", box)],
        [stop],
    )


def _up_to(line: Lines, end: float) -> Lines:
    """A line as far as there are questions; the curve is level from there on."""
    there = line.x <= end
    columns = (line.x, line.mean, line.low, line.high)
    x, mean, low, high = (each[there] if len(each) else each for each in columns)
    return Lines(line.init, line.method, x, mean, low, high)


def calibration_panels(results: DatasetResults, styles: Styles) -> list[Panel]:
    """Expected calibration error after t queries."""
    lines = _lines(results, "ece", scale=100.0)
    unit = "expected calibration error, %"
    return _by_init(lines, styles, "Calibration error", unit, "questions asked", 0.0)


def likelihood_panels(results: DatasetResults, styles: Styles) -> list[Panel]:
    """Negative log-likelihood of the true class after t queries."""
    lines = _lines(results, "nll")
    unit = "negative log-likelihood, nats"
    return _by_init(lines, styles, "Log-likelihood loss", unit, "questions asked", 0.0)


def training_panels(results: DatasetResults, styles: Styles) -> list[Panel]:
    """AUC on the validation images over the updates of training; none without any updates."""
    trained = [run for run in results.runs if run.training]
    if not trained:
        return []
    lines = [
        _averaged(key, runs, [run.training["updates"] for run in runs],
                  [[100 * value for value in run.training["validation_auc"]] for run in runs])
        for key, runs in grouped(trained).items()
    ]  # fmt: skip
    rules = sorted({end for run in trained for end in _phase_ends(run)})
    unit = "validation AUC, %"
    return _by_init(lines, styles, "AUC in training", unit, "updates", rules=rules)


def stopping_panels(results: DatasetResults, styles: Styles) -> list[RulePanels]:
    """Mean explanation length against accuracy, a panel a start, a point a threshold."""
    of_rules = {rule: _stopping_lines(results, rule) for rule in RULES}
    every = [line for lines in of_rules.values() for line in lines]
    x = axis("questions asked, mean", np.concatenate([line.x for line in every]).tolist(), 0.0)
    y = axis("accuracy", np.concatenate([line.mean for line in every]).tolist())
    return [
        RulePanels(RULES[rule], _stopping_rule(lines, styles, RULES[rule], x, y))
        for rule, lines in of_rules.items()
    ]


def _stopping_rule(
    lines: Sequence[Lines], styles: Styles, title: str, x: Axis, y: Axis
) -> list[Panel]:
    """A panel for each initial dictionary."""
    panels = []
    for init in dict.fromkeys(line.init for line in lines):
        shown = [line for line in lines if line.init == init]
        chart = line_chart(
            f"{title}, for the initial dictionary {init}",
            _spoken(shown, lambda line: f"{line.mean[-1]:.1f} % with {line.x[-1]:.1f} questions"),
            [_series(line, styles, "circle") for line in shown],
            x,
            y,
        )
        panels.append(Panel(f"{init}: {INITS[init]}", "accuracy at the stop, %", chart))
    return panels


def _stopping_lines(results: DatasetResults, rule: str) -> list[Lines]:
    """The thresholds of one rule, averaged over seeds, from short to long explanations."""
    lines = []
    for (init, method), runs in grouped(results.runs).items():
        curves = [[point for point in run.stopping if point.rule == rule] for run in runs]
        lengths = np.mean([[point.mean_length for point in curve] for curve in curves], axis=0)
        shares = np.mean([[point.accuracy for point in curve] for curve in curves], axis=0)
        order = np.argsort(lengths, kind="stable")
        none = lengths[:0]
        lines.append(Lines(init, method, lengths[order], 100 * shares[order], none, none))
    return lines


def _lines(
    results: DatasetResults, column: str, scale: float = 1.0, bands: bool = False
) -> list[Lines]:
    """A column of the budget curves, averaged over seeds."""
    lines = []
    for key, runs in grouped(results.runs).items():
        values = [[scale * value for value in run.curve[column]] for run in runs]
        line = _averaged(key, runs, [run.curve["t"] for run in runs], values)
        if bands and len(runs) == 1:
            low, high = (scale * np.array(runs[0].curve[edge]) for edge in ("low", "high"))
            line = line._replace(low=low, high=high)
        lines.append(line)
    return lines


def _averaged(
    key: tuple[str, str],
    runs: Sequence[Run],
    x: Sequence[Sequence[float]],
    y: Sequence[Sequence[float]],
) -> Lines:
    """The mean over runs; with several runs the band from the lowest to the highest."""
    values = np.array(y)
    none = values[0, :0]
    several = len(runs) > 1
    low, high = (values.min(axis=0), values.max(axis=0)) if several else (none, none)
    return Lines(*key, np.array(x[0]), values.mean(axis=0), low, high)


def _by_init(
    lines: Sequence[Lines],
    styles: Styles,
    title: str,
    unit: str,
    x_label: str,
    low: float | None = None,
    levels: Sequence[Level] = (),
    also: Sequence[float] = (),
    rules: Sequence[float] = (),
) -> list[Panel]:
    """A panel for each initial dictionary, all with the same axes."""
    x = axis(x_label, np.concatenate([line.x for line in lines]).tolist(), 0.0)
    values = [np.concatenate([line.mean, line.low, line.high]) for line in lines]
    y = axis(unit, [*np.concatenate(values).tolist(), *also], low)
    panels = []
    for init in dict.fromkeys(line.init for line in lines):
        shown = [line for line in lines if line.init == init]
        chart = line_chart(
            f"{title} for the initial dictionary {init}",
            _spoken(shown, lambda line: f"{line.mean[-1]:.3g} at {line.x[-1]:g}"),
            [_series(line, styles) for line in shown],
            _ending(x, shown),
            y,
            levels,
            rules,
        )
        panels.append(Panel(f"{init}: {INITS[init]}", unit, chart))
    return panels


def _ending(x: Axis, lines: Sequence[Lines]) -> Axis:
    """The axis up to where the lines end, so that no plot has an empty margin."""
    return Axis(x.label, x.low, float(max(line.x[-1] for line in lines)))


def _series(line: Lines, styles: Styles, marker: str = "") -> Series:
    columns = (line.x, line.mean, line.low, line.high)
    x, mean, low, high = (column.tolist() for column in columns)
    return Series(line.method, styles[line.method], x, mean, low, high, marker)


def _spoken(lines: Sequence[Lines], end: Callable[[Lines], str]) -> str:
    """What each line comes to, for readers who do not see the chart."""
    return "; ".join(f"{line.init}, {line.method}: {end(line)}" for line in lines) + "."


def _phase_ends(run: Run) -> list[float]:
    """Updates at which the random phase gave way to the biased one."""
    phases, updates = run.training["phase"], run.training["updates"]
    return [updates[row] for row in range(len(phases) - 1) if phases[row] != phases[row + 1]]
