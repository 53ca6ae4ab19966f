"""Pictures of the comparison: accuracy by number of texts, and accuracy by truth.

Equal input gives equal bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from infopursuit.core.files import atomic_write
from infopursuit.pipeline.benchmark_settings import TITLES, Unit
from infopursuit_study.comparison.results import Result
from infopursuit_study.comparison.tables import OURS
from infopursuit_study.peers.peer import BUDGETS

# What t texts are, and the panel that shows it.
PANELS: dict[Unit, str] = {
    "questions": "t questions",
    "texts of an image": "t texts chosen for each image",
    "weights a class": "t weights a class on average",
}
HUES = ("#0072b2", "#007d5a", "#a3278f", "#8a6a00", "#5b4bc4", "#b3202f", "#3f5468", "#2aa4a0")
MARKERS = "osD^vPX*"
OUR_HUE, GREY = "#c94f00", "#8b93a0"
# Dash and marker of each of ours.
OURS_DRAWN = {OURS: ("-", "D"), f"{OURS}_knowing": ("--", "^")}
SIZE_OF_PANEL = (3.3, 4.6)
STYLE: dict[Any, Any] = {"svg.hashsalt": "infopursuit", "svg.fonttype": "none", "font.size": 9}


def draw_curves(path: Path, dataset: str, results: Sequence[Result]) -> None:
    """Draw mean test accuracy at t texts into an SVG file, with a panel for each meaning of t.

    Ours is in all panels. Black boxes are horizontal lines.
    """
    measured = [each for each in results if not each.absent]
    bounded = [each for each in measured if each.bounded]
    units: list[Unit] = [
        unit for unit in PANELS if any(TITLES[each.peer].unit == unit for each in bounded)
    ]
    units = units or ["questions"]
    with matplotlib.rc_context(STYLE):
        columns = min(2, len(units))
        rows = -(-len(units) // columns)
        size = SIZE_OF_PANEL[0] * columns + 0.4, SIZE_OF_PANEL[1] * rows + 0.3
        figure = Figure(figsize=size, facecolor="white", layout="constrained")
        panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        for panel in panels[len(units) :]:
            panel.remove()
        for panel, unit in zip(panels, units, strict=False):
            _levels(panel, measured)
            _lines(panel, [each for each in bounded if TITLES[each.peer].unit == unit])
            panel.set(xlabel=PANELS[unit], ylabel="test accuracy, %", xticks=BUDGETS)
            panel.grid(color="#e3e7ee", linewidth=0.6)
            if unit != "questions":
                _lines(panel, [each for each in bounded if each.peer == OURS])
            panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.19), fontsize=8, frameon=False)
        figure.suptitle(f"{dataset}: accuracy by the number of texts", size=10)
        _write(figure, path)


def draw_truth(path: Path, dataset: str, results: Sequence[Result]) -> None:
    """Draw accuracy at 10 texts by the truth of claims, a point for each peer with reference."""
    points = []
    for each in results:
        true = None if each.absent else each.mean("claims_true")
        accuracy = None if each.absent else each.mean("accuracy_at_10") or each.mean("accuracy")
        if true is not None and accuracy is not None and each.mean("claims_in_model"):
            points.append((each.peer, 100 * true, 100 * accuracy))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 4.6), facecolor="white", layout="constrained")
        panel = figure.subplots()
        for place, (peer, true, accuracy) in enumerate(sorted(points, key=lambda point: -point[2])):
            ours = OURS_DRAWN.get(peer)
            hue, marker = (OUR_HUE, ours[1]) if ours else look(place)
            size = 10 if ours else 6
            panel.plot(true, accuracy, marker, label=_title(peer), color=hue, markersize=size)
        if points:
            panel.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=8, frameon=False)
        else:
            panel.text(0.5, 0.5, "no reference labels", ha="center", transform=panel.transAxes)
        panel.set(xlim=(0, 100), xlabel="claims that are true, %")
        panel.set_ylabel("test accuracy at 10 texts, %")
        panel.grid(color="#e3e7ee", linewidth=0.6)
        figure.suptitle(f"{dataset}: accuracy beside truth", size=10)
        _write(figure, path)


def look(place: int) -> tuple[str, str]:
    """Return the hue and the marker of a point; 64 places are distinct."""
    return HUES[(place // 2 + place // 16) % len(HUES)], MARKERS[place % len(MARKERS)]


def _lines(panel: Axes, results: Sequence[Result]) -> None:
    others = [each for each in results if each.peer not in OURS_DRAWN]
    for each in results:
        accuracy = 100 * each.correct[:, :, : len(BUDGETS)].mean(axis=(0, 1))
        if each in others:
            place = others.index(each)
            hue, marker = HUES[place % len(HUES)], MARKERS[place % len(MARKERS)]
            style = {"color": hue, "marker": marker, "markersize": 4, "linewidth": 1.1}
        else:
            dash, _ = OURS_DRAWN[each.peer]
            style = {"color": OUR_HUE, "linestyle": dash, "linewidth": 2.4}
        panel.plot(BUDGETS, accuracy, label=_title(each.peer), **style)


def _levels(panel: Axes, results: Sequence[Result]) -> None:
    for each in filter(_is_black_box, results):
        level = 100 * each.correct[:, :, -1].mean()
        panel.axhline(level, color=GREY, linewidth=1, label=_title(each.peer))


def _is_black_box(each: Result) -> bool:
    return not TITLES[each.peer].explained


def _title(peer: str) -> str:
    return TITLES[peer].title.replace("*", "")


def _write(figure: Figure, path: Path) -> None:
    with atomic_write(path) as partial:
        FigureCanvasSVG(figure).print_svg(str(partial), metadata={"Date": None, "Creator": None})
