"""Numbers as people read them."""

import pytest

from infopursuit.core import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0 %"), (0.001, "< 1 %"), (0.0049, "< 1 %"), (0.006, "1 %"), (0.129, "13 %"),
     (0.29, "29 %"), (0.839, "84 %"), (0.125, "13 %"), (0.99, "99 %"), (0.994, "99 %"),
     (0.999999, "> 99 %"), (1.0, "100 %")],
)  # fmt: skip
def test_percent(value, text):
    assert numbers.percent(value) == text


@pytest.mark.parametrize(
    ("shares", "texts"),
    [
        ((0.19, 0.204, 0.204, 0.204, 0.198), ["19", "20", "21", "20", "20"]),
        ((0.7493, 0.1254, 0.1253), ["75", "13", "12"]),
        ((0.505, 0.2475, 0.2475), ["51", "25", "24"]),
        ((0.997, 0.002, 0.001), ["> 99", "< 1", "< 1"]),
        ((0.5, 0.5, 0.0), ["50", "50", "0"]),
        ((1.0,), ["100"]),
    ],
)
def test_shares_of_a_whole_sum_to_100(shares: tuple, texts: list) -> None:
    """The largest is as it is said alone."""
    found = numbers.percents(shares)
    assert found == [f"{each} %" for each in texts]
    assert numbers.percent(max(shares)) in found


def test_many_equal_shares_have_a_decimal() -> None:
    assert [numbers.percent(each, 1) for each in (1 / 37, 1 / 4000, 0.9999)] == [
        "2.7 %",
        "< 0.1 %",
        "> 99.9 %",
    ]


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
