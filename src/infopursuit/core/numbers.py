"""Numbers as people read them: shares in percent, differences in points, intervals, tables.

And as people write them in a column (`number_cells`): `1,200`, `45%`, `$3.50`, and a few cells of
no number. One rule for CSV files and data frames says which mark is the decimal one, and whether
the column is one of numbers at all.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

MINUS = "\N{MINUS SIGN}"
NOTHING = "\N{EN DASH}"
# Cells that say that a value is not known, or none can be: beside numbers, and in keys.
UNKNOWN = (
    *("", "?", "-", "–", "—", ".", "..", "n/a", "n.a.", "na", "nd", "n.d."),
    *("not applicable", "inapplicable", "unknown"),
)
# How a table and a person write one.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

# The share of cells that may be no numbers; of a column of few different numbers, which may as
# well be categories: 1, 2, 3+.
ODD, ODD_OF_FEW, FEW = 0.2, 0.05, 10
# From this share of numbers on, a column that is none after all is told.
MOSTLY = 0.5
_MONEY = r"[$€£¥₹₩]|US\$|EUR|USD|GBP|CHF|JPY|CNY|INR|Fr\.|kr\.?|zł"
# How cells may write numbers: the decimal mark, and what groups thousands.
_POINT, _COMMA = (r"\.", r"[, '’\u00a0\u202f]"), (r",", r"[. '’\u00a0\u202f]")


def _form(decimal: str, group: str) -> re.Pattern[str]:
    digits = rf"\d{{1,3}}(?:{group}\d{{3}})+(?:{decimal}\d+)?|\d+{decimal}?\d*|{decimal}\d+"
    return re.compile(
        rf"(?P<sign>[+-]?)\s*(?:{_MONEY})?\s*(?P<inner>[+-]?)(?P<digits>{digits})"
        rf"(?P<power>[eE][+-]?\d+)?\s*(?:(?P<percent>%)|{_MONEY})?"
    )


_FORMS = {mark: _form(*each) for mark, each in ((".", _POINT), (",", _COMMA))}
# Three digits behind one comma: thousands, or decimals.
_EITHER = re.compile(r"\D*\d{1,3},\d{3}\D*")


def percent(probability: float, decimals: int = 0, down: bool = False) -> str:
    """A probability in percent, rounded: `87 %`; but nothing else than 0 and 1 is `0 %` or `100 %`.

    What would be is `< 1 %` or `> 99 %`. With `down` it is rounded down: it missed a limit.
    """
    scale = 10**decimals
    units = math.floor(100 * scale * probability + (1e-6 if down else 0.5))
    return _in_percent(units, probability, decimals)


def percents(shares: Sequence[float]) -> list[str]:
    """All shares of a whole in percent, so that the numbers sum to 100.

    The largest share is as `percent` says; of the others those with the largest remainders are
    rounded up, as many as it takes.
    """
    units = [math.floor(100 * each + 1e-6) for each in shares]  # 100 * 0.29 is below 29
    first = max(range(len(shares)), key=shares.__getitem__)
    units[first] = math.floor(100 * shares[first] + 0.5)
    others = sorted(
        (place for place in range(len(shares)) if place != first),
        key=lambda place: units[place] - 100 * shares[place],
    )
    for place in others[: max(0, 100 - sum(units))]:
        units[place] += 1
    return [_in_percent(unit, each, 0) for unit, each in zip(units, shares, strict=True)]


def _in_percent(units: int, probability: float, decimals: int) -> str:
    """Units of the last decimal as a text; none and all of them are for 0 and 1 alone."""
    scale = 10**decimals
    if units <= 0 < probability:
        return f"< {1 / scale:.{decimals}f} %"
    if units >= 100 * scale and probability < 1:
        return f"> {100 - 1 / scale:.{decimals}f} %"
    return f"{units / scale:.{decimals}f} %"


def share(value: float | None) -> str:
    """A share in percent with one decimal and no sign: 0.8741 -> `87.4`; a dash for None."""
    return NOTHING if value is None else f"{100 * value:.1f}"


def interval(low: float | None, high: float | None) -> str:
    """Two shares as an interval in percent: `[85.9, 88.6]`; empty where a bound is None."""
    if low is None or high is None:
        return ""
    return f"[{_signless(low)}, {_signless(high)}]"


def points(value: float) -> str:
    """A difference of shares in percentage points, always with its sign: `+1.42`, `−0.30`."""
    rounded = round(100 * value, 2)
    sign = "+" if rounded > 0 else MINUS if rounded < 0 else "±"
    return f"{sign}{abs(rounded):.2f}"


def decimal(value: float | None, digits: int = 1) -> str:
    """A plain number with a fixed count of decimals; a dash for None."""
    return NOTHING if value is None else f"{value:.{digits}f}".replace("-", MINUS)


def whole(mean: float | None) -> str:
    """A mean of counts, without decimals where it is whole; a dash for None."""
    return f"{mean:g}" if mean is not None and mean == int(mean) else decimal(mean)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things: `1 question`, `1,024 questions`, `2 classes`."""
    plural = plural or (f"{noun}es" if noun.endswith("s") else f"{noun}s")
    return f"{count:,} {noun if count == 1 else plural}"


