"""The figure of one explanation: questions, answers, and how the posterior moved.

Rows are the questions in the order asked, columns the most probable classes at the end, cells the
posterior in percent (the paper's explanation figure). Everything is placed in inches from measured
text, so that no label is cut, and the PNG holds neither dates nor versions:
equal input, equal bytes.
"""

from __future__ import annotations

import io
import textwrap
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.textpath import TextPath
from PIL import Image

from infopursuit.core.numbers import percent
from infopursuit.explanation.explanation import Explanation
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.explanation.text import question as in_words
from infopursuit.explanation.text import stops_when

INK, QUIET, RULE = "#1c2330", "#5b6472", "#d5dae1"
YES, NO = "#14692f", "#a81e2d"  # dark enough on white; each answer is also a word
SHADES = matplotlib.colormaps["Blues"]

DPI = 150
MARGIN, GAP = 0.22, 0.18
PICTURE = 1.9
CELL, ROW, LINE = 0.46, 0.3, 0.155
SIZE, SMALL = 9.5, 8.0
WIDEST_QUESTION = 3.3
BEFORE = "before any question"


@dataclass(frozen=True)
class _Layout:
    """Where things are, in inches from the top left corner."""

    numbers: float
    questions: float
    answers: float
    cells: float
    entropies: float
    top: float
    row: float
    width: float
    height: float


class _Fact(NamedTuple):
    """A fact about the explanation, in the column of the picture."""

    label: str
    value: str
    color: str = INK
    weight: str = "bold"

    @property
    def lines(self) -> list[str]:
        """The value, wrapped."""
        return textwrap.wrap(self.value, 25) or [""]

    @property
    def height(self) -> float:
        """In inches, with the space below."""
        return 0.28 + 0.18 * len(self.lines)


def explanation_png(
    explanation: Explanation,
    classes_shown: int = 10,
    picture: Image.Image | None = None,
    stop: StoppingRule | None = None,
) -> bytes:
    """Draw one explanation as PNG.

    Args:
        explanation: what was asked and believed.
        classes_shown: how many of the most probable classes at the end become columns.
        picture: the image itself, drawn beside the heat map.
        stop: the rule that ended the questions, told beside the heat map; None tells no rule.
    """
    buffer = io.BytesIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["font.family"] = "DejaVu Sans"  # ships with matplotlib: same everywhere
        figure = _draw(explanation, explanation.top_classes(classes_shown), picture, stop)
        FigureCanvasAgg(figure).print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()


def explanation_figure(
    explanation: Explanation, classes_shown: int = 10, picture: Image.Image | None = None
) -> Figure:
    """The same as a matplotlib figure, which a notebook shows."""
    with matplotlib.rc_context({"font.family": "DejaVu Sans"}):
        figure = _draw(explanation, explanation.top_classes(classes_shown), picture)
    FigureCanvasAgg(figure)
    return figure


def _draw(
    explanation: Explanation,
    classes: list[int],
    picture: Image.Image | None,
    stop: StoppingRule | None = None,
) -> Figure:
    questions = [BEFORE] + [_wrapped(in_words(step.query)) for step in explanation.steps]
    facts = _facts(explanation, stop)
    place = _layout(explanation, classes, questions, facts)
    figure = Figure(figsize=(place.width, place.height), dpi=DPI, facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, place.width), ylim=(place.height, 0))
    axes.axis("off")
    _side(axes, facts, picture)
    _heads(axes, explanation, classes, place)
    posteriors = [explanation.prior] + [step.posterior for step in explanation.steps]
    for row, (question, posterior) in enumerate(zip(questions, posteriors, strict=True)):
        top = place.top + row * place.row
        middle = top + place.row / 2
        axes.plot([place.numbers, place.entropies + 0.62], [top, top], color=RULE, linewidth=0.6)
        if row:
            step = explanation.steps[row - 1]
            _text(axes, place.numbers + 0.2, middle, str(row), SMALL, QUIET, ha="right")
            _text(axes, place.questions, middle, question)
            _answer(axes, place.answers, middle, step.said, step.yes)
            _text(
                axes,
                place.entropies + 0.56,
                middle,
                f"{step.entropy:.2f}",
                SMALL,
                QUIET,
                ha="right",
            )
        else:
            _text(axes, place.questions, middle, question, color=QUIET, style="italic")
        for column, index in enumerate(classes):
            _cell(axes, place.cells + column * CELL, top, place.row, posterior[index])
    bottom = place.top + len(questions) * place.row
    corner, height = (place.cells, place.top), bottom - place.top
    edge = Rectangle(corner, CELL, height, fill=False, edgecolor=INK, linewidth=1.3, zorder=3)
    axes.add_patch(edge)
    return figure


