"""Line charts as inline SVG: small, sharp at any size, and coloured by the style sheet of the page.

matplotlib would fix the colours; these charts follow the reader's light or dark scheme. Every chart
has a title and a description for those who do not see it, and every line a dash pattern
beside its colour.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, HEIGHT = 440, 290
LEFT, RIGHT, TOP, BOTTOM = 42, 12, 10, 44
LEVEL_LABELS = 122  # room right of the plot where levels are labelled
LINE_HEIGHT = 15

# Drawn at a point of a line.
MARKERS = {"circle": "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", "": ""}


@dataclass(frozen=True)
class Series:
    """A line.

    Attributes:
        label: its name, also shown on hover.
        style: classes of the style sheet that give colour and dash pattern.
        x, y: its points, left to right.
        low, high: edges of the band around it, empty for none.
        marker: a key of `MARKERS`, drawn at each point.
    """

    label: str
    style: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    marker: str = ""


@dataclass(frozen=True)
class Level:
    """A horizontal line across the chart with its label at the right."""

    label: str
    style: str
    y: float


@dataclass(frozen=True)
class Axis:
    """A linear axis from `low` to `high`, with its label."""

    label: str
    low: float
    high: float

    @property
    def ticks(self) -> list[float]:
        """Round numbers within the axis."""
        step = _round_step((self.high - self.low) / 5)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [index * step for index in range(first, last + 1)]

    def share(self, value: float) -> float:
        """Where a value lies between low (0) and high (1)."""
        return (value - self.low) / (self.high - self.low)


def axis(label: str, values: Sequence[float], low: float | None = None) -> Axis:
    """An axis that holds all values, with ends at round numbers (or at the given `low`)."""
    start, end = min(values) if low is None else low, max(values)
    step = _round_step((end - start) / 5 or abs(end) / 5 or 1.0)
    if low is None:
        start = math.floor(start / step + 1e-9) * step
    return Axis(label, start, max(math.ceil(end / step - 1e-9) * step, start + step))


def line_chart(
    title: str,
    description: str,
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    levels: Sequence[Level] = (),
    rules: Sequence[float] = (),
) -> Markup:
    """A chart of lines with bands, levels across and vertical rules, as an `<svg>` element."""
    right = WIDTH - (LEVEL_LABELS if levels else RIGHT)
    plot = _Plot(x, y, LEFT, right, TOP, HEIGHT - BOTTOM)
    parts = [*plot.grid()]
    parts += [
        f'<line class="rule" x1="{plot.x(at)}" x2="{plot.x(at)}" y1="{TOP}" y2="{plot.bottom}"/>'
        for at in rules
    ]
    parts += [
        f'<path class="band {line.style}" d="{plot.band(line)}"/>' for line in series if line.low
    ]
    parts += [*plot.levels(levels)]
    for line in series:
        path = f'<path class="line {line.style}" d="{plot.path(line.x, line.y)}"/>'
        marks = "".join(
            f'<path class="mark {line.style}" transform="translate({plot.x(a)} {plot.y(b)})" '
            f'd="{MARKERS[line.marker]}"/>'
            for a, b in zip(line.x, line.y, strict=True)
            if line.marker
        )
        parts.append(f"<g><title>{escape(line.label)}</title>{path}{marks}</g>")
    return Markup(
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}. {escape(description)}">{"".join(parts)}</svg>'
    )


def swatch(style: str) -> Markup:
    """A short piece of a line for the legend."""
    return Markup(
        f'<svg class="swatch" viewBox="0 0 36 14" aria-hidden="true">'
        f'<path class="line {style}" d="M1 7H35"/></svg>'
    )


def interval_bar(found: tuple[float, float, float], least: float, most: float) -> Markup:
    """An interval (value, low, high) on a scale from `least` <= 0 to `most` >= 0, a rule at 0."""

    def at(number: float) -> float:
        return round(4 + 132 * (number - least) / (most - least), 1)

    value, low, high, zero = map(at, (*found, 0.0))
    return Markup(
        '<svg class="interval" viewBox="0 0 140 16" aria-hidden="true">'
        f'<line class="rule" x1="{zero}" x2="{zero}" y1="0" y2="16"/>'
        f'<line class="span" x1="{low}" x2="{high}" y1="8" y2="8"/>'
        f'<circle class="dot" cx="{value}" cy="8" r="3.6"/></svg>'
    )


@dataclass(frozen=True)
class _Plot:
    """Maps values to places inside the frame of a chart."""

    x_axis: Axis
    y_axis: Axis
    left: int
    right: int
    top: int
    bottom: int

    def x(self, value: float) -> float:
        return round(self.left + self.x_axis.share(value) * (self.right - self.left), 1)

    def y(self, value: float) -> float:
        return round(self.bottom - self.y_axis.share(value) * (self.bottom - self.top), 1)

    def path(self, x: Sequence[float], y: Sequence[float]) -> str:
        points = [f"{self.x(a)} {self.y(b)}" for a, b in zip(x, y, strict=True)]
        return "M" + "L".join(points)

    def band(self, line: Series) -> str:
        there = self.path(line.x, line.high)
        back = self.path(list(line.x)[::-1], list(line.low)[::-1])
        return f"{there}L{back.removeprefix('M')}Z"

    def grid(self) -> Iterator[str]:
        for value in self.y_axis.ticks:
            at = self.y(value)
            yield f'<line class="grid" x1="{self.left}" x2="{self.right}" y1="{at}" y2="{at}"/>'
            yield (
                f'<text class="tick" x="{self.left - 6}" y="{at + 4}" text-anchor="end">'
                f"{_number(value)}</text>"
            )
        for value in self.x_axis.ticks:
            yield (
                f'<text class="tick" x="{self.x(value)}" y="{self.bottom + 17}" '
                f'text-anchor="middle">{_number(value)}</text>'
            )
        yield (
            f'<line class="base" x1="{self.left}" x2="{self.right}" '
            f'y1="{self.bottom}" y2="{self.bottom}"/>'
        )
        yield (
            f'<text class="name" x="{(self.left + self.right) / 2}" y="{self.bottom + 37}" '
            f'text-anchor="middle">{escape(self.x_axis.label)}</text>'
        )

    def levels(self, levels: Sequence[Level]) -> Iterator[str]:
        """Lines at their values, labels beside them moved apart where they would overlap."""
        highest_first = sorted(levels, key=lambda level: -level.y)
        below = self.top - LINE_HEIGHT
        for level in highest_first:
            at = self.y(level.y)
            below = max(at, below + LINE_HEIGHT)
            yield (
                f'<line class="level {level.style}" x1="{self.left}" x2="{self.right}" '
                f'y1="{at}" y2="{at}"/>'
                f'<text class="note" x="{self.right + 5}" y="{round(below + 4, 1)}">'
                f"{escape(level.label)}</text>"
            )


def _round_step(rough: float) -> float:
    """The next of 1, 2, 5 times a power of ten that is at least `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def _number(value: float) -> str:
    return f"{round(value, 6):,.10g}".replace(",", " ").replace("-", "\N{MINUS SIGN}")
