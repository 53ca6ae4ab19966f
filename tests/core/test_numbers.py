"""Numbers as people read them."""

import pytest

from infopursuit.core import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0 %"), (0.001, "< 1 %"), (0.009, "< 1 %"), (0.01, "1 %"), (0.129, "12 %"),
     (0.29, "29 %"), (0.849999, "84 %"), (0.85, "85 %"), (0.99, "99 %"), (0.994, "> 99 %"),
     (0.999999, "> 99 %"), (1.0, "100 %")],
)  # fmt: skip
def test_percent(value, text):
    assert numbers.percent(value) == text


def test_shares_and_intervals():
    assert numbers.share(0.8741) == "87.4"
    assert numbers.share(None) == "–"
    assert numbers.interval(0.859, 0.8861) == "[85.9, 88.6]"
    assert numbers.interval(None, 0.5) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.014, "+1.40"), (-0.003, "−0.30"), (0.00001, "±0.00"), (-0.00001, "±0.00")],
)
def test_points_always_have_a_sign(value, text):
    assert numbers.points(value) == text


def test_decimal():
    assert numbers.decimal(7.25, 2) == "7.25"
    assert numbers.decimal(-1.0) == "−1.0"
    assert numbers.decimal(None) == "–"
