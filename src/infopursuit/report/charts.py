"""The charts of the report: small multiples of one data set, a panel for each initial dictionary.

A line is the mean over seeds, in the style of its method (`methods.line_styles`). Its band spans
the seeds if there are several, and the 95 % bootstrap interval over test images if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from infopursuit.core.files import atomic_folder
from infopursuit.core.numbers import share
from infopursuit.report.figures import Chart, Level, Line, chart_svg, charts_png, limits, swatch
from infopursuit.report.groups import grouped
from infopursuit.report.methods import INITS, line_styles, meaning
from infopursuit.report.runs import DatasetResults, Run

# The classifiers that see the whole embedding: name, dash pattern of their level, meaning.
BASELINES = {
    "mlp_accuracy": ("MLP", 0, "two-layer network on the whole embedding"),
    "linear_probe_accuracy": ("linear probe", 3, "logistic regression on the whole embedding"),
    "zero_shot_accuracy": ("zero-shot", 2, "nearest class name, no training"),
}
RULES = {
    "max_probability": "Stop once a class is probable enough",
    "entropy": "Stop once the entropy is low enough",
    "stability": "Stop once the prediction stays the same",
}
ASKED = "questions asked"

# The hue and dash of each method.
Styles = Mapping[str, tuple[int, int]]


class Curve(NamedTuple):
    """One measure over the seeds of an initial dictionary and a method; all of one length."""

    init: str
    method: str
    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def legend(results: DatasetResults, styles: Styles) -> list[dict[str, Any]]:
    """Return a row for each method that the data set's runs have."""
    methods = {run.name.method: run.settings for run in results.runs}
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
    curves = _curves(results, "accuracy", scale=100.0, bands=True)
    return _by_init(curves, styles, "Accuracy", "accuracy, %", ASKED, 0.0, levels)


def calibration_charts(results: DatasetResults, styles: Styles) -> list[Chart]:
    """Draw the expected calibration error after t queries."""
    curves = _curves(results, "ece", scale=100.0)
    label = "expected calibration error, %"
    return _by_init(curves, styles, "Calibration error", label, ASKED, 0.0)


def likelihood_charts(results: DatasetResults, styles: Styles) -> list[Chart]:
    """Draw the negative log-likelihood of the true class after t queries."""
    curves = _curves(results, "nll")
    label = "negative log-likelihood, nats"
    return _by_init(curves, styles, "Log-likelihood loss", label, ASKED, 0.0)


def training_charts(results: DatasetResults, styles: Styles) -> list[Chart]:
    """Draw the validation AUC over the updates of training; nothing without updates."""
    trained = [run for run in results.runs if run.training]
    if not trained:
        return []
    curves = [
        _averaged(
            key,
            [run.training["updates"] for run in runs],
            [[100 * value for value in run.training["validation_auc"]] for run in runs],
        )
        for key, runs in grouped(trained).items()
    ]
    rules = sorted({end for run in trained for end in _phase_ends(run)})
    label = "validation AUC, %"
    return _by_init(curves, styles, "AUC in training", label, "updates", rules=rules)


def opening_chart(results: DatasetResults, run: Run) -> Markup:
    """Draw accuracy of one run after t queries, where its questions stop, and the black box."""
    (curve,) = _curves(DatasetResults(results.name, (run,), {}), "accuracy", 100.0, bands=True)
    box = 100 * results.baselines["mlp_accuracy"]
    stop = run.metrics["mean_length_at_stop"]
    end = min(float(curve.x[-1]), float(len(run.evolution["final"])))
    # The curve is level after the last question.
    there = curve.x <= end
    curve = Curve(*curve[:2], *(each[there] if len(each) else each for each in curve[2:]))
    top = limits([*curve.mean, *curve.high, box], 0.0)
    chart = Chart(
        "",
        "Accuracy against the number of questions",
        f"{_spoken([curve], lambda each: f'{each.mean[-1]:.3g} % at {each.x[-1]:g}')} "
        f"Questions stop after {stop:.1f} on average. MLP on the whole embedding: {box:.1f} %.",
        [_line(curve, {curve.method: (0, 0)})],
        ASKED,
        "accuracy, %",
        (0.0, end),
        top,
        [Level(f"MLP {box:.1f}", 0, box)],
        [stop],
    )
    return chart_svg(chart)


