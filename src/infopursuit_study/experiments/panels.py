"""Panels of lines beside each other, as one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure


def draw(path: Path, panels: Sequence[dict[str, Any]], columns: int, **settings: Any) -> None:
    """Draw panels of lines; each has `lines` (label, x, y) and settings of its axes.

    `log` lists the logarithmic axes; `legend` is `within` the panel or `beside` it.
    """
    legends = {
        "within": {"frameon": False, "fontsize": "small"},
        "beside": {"frameon": False, "loc": "center left", "bbox_to_anchor": (1.02, 0.5)},
    }
    with matplotlib.rc_context({"svg.hashsalt": "infopursuit", "svg.fonttype": "none"}):
        figure = Figure(facecolor="white", layout="constrained", **settings)
        rows = -(-len(panels) // columns)
        axes = figure.subplots(rows, columns, sharey="row", squeeze=False).flat
        for axis, panel in zip(axes, panels, strict=True):
            labels = {name: panel[name] for name in panel.keys() - {"lines", "log", "legend"}}
            for label, x, y in panel["lines"]:
                axis.plot(x, y, marker="o", label=label)
            if any(len(x) for _, x, _ in panel["lines"]):  # an empty axis has no logarithmic scale
                labels |= {f"{name}scale": "log" for name in panel.get("log", "x")}
            axis.set(**labels)
            if "xticks" in panel:
                axis.set_xticks(panel["xticks"], [f"{x:,}" for x in panel["xticks"]])
                axis.minorticks_off()
            axis.grid(color="#e3e7ee", linewidth=0.6)
            if "legend" in panel:
                axis.legend(**legends[panel["legend"]])
        FigureCanvasSVG(figure).print_svg(str(path), metadata={"Date": None, "Creator": None})
