"""The images that `dvc plots show` shows, and `dvc plots diff` beside those of another revision.

Images, since DVC draws tables of numbers with a script from another host, and without it shows an
empty page. Equal input gives equal bytes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from infopursuit.core.whole_files import whole_file
from infopursuit.report.groups import grouped
from infopursuit.report.methods import INITS, line_styles
from infopursuit.report.report_charts import BASELINES
from infopursuit.report.runs import DatasetResults, Run

DPI = 110
PANEL = (5.4, 4.0)
COLUMNS = 3
# As in the style sheet of the page.
HUES = ("#0072b2", "#c94f00", "#007d5a", "#a3278f", "#8a6a00", "#5b4bc4", "#b3202f", "#3f5468")
DASHES = ("-", "--", ":", "-.")

Points = tuple[Sequence[float], np.ndarray]


def write_plots(folder: Path, datasets: Sequence[DatasetResults]) -> int:
    """Draw accuracy against questions, and validation AUC in training; give how many images."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    styles = line_styles(run.key.method for results in datasets for run in results.runs)
    drawn = 0
    for results in datasets:
        title = f"{results.name}: test accuracy after so many questions, mean over seeds"
        figure = _figure(results, styles, title, "questions asked", _accuracy)
        _write(figure, folder / f"{results.name}-accuracy.png")
        trained = DatasetResults(
            results.name, tuple(run for run in results.runs if run.training), {}
        )
        if trained.runs:
            title = f"{results.name}: AUC on validation images in training, mean over seeds"
            figure = _figure(trained, styles, title, "updates", _training)
            _write(figure, folder / f"{results.name}-training.png")
        drawn += 1 + bool(trained.runs)
    return drawn


def _accuracy(runs: Sequence[Run]) -> Points:
    values = [run.curve["accuracy"] for run in runs]
    return runs[0].curve["t"], 100 * np.mean(values, axis=0)


def _training(runs: Sequence[Run]) -> Points:
    values = [run.training["validation_auc"] for run in runs]
    return runs[0].training["updates"], 100 * np.mean(values, axis=0)


def _figure(
    results: DatasetResults,
    styles: Mapping[str, str],
    title: str,
    x_label: str,
    points: Callable[[Sequence[Run]], Points],
) -> Figure:
    """A panel for each initial dictionary, a line for each method, baselines as levels."""
    groups = grouped(results.runs)
    inits = list(dict.fromkeys(init for init, _ in groups))
    columns = min(COLUMNS, len(inits))
    rows = -(-len(inits) // columns)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        size = (PANEL[0] * columns, PANEL[1] * rows + 0.4)
        figure = Figure(figsize=size, dpi=DPI, facecolor="white", layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
        for panel, init in zip(panels, inits, strict=False):
            for (of, method), runs in groups.items():
                if of == init:
                    x, y = points(runs)
                    panel.plot(x, y, label=method, **_line(styles[method]))
            for dash, (key, (name, *_)) in zip(DASHES, BASELINES.items(), strict=False):
                if key in results.baselines:
                    level = 100 * results.baselines[key]
                    panel.axhline(level, label=name, color="#8b93a0", linewidth=1.0, linestyle=dash)
            panel.set_title(f"{init}: {INITS[init]}", size=10)
            panel.set_xlabel(x_label)
            panel.set_ylabel("%")
            panel.grid(color="#d9dee6", linewidth=0.6)
            panel.legend(loc="lower right", fontsize=8)
        for panel in panels[len(inits) :]:
            panel.axis("off")
        figure.suptitle(title, size=11)
        figure.draw_without_rendering()
    return figure


def _line(style: str) -> dict[str, str]:
    """Colour and dash pattern of a method's classes in the style sheet."""
    hue, dash = (int(part.rpartition("-")[2]) for part in style.split())
    return {"color": HUES[hue], "linestyle": DASHES[dash]}


def _write(figure: Figure, path: Path) -> None:
    with whole_file(path) as partial, partial.open("wb") as file, matplotlib.rc_context():
        matplotlib.rcdefaults()
        FigureCanvasAgg(figure).print_png(file, metadata={"Software": None})