class Proportion(NamedTuple):
    """How many of some answers are right, with the 95 % interval of the share (Wilson)."""

    right: int
    given: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval; None if there are no answers."""
        if not self.given:
            return None
        from scipy.stats import binomtest

        low, high = binomtest(self.right, self.given).proportion_ci(0.95, "wilson")
        return float(low), float(high)

    def __str__(self) -> str:
        """Return the share with its interval, in percent."""
        if (interval := self.interval) is None:
            return "none given"
        low, high = (percent(each) for each in interval)
        return f"{percent(self.right / self.given)} of {self.given} ({low} to {high})"


def together(parts: Iterable[Proportion]) -> Proportion:
    """Return the proportion in all parts together."""
    rights, givens = zip(*parts, strict=True)
    return Proportion(sum(rights), sum(givens))


def distinct_numbers(numbers: Sequence[float]) -> list[str]:
    """Return numbers in words, with four digits, or as many as tell them apart."""
    for digits in range(4, 18):
        texts = [f"{number:.{digits}g}" for number in numbers]
        if len(set(texts)) == len(texts):
            return texts
    return [repr(number) for number in numbers]


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _signless(value: float) -> str:
    return f"{100 * value:.1f}".replace("-", MINUS)


# -- columns of numbers as people write them ------------------------------------------------------


class NumberCells(NamedTuple):
    """What a column of texts is.

    Attributes:
        numbers: of each text, NaN for one that is no number; None if the column is none of numbers.
        remark: what a person should know of it; "" for nothing.
    """

    numbers: dict[str, float] | None
    remark: str


def number_cells(cells: Iterable[str], decimal: str = ".") -> NumberCells:
    """Return the numbers of a column, and what there is to say of them.

    Args:
        cells: texts without blanks around them and without gaps.
        decimal: the mark of the file, where a cell may be read either way.
    """
    counts = Counter(cells)
    readings = [_read(counts, mark) for mark in (decimal, *(set(_FORMS) - {decimal}))]
    numbers = max(readings, key=lambda each: sum(counts[text] for text in each))
    odd = [text for text in counts if text not in numbers and text.casefold() not in UNKNOWN]
    total = sum(counts[text] for text in (*numbers, *odd))
    cells_odd = sum(counts[text] for text in odd)
    most = ODD_OF_FEW if len(set(numbers.values())) <= FEW else ODD
    if not numbers or cells_odd > most * total:
        if not numbers or cells_odd >= MOSTLY * total:
            return NumberCells(None, "")
        remark = f"{_of(cells_odd, total)} no numbers, such as {odd[0]!r}"
        return NumberCells(None, f"{remark}: all are categories, without an order")
    remarks = []
    if odd:
        remarks.append(f"{_of(cells_odd, total)} no numbers, such as {odd[0]!r}, and are gaps")
    unknown = [text for text in counts if text not in numbers and text not in odd]
    if unknown:
        remarks.append(f"{unknown[0]!r} is a gap ({counted(counts[unknown[0]], 'cell')})")
    unlike = [text for text in numbers if not NUMBER.fullmatch(text)]
    if unlike and (decimal == "." or any(map(_is_no_plain_comma, unlike))):
        shown = next((text for text in unlike if _EITHER.fullmatch(text)), unlike[0])
        remarks.append(f"{shown!r} is read as {numbers[shown]:.12g}")
    gaps = dict.fromkeys([*odd, *unknown], math.nan)
    return NumberCells(numbers | gaps, "; ".join(remarks))


def _is_no_plain_comma(text: str) -> bool:
    return not NUMBER.fullmatch(text.replace(",", ".")) or bool(_EITHER.fullmatch(text))


def _of(count: int, total: int) -> str:
    return f"{count} of {counted(total, 'cell')} {'is' if count == 1 else 'are'}"


def _read(texts: Iterable[str], decimal: str) -> dict[str, float]:
    """Return the numbers of the texts that are some, with this decimal mark."""
    numbers, percents = dict[str, float](), set[str]()
    for text in texts:
        match = _FORMS[decimal].fullmatch(text.replace("−", "-"))
        if match is None or (match["sign"] and match["inner"]):
            continue
        digits = re.sub(rf"[^\d{decimal}]", "", match["digits"]).replace(decimal, ".")
        number = float(f"{match['sign']}{match['inner']}{digits}{match['power'] or ''}")
        if math.isfinite(number):
            numbers[text] = number
            percents |= {text} if match["percent"] else set()
    plain = [abs(number) for text, number in numbers.items() if text not in percents]
    if percents and plain and max(plain) <= 1:  # 45% beside 0.45
        numbers |= {text: numbers[text] / 100 for text in percents}
    return numbers
