"""Everything that the project draws with matplotlib: explanations and line charts.

An explanation has its questions as rows in the order asked, the most probable classes at the end as
columns, and the posterior in percent as cells (the paper's explanation figure). It is placed in
inches from measured text, so that no label is cut.

A line chart becomes an inline SVG whose colours follow the light or dark scheme of the page, or a
part of a PNG. No file holds dates or versions: equal input gives equal bytes.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import LoadFlags
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator
from PIL import Image

from infopursuit.core.errors import one_line
from infopursuit.core.numbers import percent, percents
from infopursuit.datasets.decoding import to_rgb
from infopursuit.pursuit.explanation import Explanation, Step, ending
from infopursuit.pursuit.sentences import say
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.report.places import marked_picture
from infopursuit.report.words import changed_little, numbered, shown_runs, stops_when

INK, QUIET, RULE = "#1c2330", "#5b6472", "#d5dae1"
YES, NO = "#14692f", "#a81e2d"  # dark enough on white; each answer is also a word
SHADES = matplotlib.colormaps["Blues"]

DPI = 150
MARGIN, GAP = 0.22, 0.18
PICTURE = 1.9
CELL, ROW, LINE = 0.46, 0.3, 0.155
# A small picture with the place of an answer, and the row that has it.
PLACE, PLACE_ROW = 0.66, 0.74
SIZE, SMALL = 9.5, 8.0
WIDEST_QUESTION = 3.3

# Lines of charts: a colour and a dash pattern, which together tell 32 methods apart.
HUES = ("#0072b2", "#c94f00", "#007d5a", "#a3278f", "#8a6a00", "#5b4bc4", "#b3202f", "#3f5468")
DASHES: tuple[tuple[float, ...], ...] = ((), (7, 4), (2, 3), (8, 3, 2, 3))
GRID, LABELS, LEVEL, CARD = "#d9dee7", "#566071", "#5b6473", "#fffffe"
# What each colour of a chart is called in the style sheet of the page.
VARIABLES = {
    **{hue: f"var(--hue-{place})" for place, hue in enumerate(HUES)},
    GRID: "var(--rule)",
    LABELS: "var(--quiet)",
    LEVEL: "var(--level)",
    CARD: "var(--card)",
}
WIDTH, HEIGHT = 440, 290  # of an SVG chart, in pixels
CHART_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "svg.fonttype": "none",
    "lines.scale_dashes": False,
    "lines.linewidth": 2,
    "axes.edgecolor": LABELS,
    "axes.labelcolor": LABELS,
    "text.color": LABELS,
    "xtick.color": LABELS,
    "ytick.color": LABELS,
}


class _Layout(NamedTuple):
    numbers: float
    questions: float
    answers: float
    cells: float
    places: float
    right: float
    tops: list[float]
    width: float
    height: float


class _Fact(NamedTuple):
    label: str
    value: str
    color: str = INK
    weight: str = "bold"

    @property
    def lines(self) -> list[str]:
        return textwrap.wrap(_short(self.value), 25) or [""]

    @property
    def height(self) -> float:
        """In inches, with the space below."""
        return 0.28 + 0.18 * len(self.lines)


def explanation_png(
    explanation: Explanation,
    classes_shown: int = 10,
    picture: Image.Image | None = None,
    stop: StoppingRule | None = None,
    everything: bool = False,
) -> bytes:
    """Draw one explanation as PNG."""
    buffer = io.BytesIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["font.family"] = "DejaVu Sans"  # ships with matplotlib: same everywhere
        classes = explanation.top_classes(classes_shown)
        figure = _draw(explanation, classes, picture, stop, everything)
        FigureCanvasAgg(figure).print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()


def explanation_figure(
    explanation: Explanation,
    classes_shown: int = 10,
    picture: Image.Image | None = None,
    everything: bool = False,
) -> Figure:
    """Draw the same as a matplotlib figure, which a notebook shows."""
    with matplotlib.rc_context({"font.family": "DejaVu Sans"}):
        classes = explanation.top_classes(classes_shown)
        figure = _draw(explanation, classes, picture, None, everything)
    FigureCanvasAgg(figure)
    return figure


def _draw(
    explanation: Explanation,
    classes: list[int],
    picture: Image.Image | None,
    stop: StoppingRule | None = None,
    everything: bool = False,
) -> Figure:
    runs = shown_runs(explanation, everything)
    last = [explanation.steps[run[-1]] for run in runs]
    alone = [step if len(run) == 1 else None for run, step in zip(runs, last, strict=True)]
    questions = [say("before")]
    for run, step in zip(runs, alone, strict=True):
        questions.append(_wrapped(step.question if step else changed_little(explanation, run)))
    facts = _facts(explanation, stop)
    place = _layout(explanation, classes, questions, facts, alone, picture is not None)
    figure = Figure(figsize=(place.width, place.height), dpi=DPI, facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, place.width), ylim=(place.height, 0))
    axes.axis("off")
    _side(axes, facts, picture)
    _heads(axes, explanation, classes, place)
    posteriors = [explanation.prior] + [step.posterior for step in last]
    for row, (question, posterior) in enumerate(zip(questions, posteriors, strict=True)):
        top, below = place.tops[row : row + 2]
        middle = (top + below) / 2
        axes.plot([place.numbers, place.right], [top, top], color=RULE, linewidth=0.6)
        step = alone[row - 1] if row else None
        if row:
            number = numbered(runs[row - 1])
            _text(axes, place.numbers + 0.2, middle, number, SMALL, QUIET, ha="right")
        if step is None:
            _text(axes, place.questions, middle, question, color=QUIET, style="italic")
        else:
            _text(axes, place.questions, middle, question)
            _answer(axes, place.answers, middle, step)
            marked = marked_picture(explanation, step, round(PLACE * DPI))
            if marked is not None:
                _picture(axes, marked, place.places, middle - PLACE / 2, PLACE)
        # All classes are a whole; some of them are not.
        whole = len(classes) == len(posterior)
        cells = [posterior[index] for index in classes]
        percentages = percents(cells) if whole else [percent(each) for each in cells]
        for column, (probability, number) in enumerate(zip(cells, percentages, strict=True)):
            _cell(axes, place.cells + column * CELL, top, below - top, probability, number)
    corner, height = (place.cells, place.tops[0]), place.tops[-1] - place.tops[0]
    edge = Rectangle(corner, CELL, height, fill=False, edgecolor=INK, linewidth=1.3, zorder=3)
    axes.add_patch(edge)
    return figure


def _layout(
    explanation: Explanation,
    classes: list[int],
    questions: list[str],
    facts: list[_Fact],
    alone: list[Step | None],
    pictured: bool,
) -> _Layout:
    widest = max(_width(line) for question in questions for line in question.split("\n"))
    words = [step.marked for step in alone if step is not None]
    answer = max([0.5, *(_width(each, SMALL, "bold") + 0.2 for each in words)])
    names = [_class_label(explanation, index) for index in classes]
    lengths = [_width(name, SIZE, "bold") for name in names]
    lines = max(question.count("\n") + 1 for question in questions)
    numbers = MARGIN + PICTURE + GAP
    questions_at = numbers + 0.3
    answers = questions_at + widest + GAP
    places = answers + answer + GAP
    seen = explanation.picture is not None
    cells = places + (PLACE + GAP if seen else 0.0)
    right = cells + len(classes) * CELL
    # Class names lean at 45 degrees: the right-most ones reach beyond the cells.
    reach = [cells + (column + 0.5) * CELL + 0.72 * length for column, length in enumerate(lengths)]
    top = MARGIN + max(0.72 * max(lengths) + 0.2, 0.5)
    row = max(ROW, lines * LINE + 0.12)
    shown = [seen and step is not None and step.where is not None for step in alone]
    heights = [row] + [max(row, PLACE_ROW) if each else row for each in shown]
    tops = [top, *(top + np.cumsum(heights)).tolist()]
    table = tops[-1] + MARGIN
    side = MARGIN + PICTURE * pictured + 0.22 + sum(fact.height for fact in facts) + MARGIN
    width = max([right, *reach]) + MARGIN
    height = max(table, side)
    return _Layout(numbers, questions_at, answers, cells, places, right, tops, width, height)


def _facts(explanation: Explanation, stop: StoppingRule | None) -> list[_Fact]:
    predicted = f"{explanation.predicted_class}, {explanation.percent}"
    facts = [_Fact(say("prediction_label"), predicted)]
    if explanation.true_class is not None:
        known = explanation.class_names.index(explanation.true_class)
        label = say("truth_label" if explanation.correct else "truth_label_wrong")
        truth = f"{explanation.true_class}, {percent(explanation.posterior[known])}"
        facts.append(_Fact(label, truth, YES if explanation.correct else NO))
    facts += [_Fact("Known", f"{step.question} {step.said}") for step in explanation.known]
    if explanation.nonconforming:
        facts.append(_Fact("It looks like", "none of the classes", NO))
    if any(step.overridden for step in explanation.steps):
        facts.append(_Fact("Answers marked *", f"given, not the {explanation.noun}'s"))
    facts.append(_Fact("Explanation", ending(explanation)))
    if stop is not None:
        facts.append(_Fact("Questions stop", stops_when(stop), QUIET, weight="normal"))
    return facts


def _side(axes: Axes, facts: list[_Fact], picture: Image.Image | None) -> None:
    top = MARGIN
    if picture is not None:
        top += _picture(axes, to_rgb(picture), MARGIN, top, PICTURE)
    top += 0.22
    for fact in facts:
        _text(axes, MARGIN, top, fact.label, SMALL, QUIET, va="top")
        lines = "\n".join(fact.lines)
        _text(axes, MARGIN, top + 0.15, lines, SIZE, fact.color, weight=fact.weight, va="top")
        top += fact.height


def _picture(axes: Axes, picture: Image.Image, left: float, top: float, side: float) -> float:
    wide, high = picture.size
    scale = side / max(wide, high)
    pixels = (max(1, round(wide * scale * DPI)), max(1, round(high * scale * DPI)))
    shown = picture.resize(pixels, Image.Resampling.LANCZOS)
    extent = (left, left + wide * scale, top + high * scale, top)
    axes.imshow(np.asarray(shown), extent=extent, aspect="auto", interpolation="nearest")
    return high * scale


def _heads(axes: Axes, explanation: Explanation, classes: list[int], place: _Layout) -> None:
    """Write names above the columns; the prediction in bold, the true class with a mark."""
    above = place.tops[0] - 0.08
    _text(axes, place.questions, above, "Question", SMALL, QUIET, va="bottom")
    _text(axes, place.answers, above, "Answer", SMALL, QUIET, va="bottom")
    if explanation.picture is not None:
        _text(axes, place.places, above, "Where", SMALL, QUIET, va="bottom")
    for column, index in enumerate(classes):
        left, name = place.cells + (column + 0.5) * CELL - 0.05, _class_label(explanation, index)
        leaning = {"rotation": 45, "rotation_mode": "anchor", "ha": "left", "va": "bottom"}
        weight = "normal" if column else "bold"
        axes.text(left, above, _plain(name), size=SIZE, color=INK, weight=weight, **leaning)


def _class_label(explanation: Explanation, index: int) -> str:
    name = _short(explanation.class_names[index], 32)
    return f"{name} (true)" if explanation.class_names[index] == explanation.true_class else name


def _answer(axes: Axes, left: float, middle: float, step: Step) -> None:
    """Draw yes as a filled green badge, no as an outlined red one, not sure as a grey one.

    The value of a column has neither colour: it may speak for a class or against it.
    """
    word, unsure = step.marked, step.said == "not sure"
    yes = step.yes and step.word is None
    color = QUIET if unsure else INK if step.word is not None else YES if yes else NO
    width, height = _width(word, SMALL, "bold") + 0.16, 0.19
    corner, round_ = (left + 0.03, middle - height / 2), "round,pad=0,rounding_size=0.06"
    fill = {"facecolor": YES if yes else "white", "edgecolor": color, "linewidth": 1.0}
    axes.add_patch(FancyBboxPatch(corner, width, height, boxstyle=round_, **fill))
    ink = "white" if yes else color
    _text(axes, left + 0.03 + width / 2, middle, word, SMALL, ink, ha="center", weight="bold")


def _cell(
    axes: Axes, left: float, top: float, height: float, probability: float, percentage: str
) -> None:
    color = SHADES(0.92 * probability)
    axes.add_patch(
        Rectangle((left, top), CELL, height, facecolor=color, edgecolor="white", linewidth=0.8)
    )
    if probability and not percentage.startswith("<"):
        ink = "white" if _luminance(color[:3]) < 0.2 else INK
        shown = percentage.removesuffix(" %").replace("> ", ">")
        _text(axes, left + CELL / 2, top + height / 2, shown, SMALL, ink, ha="center")


def _luminance(color: tuple[float, ...]) -> float:
    """Return the relative luminance of an sRGB colour, from 0 for black to 1 (WCAG 2)."""
    channels = np.array(color)
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def _text(
    axes: Axes, x: float, y: float, text: str, size: float = SIZE, color: str = INK, **style: Any
) -> None:
    place = {"ha": "left", "va": "center_baseline", "linespacing": 1.15}
    axes.text(x, y, _plain(text), size=size, color=color, **place | style)


def _short(text: str, most: int = 200) -> str:
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _plain(text: str) -> str:
    """Keep matplotlib from reading dollar signs as formulas."""
    return text.replace("$", r"\$")


def _wrapped(query: str) -> str:
    characters, query = 60, _short(query)
    lines = [query]
    while max(map(_width, lines)) > WIDEST_QUESTION and characters > 10:
        characters -= 4
        lines = textwrap.wrap(query, characters) or [query]
    return "\n".join(lines)


@cache
def _width(text: str, size: float = SIZE, weight: str = "normal") -> float:
    if not text.strip():
        return 0.0
    font = get_font(findfont(FontProperties(family="DejaVu Sans", weight=weight)))
    font.set_size(size, 72)
    font.set_text(text, 0.0, flags=LoadFlags.NO_HINTING)
    return font.get_width_height()[0] / 64 / 72


class Line(NamedTuple):
    """A line of a chart: its points left to right, and the edges of its band, empty for none."""

    label: str
    hue: int
    dash: int
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    marker: bool = False


class Level(NamedTuple):
    """A horizontal line across a chart, labelled at its right end."""

    label: str
    dash: int
    y: float


class Chart(NamedTuple):
    """A line chart.

    Attributes:
        heading: above it.
        title, description: for readers who do not see it.
        lines: drawn in their order.
        x_label, y_label: of the axes.
        x_limits, y_limits: their ends.
        levels: horizontal lines.
        rules: where vertical lines are.
    """

    heading: str
    title: str
    description: str
    lines: Sequence[Line]
    x_label: str
    y_label: str
    x_limits: tuple[float, float]
    y_limits: tuple[float, float]
    levels: Sequence[Level] = ()
    rules: Sequence[float] = ()


def limits(values: Sequence[float], low: float | None = None) -> tuple[float, float]:
    """Return round ends of an axis that hold all values, from `low` if that is given."""
    start, end = min(values) if low is None else low, max(values)
    ticks = _ticks().tick_values(start, end if end > start else start + 1)
    return float(ticks[0] if low is None else low), float(ticks[-1])


def chart_svg(chart: Chart) -> Markup:
    """Draw a chart as an `<svg>` element, coloured by the style sheet of the page around it."""
    right = 122 if chart.levels else 12
    salt: dict[Any, Any] = {"svg.hashsalt": f"{chart.title} {chart.description}"}
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(CHART_STYLE | salt)
        figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72))
        place = (42 / WIDTH, 44 / HEIGHT, (WIDTH - 42 - right) / WIDTH, (HEIGHT - 54) / HEIGHT)
        axes = figure.add_axes(place)
        _draw_chart(axes, chart)
        for background in (figure.patch, axes.patch):
            background.set_visible(False)
        buffer = io.StringIO()
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None, "Creator": None})
    _, _, text = buffer.getvalue().partition("<svg")
    _, _, body = text.partition(">")
    for part in (r"<metadata>.*?</metadata>", r"<defs>\s*<style.*?</defs>", r"<!--.*?-->"):
        body = re.sub(part, "", body, flags=re.DOTALL)
    # Fonts are those of the page.
    body = re.sub(r"font-\w+: [^;\"]*;? ?", "", body)
    for place, line in enumerate(chart.lines):
        title = f"<g><title>{escape(line.label)}</title>"
        body = body.replace(f'<g id="line-{place}">', title)
    body = re.sub(r'<g id="[^"]*"/>', "", body)
    body = re.sub(r'<g id="[^"]*">', "<g>", body)
    for color, variable in VARIABLES.items():
        body = body.replace(color, variable)
    body = re.sub(r"\s*\n\s*", "\n", body)
    return Markup(
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(chart.title)}. {escape(chart.description)}">{body.strip()}'
    )


def charts_png(title: str, charts: Sequence[Chart], columns: int = 3) -> bytes:
    """Draw charts side by side as one PNG, each with a legend."""
    columns = min(columns, len(charts))
    rows = -(-len(charts) // columns)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(CHART_STYLE)
        size = (5.4 * columns, 4.0 * rows + 0.4)
        figure = Figure(figsize=size, dpi=110, facecolor="white", layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, chart in zip(panels, charts, strict=False):
            _draw_chart(panel, chart)
            panel.set_title(chart.heading, size=10)
            panel.set_ylabel(chart.y_label)
            panel.legend(loc="lower right", fontsize=8)
        for panel in panels[len(charts) :]:
            panel.axis("off")
        figure.suptitle(textwrap.fill(title, 52 * columns), size=11)
        buffer = io.BytesIO()
        FigureCanvasAgg(figure).print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()


def swatch(hue: int | None, dash: int) -> Markup:
    """Draw a short piece of a line for a legend; without a hue, of a level."""
    color = "level" if hue is None else f"hue-{hue}"
    dashes = " ".join(map(str, DASHES[dash])) or "none"
    return Markup(
        '<svg class="swatch" viewBox="0 0 36 14" aria-hidden="true"><path d="M1 7H35" '
        f'style="stroke: var(--{color}); stroke-dasharray: {dashes}"/></svg>'
    )


def interval_bar(interval: tuple[float, float, float], least: float, most: float) -> Markup:
    """Draw an interval (value, low, high) on a scale from `least` <= 0 to `most` >= 0."""

    def at(number: float) -> float:
        return round(4 + 132 * (number - least) / (most - least), 1)

    value, low, high, zero = map(at, (*interval, 0.0))
    return Markup(
        '<svg class="interval" viewBox="0 0 140 16" aria-hidden="true">'
        f'<line class="rule" x1="{zero}" x2="{zero}" y1="0" y2="16"/>'
        f'<line class="span" x1="{low}" x2="{high}" y1="8" y2="8"/>'
        f'<circle class="dot" cx="{value}" cy="8" r="3.6"/></svg>'
    )


def _draw_chart(axes: Axes, chart: Chart) -> None:
    axes.set(xlim=chart.x_limits, ylim=chart.y_limits, xlabel=chart.x_label)
    axes.spines[["left", "top", "right"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=1, clip_on=False)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, pad=6)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(_ticks())
        axis.set_major_formatter(FuncFormatter(_number))
    for at in chart.rules:
        axes.axvline(at, color=LABELS, linewidth=1, linestyle=(0, (2, 3)), clip_on=False)
    for line in chart.lines:
        if len(line.low):
            fill = {"color": HUES[line.hue], "alpha": 0.16, "linewidth": 0, "clip_on": False}
            axes.fill_between(line.x, line.low, line.high, **fill)
    beyond = (chart.y_limits[1] - chart.y_limits[0]) * 15 / (HEIGHT - 54)
    below = np.inf
    for level in sorted(chart.levels, key=lambda level: -level.y):
        style = {"linestyle": _dashes(level.dash), "clip_on": False}
        axes.axhline(level.y, color=LEVEL, linewidth=1.4, **style)
        below = min(level.y, below - beyond)
        at = {"xy": (1, below), "xycoords": ("axes fraction", "data")}
        text = {"xytext": (5, 0), "textcoords": "offset points", "va": "center_baseline"}
        axes.annotate(level.label, **at, **text, annotation_clip=False)
    for place, line in enumerate(chart.lines):
        marker = {"marker": "o", "markersize": 6, "markeredgecolor": CARD} if line.marker else {}
        style = {"color": HUES[line.hue], "linestyle": _dashes(line.dash), "clip_on": False}
        axes.plot(line.x, line.y, label=line.label, gid=f"line-{place}", **style, **marker)


def _ticks() -> MaxNLocator:
    return MaxNLocator(5, steps=[1, 2, 5, 10])


def _dashes(dash: int) -> Any:
    return (0, DASHES[dash]) if DASHES[dash] else "-"


def _number(value: float, _: int | None = None) -> str:
    return f"{round(value, 6):,.10g}".replace(",", " ").replace("-", "\N{MINUS SIGN}")


def figure_names(images: Sequence[str]) -> list[str]:
    """Return a distinct file name for each figure: the id with odd characters replaced."""
    names: list[str] = []
    for image in images:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", image).strip("._") or "image"
        name, number = f"{stem}.png", 2
        while name in names:
            name, number = f"{stem}-{number}.png", number + 1
        names.append(name)
    return names
