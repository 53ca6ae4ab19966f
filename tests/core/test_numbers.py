"""Numbers as people read them."""

import math

import pytest

from infopursuit.core import numbers

PLAIN = [str(each) for each in range(40)]
MONEY = ["1.490,02 €", "900,50 €", "12 €"]


@pytest.mark.parametrize(
    ("cells", "decimal", "values", "told"),
    [
        (["2,500", "13,000", "950"], ".", [2500, 13000, 950], "'2,500' is read as 2500"),
        (["2,500", "1,5"], ".", [2.5, 1.5], "'2,500' is read as 2.5"),
        (["2,500", "13,000"], ",", [2.5, 13], "'2,500' is read as 2.5"),
        (["1,5", "2"], ",", [1.5, 2], ""),
        (["1 234 567", "1'200.5", "-3"], ".", [1234567, 1200.5, -3], "1 234 567"),
        (MONEY, ".", [1490.02, 900.5, 12], "1490.02"),
        (["-£7", "USD 3", "4 CHF"], ".", [-7, 3, 4], "is read as -7"),
        (["12%", "7 %", "90"], ".", [12, 7, 90], "'12%'"),
        (["12%", "0.5", "1"], ".", [0.12, 0.5, 1], "'12%'"),
        ([*PLAIN, "?", "–"], ".", [*range(40), None, None], "'?' is a gap (1 cell)"),
        ([*PLAIN, "<5", ">90"], ".", [*range(40), None, None], "2 of 42 cells are no numbers"),
        (["1", "2", "3+"], ".", None, "such as '3+': all are categories"),
        (["a7", "12", "b9"], ".", None, ""),
        (["2.5e400", "x"], ".", None, ""),
    ],
)
def test_a_column_of_numbers_as_people_write_them(
    cells: list, decimal: str, values: list | None, told: str
) -> None:
    of_text, remark = numbers.number_cells(cells, decimal)
    assert remark == told if told == "" else told in remark
    if values is None:
        assert of_text is None
    else:
        assert of_text is not None
        found = [of_text[cell] for cell in cells]
        assert [None if math.isnan(each) else each for each in found] == pytest.approx(values)


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