def stopping_charts(results: DatasetResults, styles: Styles) -> list[tuple[str, list[Chart]]]:
    """Draw mean explanation length against accuracy, for each rule, a point a threshold."""
    of_rules = {rule: _stopping_curves(results, rule) for rule in RULES}
    every = [curve for curves in of_rules.values() for curve in curves]
    x = limits(np.concatenate([curve.x for curve in every]).tolist(), 0.0)
    y = limits(np.concatenate([curve.mean for curve in every]).tolist())
    return [
        (
            RULES[rule],
            [
                Chart(
                    f"{init}: {INITS[init]}",
                    f"{RULES[rule]}, for the initial dictionary {init}",
                    _spoken(shown, lambda each: f"{each.mean[-1]:.1f} % with {each.x[-1]:.1f} "
                                                "questions"),
                    [_line(curve, styles, marker=True) for curve in shown],
                    "questions asked, mean",
                    "accuracy at the stop, %",
                    x,
                    y,
                )
                for init, shown in _of_inits(curves).items()
            ],
        )
        for rule, curves in of_rules.items()
    ]  # fmt: skip


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


def _stopping_curves(results: DatasetResults, rule: str) -> list[Curve]:
    """Average the thresholds of one rule over seeds, from short to long explanations."""
    curves = []
    for (init, method), runs in grouped(results.runs).items():
        points = [[each for each in run.stopping if each.rule == rule] for run in runs]
        lengths = np.mean([[each.mean_length for each in of_run] for of_run in points], axis=0)
        shares = np.mean([[each.accuracy for each in of_run] for of_run in points], axis=0)
        order = np.argsort(lengths, kind="stable")
        none = lengths[:0]
        curves.append(Curve(init, method, lengths[order], 100 * shares[order], none, none))
    return curves


def _curves(
    results: DatasetResults, column: str, scale: float = 1.0, bands: bool = False
) -> list[Curve]:
    """Average a column of the budget curves over seeds."""
    curves = []
    for key, runs in grouped(results.runs).items():
        values = [[scale * value for value in run.curve[column]] for run in runs]
        curve = _averaged(key, [run.curve["t"] for run in runs], values)
        if bands and len(runs) == 1:
            low, high = (scale * np.array(runs[0].curve[edge]) for edge in ("low", "high"))
            curve = curve._replace(low=low, high=high)
        curves.append(curve)
    return curves


def _averaged(
    key: tuple[str, str], x: Sequence[Sequence[float]], y: Sequence[Sequence[float]]
) -> Curve:
    """Average runs; several runs have a band from the lowest to the highest."""
    values = np.array(y)
    none = values[0, :0]
    low, high = (values.min(axis=0), values.max(axis=0)) if len(y) > 1 else (none, none)
    return Curve(*key, np.array(x[0]), values.mean(axis=0), low, high)


def _by_init(
    curves: Sequence[Curve],
    styles: Styles,
    title: str,
    y_label: str,
    x_label: str,
    low: float | None = None,
    levels: Sequence[Level] = (),
    rules: Sequence[float] = (),
) -> list[Chart]:
    """Make a chart for each initial dictionary, all with the same vertical axis."""
    values = [value for curve in curves for part in curve[3:] for value in part]
    y = limits([*values, *(level.y for level in levels)], low)
    return [
        Chart(
            f"{init}: {INITS[init]}",
            f"{title} for the initial dictionary {init}",
            _spoken(shown, lambda each: f"{each.mean[-1]:.3g} at {each.x[-1]:g}"),
            [_line(curve, styles) for curve in shown],
            x_label,
            y_label,
            # Up to where the lines end, so that no chart has an empty margin.
            (0.0, float(max(curve.x[-1] for curve in shown))),
            y,
            levels,
            rules,
        )
        for init, shown in _of_inits(curves).items()
    ]


def _of_inits(curves: Sequence[Curve]) -> dict[str, list[Curve]]:
    inits = dict.fromkeys(curve.init for curve in curves)
    return {init: [curve for curve in curves if curve.init == init] for init in inits}


def _line(curve: Curve, styles: Styles, marker: bool = False) -> Line:
    x, mean, low, high = (column.tolist() for column in curve[2:])
    return Line(curve.method, *styles[curve.method], x, mean, low, high, marker)


def _spoken(curves: Sequence[Curve], end: Callable[[Curve], str]) -> str:
    """Say what each line comes to, for readers who do not see the chart."""
    return "; ".join(f"{curve.init}, {curve.method}: {end(curve)}" for curve in curves) + "."


def _phase_ends(run: Run) -> list[float]:
    """Find the updates at which the random phase gave way to the biased one."""
    phases, updates = run.training["phase"], run.training["updates"]
    return [updates[row] for row in range(len(phases) - 1) if phases[row] != phases[row + 1]]
