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


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (numbers.percent(1 / 37, 1), "2.7 %"),
        (numbers.percent(1 / 4000, 1), "< 0.1 %"),
        (numbers.share(0.8741), "87.4"),
        (numbers.share(None), "–"),
        (numbers.interval(0.859, 0.8861), "[85.9, 88.6]"),
        (numbers.interval(None, 0.5), ""),
        (numbers.points(0.014), "+1.40"),
        (numbers.points(-0.003), "−0.30"),
        (numbers.points(-0.00001), "±0.00"),
        (numbers.decimal(-1.0), "−1.0"),
        (numbers.decimal(7.25, 2), "7.25"),
    ],
)
def test_numbers_are_written_as_people_read_them(found, text):
    assert found == text
