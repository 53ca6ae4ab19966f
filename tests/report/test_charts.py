"""Charts as well-formed SVG with all points inside the frame."""

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from infopursuit.report.charts import (
    HEIGHT,
    WIDTH,
    Axis,
    Level,
    Series,
    axis,
    interval_bar,
    line_chart,
    swatch,
)

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12)


@given(values=VALUES)
def test_axis_holds_its_values_between_round_ends(values):
    found = axis("y", values)
    slack = 1e-6 * (found.high - found.low)
    assert found.low - slack <= min(values) <= max(values) <= found.high + slack
    assert 2 <= len(found.ticks) <= 12
    assert all(found.low - slack <= tick <= found.high + slack for tick in found.ticks)


def test_ticks_are_round():
    assert Axis("t", 0.0, 48.0).ticks == [0, 10, 20, 30, 40]
    assert axis("y", [3.0, 97.0], 0.0).ticks == [0, 20, 40, 60, 80, 100]


def test_chart_is_well_formed_and_names_its_lines():
    line = Series(
        "a & <b>",
        "hue-0 dash-1",
        [0.0, 1.0, 2.0],
        [0.0, 5.0, 9.0],
        [0.0, 4.0, 8.0],
        [1.0, 6.0, 9.5],
        "circle",
    )
    chart = line_chart(
        "Title <1>", "a: 9.", [line], Axis("x", 0.0, 2.0), Axis("y", 0.0, 10.0),
        [Level("MLP 9.4", "level-mlp", 9.4), Level("probe 9.3", "level-probe", 9.3)], [1.0],
    )  # fmt: skip
    root = ElementTree.fromstring(chart)
    assert root.get("aria-label") == "Title <1>. a: 9."
    assert [node.text for node in root.iter("title")] == ["a & <b>"]
    labels = [node for node in root.iter("text") if node.get("class") == "note"]
    heights = [float(node.get("y") or 0) for node in labels]
    assert heights[1] - heights[0] >= 12  # moved apart, although the levels almost coincide
    places = re.findall(r"translate\(([\d.]+) ([\d.]+)\)", chart)
    assert len(places) == 3
    assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in places)


def test_swatch_is_well_formed():
    (line,) = ElementTree.fromstring(swatch("hue-3 dash-2"))
    assert line.get("class") == "line hue-3 dash-2"


@given(found=st.tuples(*[st.floats(-1, 1)] * 3).map(sorted))
def test_interval_bar_holds_interval_and_zero(found):
    low, value, high = found
    bar = interval_bar((value, low, high), min(low, -0.1), max(high, 0.1))
    rule, span, dot = ElementTree.fromstring(bar)
    places = [float(span.get("x1")), float(dot.get("cx")), float(span.get("x2"))]
    assert 4 <= places[0] <= places[1] <= places[2] <= 136
    zero = float(rule.get("x1"))
    assert (places[0] > zero) <= (low > 0)
    assert (places[2] < zero) <= (high < 0)