def _layout(
    explanation: Explanation, classes: list[int], questions: list[str], facts: list[_Fact]
) -> _Layout:
    widest = max(_width(line) for question in questions for line in question.split("\n"))
    answer = max([0.5, *(_width(step.said, SMALL, "bold") + 0.2 for step in explanation.steps)])
    names = [_class_label(explanation, index) for index in classes]
    lengths = [_width(name, SIZE, "bold") for name in names]
    lines = max(question.count("\n") + 1 for question in questions)
    numbers = MARGIN + PICTURE + GAP
    questions_at = numbers + 0.3
    answers = questions_at + widest + GAP
    cells = answers + answer + GAP
    entropies = cells + len(classes) * CELL + 0.08
    # Class names lean at 45 degrees: the right-most ones reach beyond the cells.
    reach = [cells + (column + 0.5) * CELL + 0.72 * length for column, length in enumerate(lengths)]
    top = MARGIN + max(0.72 * max(lengths) + 0.2, 0.5)
    row = max(ROW, lines * LINE + 0.12)
    table = top + len(questions) * row + MARGIN
    side = MARGIN + PICTURE + 0.22 + sum(fact.height for fact in facts) + MARGIN
    width = max([entropies + 0.66, *reach]) + MARGIN
    return _Layout(
        numbers, questions_at, answers, cells, entropies, top, row, width, max(table, side)
    )


def _facts(explanation: Explanation, stop: StoppingRule | None) -> list[_Fact]:
    """What the prediction is, whether it is right, and why the questions ended."""
    facts = [
        _Fact("Prediction", f"{explanation.predicted_class}, {percent(explanation.probability)}")
    ]
    if explanation.true_class is not None:
        known = explanation.class_names.index(explanation.true_class)
        facts.append(
            _Fact(
                "True class" if explanation.correct else "True class (prediction is wrong)",
                f"{explanation.true_class}, {percent(explanation.posterior[known])}",
                YES if explanation.correct else NO,
            )
        )
    if explanation.unfamiliar:
        facts.append(_Fact("It looks like", "none of the classes", NO))
    count = len(explanation.steps)
    asked = f"{count} question{'' if count == 1 else 's'}"
    if explanation.chosen_from is not None:
        asked = f"{count} of {explanation.chosen_from} answers"
    facts.append(_Fact("Explanation", asked + ("" if explanation.confident else " (the limit)")))
    if stop is not None:
        facts.append(_Fact("Questions stop", stops_when(stop), QUIET, weight="normal"))
    return facts


def _side(axes: Axes, facts: list[_Fact], picture: Image.Image | None) -> None:
    """The picture and the facts, left of the heat map."""
    top = MARGIN
    if picture is not None:
        wide, high = picture.size
        scale = PICTURE / max(wide, high)
        pixels = (max(1, round(wide * scale * DPI)), max(1, round(high * scale * DPI)))
        shown = picture.convert("RGB").resize(pixels, Image.Resampling.LANCZOS)
        extent = (MARGIN, MARGIN + wide * scale, top + high * scale, top)
        axes.imshow(np.asarray(shown), extent=extent, aspect="auto", interpolation="nearest")
        top += high * scale
    top += 0.22
    for fact in facts:
        _text(axes, MARGIN, top, fact.label, SMALL, QUIET, va="top")
        told = "\n".join(fact.lines)
        _text(axes, MARGIN, top + 0.15, told, SIZE, fact.color, weight=fact.weight, va="top")
        top += fact.height


