"""What is drawn: equal bytes, no dates, and nothing beyond its edges."""

import io
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from infopursuit.pursuit.explanation import Explanation, Step
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.report.figures import (
    Chart,
    Level,
    Line,
    _facts,
    chart_svg,
    charts_png,
    explanation_png,
    figure_names,
    interval_bar,
    limits,
    swatch,
)

LONG = "smoke rising into the air from a tall chimney stack of brick"


def explained(queries=("wings", "$5 & <b>", LONG), c=12, true_class="class 3") -> Explanation:
    names = tuple(f"class {index}" for index in range(c))
    posteriors = np.random.default_rng(0).dirichlet(np.ones(c), len(queries) + 1)
    steps = tuple(
        Step(query, float(row % 2), tuple(posterior.tolist()), 1.0)
        for row, (query, posterior) in enumerate(zip(queries, posteriors[1:], strict=True))
    )
    return Explanation("x", names, tuple(posteriors[0].tolist()), steps, "maximum", true_class)


def pixels(png: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB"))


def test_equal_input_gives_equal_bytes_without_dates_and_the_picture():
    picture = Image.new("RGB", (64, 64), "red")
    first = explanation_png(explained(), 10, picture)
    assert first == explanation_png(explained(), 10, picture)
    with Image.open(io.BytesIO(first)) as image:
        assert set(image.info) <= {"dpi"}
    assert (pixels(first) == (255, 0, 0)).all(axis=2).sum() > 200 * 200


@pytest.mark.parametrize("picture", [None, Image.new("L", (20, 90), 10)])
@pytest.mark.parametrize(
    "explanation",
    [
        explained(),
        explained(queries=()),
        explained(queries=(LONG,) * 20, true_class=None),
        explained(queries=("a",), c=2, true_class="class 1"),
        replace(
            explained(true_class=None),
            class_names=("a long name beyond all measure", *"bcdefghijkl"),
        ),
    ],
)
def test_nothing_touches_the_edge(explanation, picture):
    shown = pixels(explanation_png(explanation, 10, picture))
    for edge in (shown[:8], shown[-8:], shown[:, :8], shown[:, -8:]):
        assert (edge == 255).all()


@pytest.mark.parametrize(
    ("answer", "word", "green", "red"),
    [
        (1.0, None, True, False),
        (0.5, None, False, False),
        (0.0, None, False, True),
        (1.0, "Biscoe", False, False),
        (0.0, "Biscoe", False, False),
    ],
)
def test_yes_is_filled_green_no_is_red_and_a_value_of_a_column_is_neither(answer, word, green, red):
    step = Step("wings", answer, (0.5, 0.5), 0.7, word=word)
    told = Explanation("x", ("a", "b"), (0.5, 0.5), (step,), "maximum")
    r, g, b = np.moveaxis(pixels(explanation_png(told)).astype(int), 2, 0)
    assert (((g - r > 40) & (g - b > 20)).sum() > 200) == green
    assert ((r - g > 60).sum() > 50) == red


def test_the_rule_and_an_image_of_none_of_the_classes_are_told_beside_the_heat_map():
    nonconforming = replace(explained(queries=("a",)), conformity=0.002)
    facts = {fact.label: fact.value for fact in _facts(nonconforming, StoppingRule(0.85, 20))}
    assert facts["It looks like"] == "none of the classes"
    assert facts["Questions stop"] == "at a probability of 85 % or after 20 questions"
    assert facts["Explanation"] == "not certain: after 1 question it may ask no more"
    conforming = replace(nonconforming, conformity=0.2)
    assert {fact.label for fact in _facts(conforming, None)} == {*facts} - {
        "It looks like",
        "Questions stop",
    }
    shown = pixels(explanation_png(nonconforming, 10, Image.new("L", (9, 9)), StoppingRule()))
    assert (shown[-8:] == 255).all()
    assert len(shown) > len(pixels(explanation_png(conforming, 10, Image.new("L", (9, 9)))))


CHART = Chart(
    "heading",
    "Title <1>",
    "a: 9.",
    [
        Line("a & <b>", 0, 1, [0, 1, 2], [0, 5, 9], [0, 4, 8], [1, 6, 9.5], marker=True),
        Line("plain", 3, 0, [0, 2], [0, 5]),
    ],
    "x",
    "y",
    (0.0, 2.0),
    (0.0, 10.0),
    [Level("MLP 9.4", 0, 9.4), Level("probe 9.3", 3, 9.3)],
    [1.0],
)


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12))
def test_limits_hold_their_values(values):
    low, high = limits(values)
    slack = 1e-6 * (high - low)
    assert low - slack <= min(values) <= max(values) <= high + slack
    assert limits([3.0, 97.0], 0.0) == (0.0, 100.0)


def test_a_chart_is_well_formed_named_and_coloured_by_the_page():
    text = chart_svg(CHART)
    assert text == chart_svg(CHART)
    root = ElementTree.fromstring(text.replace("xlink:", ""))
    assert root.get("aria-label") == "Title <1>. a: 9."
    assert [node.text for node in root.iter("title")] == ["a & <b>", "plain"]
    assert "var(--hue-0)" in text
    assert "var(--hue-3)" in text
    assert not re.search("#[0-9a-f]{6}", text), "every colour follows the scheme of the reader"
    assert "font" not in text
    notes = [node for node in root.iter("text") if node.text in ("MLP 9.4", "probe 9.3")]
    heights = sorted(float(node.get("y") or 0) for node in notes)
    assert heights[1] - heights[0] >= 12, "moved apart, although the levels almost coincide"
    points = [node for node in root.iter("use") if float(node.get("y") or 0) < 290]
    assert len(points) == 3
    assert all(0 <= float(node.get("x") or 0) <= 440 for node in points)


def test_charts_side_by_side_are_equal_on_repeat():
    first = charts_png("title", [CHART] * 4)
    assert first == charts_png("title", [CHART] * 4)
    assert pixels(first).shape[:2] == (round(8.4 * 110), round(5.4 * 3 * 110))


def test_a_swatch_has_hue_and_dash():
    (line,) = ElementTree.fromstring(swatch(3, 2))
    assert line.get("style") == "stroke: var(--hue-3); stroke-dasharray: 2 3"
    assert "var(--level)" in swatch(None, 0)


@given(interval=st.tuples(*[st.floats(-1, 1)] * 3).map(sorted))
def test_interval_bar_holds_interval_and_zero(interval):
    low, value, high = interval
    bar = interval_bar((value, low, high), min(low, -0.1), max(high, 0.1))
    rule, span, dot = ElementTree.fromstring(bar)
    places = [float(span.get("x1")), float(dot.get("cx")), float(span.get("x2"))]
    assert 4 <= places[0] <= places[1] <= places[2] <= 136
    zero = float(rule.get("x1"))
    assert (places[0] > zero) <= (low > 0)
    assert (places[2] < zero) <= (high < 0)


def test_a_figure_without_a_picture_is_as_high_as_what_it_shows() -> None:
    short = explained(queries=("wings",))
    shown = pixels(explanation_png(short))
    filled = np.flatnonzero((shown != 255).any(axis=(1, 2)))
    assert filled[-1] > 0.75 * len(shown)
    assert len(pixels(explanation_png(short, 10, Image.new("L", (9, 9))))) > len(shown)


def test_figure_names_are_safe_and_distinct():
    found = figure_names(["test/zebra/1.jpg", "test zebra 1.jpg", "../..", "ok-1"])
    assert found == ["test_zebra_1.jpg.png", "test_zebra_1.jpg-2.png", "image.png", "ok-1.png"]