def _heads(axes: Axes, explanation: Explanation, classes: list[int], place: _Layout) -> None:
    """Names above the columns; the prediction in bold, the true class with a mark."""
    above = place.top - 0.08
    _text(axes, place.questions, above, "Question", SMALL, QUIET, va="bottom")
    _text(axes, place.answers, above, "Answer", SMALL, QUIET, va="bottom")
    for column, index in enumerate(classes):
        axes.text(
            place.cells + (column + 0.5) * CELL - 0.05,
            above,
            _plain(_class_label(explanation, index)),
            size=SIZE,
            color=INK,
            weight="bold" if column == 0 else "normal",
            rotation=45,
            rotation_mode="anchor",
            ha="left",
            va="bottom",
        )
    middle = place.top + place.row / 2
    right = place.entropies + 0.56
    _text(axes, right, middle, "entropy", SMALL, QUIET, ha="right", style="italic")


def _class_label(explanation: Explanation, index: int) -> str:
    name = textwrap.shorten(explanation.class_names[index], 32, placeholder="…")
    return f"{name} (true)" if explanation.class_names[index] == explanation.true_class else name


def _answer(axes: Axes, left: float, middle: float, said: str, yes: bool) -> None:
    """Yes is a filled green badge, no an outlined red one, not sure an outlined grey one."""
    color = YES if yes else QUIET if said == "not sure" else NO
    width, height = _width(said, SMALL, "bold") + 0.16, 0.19
    badge = FancyBboxPatch(
        (left + 0.03, middle - height / 2),
        width,
        height,
        boxstyle="round,pad=0,rounding_size=0.06",
        facecolor=YES if yes else "white",
        edgecolor=color,
        linewidth=1.0,
    )
    axes.add_patch(badge)
    ink = "white" if yes else color
    _text(axes, left + 0.03 + width / 2, middle, said, SMALL, ink, ha="center", weight="bold")


def _cell(axes: Axes, left: float, top: float, height: float, probability: float) -> None:
    color = SHADES(0.92 * probability)
    axes.add_patch(
        Rectangle((left, top), CELL, height, facecolor=color, edgecolor="white", linewidth=0.8)
    )
    if probability >= 0.01:
        ink = "white" if _luminance(color[:3]) < 0.2 else INK
        shown = percent(probability).removesuffix(" %").replace("> ", ">")
        _text(axes, left + CELL / 2, top + height / 2, shown, SMALL, ink, ha="center")


def _luminance(color: tuple[float, ...]) -> float:
    """Relative luminance of an sRGB colour, 0 for black to 1 for white (WCAG 2)."""
    channels = np.array(color)
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def _text(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    size: float = SIZE,
    color: str = INK,
    *,
    ha: str = "left",
    va: str = "center_baseline",
    weight: str = "normal",
    style: str = "normal",
) -> None:
    axes.text(
        x,
        y,
        _plain(text),
        size=size,
        color=color,
        ha=ha,
        va=va,
        weight=weight,
        style=style,
        linespacing=1.15,
    )


def _plain(text: str) -> str:
    """Keep matplotlib from reading dollar signs as formulas."""
    return text.replace("$", r"\$")


def _wrapped(query: str) -> str:
    characters = 60
    lines = [query]
    while max(map(_width, lines)) > WIDEST_QUESTION and characters > 10:
        characters -= 4
        lines = textwrap.wrap(query, characters) or [query]
    return "\n".join(lines)


@cache
def _width(text: str, size: float = SIZE, weight: str = "normal") -> float:
    """Width of a line of text in inches."""
    if not text.strip():
        return 0.0
    font = FontProperties(family="DejaVu Sans", weight=weight)
    return float(TextPath((0, 0), _plain(text), size=size, prop=font).get_extents().width) / 72
