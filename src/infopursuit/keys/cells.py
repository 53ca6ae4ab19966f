"""Cells of an identification key as people write them: numbers, ranges, states, yes and no.

    30   30-100   1,5 - 2,5   -5--1   (1-)2-5(-7)   30-100 cm   <5   >10   5+   ca. 3   5±1
    yes   no
    alternate   alternate|basal   opposite:0.9|alternate:0,1   opposite:90%   2:1

Case, blanks, hyphens and a full stop at the end make no other state. What is probably a slip is
told: a state that is one letter from another, a date that was a range, two units in one column.
"""

from __future__ import annotations

import logging
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from infopursuit.core.errors import InputError

logger = logging.getLogger(__name__)

YES, NO = "yes", "no"
YES_WORDS, NO_WORDS = ("yes", "y", "true"), ("no", "n", "false")
# Not known, or not applicable: the question tells nothing about the class.
UNKNOWN = ("", "?", "-", "–", "—", "n/a", "na", "not applicable", "inapplicable", "unknown")
# A person chooses one of at most as many states.
MOST_STATES = 100
# A column of texts with more different ones, in most of its rows, names the classes.
NAMES, MOST_ROWS = 20, 0.5

NUMBER = r"[-+]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:[eE][-+]?\d+)?"
UNIT = r"(?:%|°\s?[A-Za-z]?|(?!to\b|bis\b)[^\W\d_]{1,12}[²³]?\.?)"
TO = r"(?:-|–|—|\.{2,3}|…|to\b|bis\b)"
RANGE = re.compile(
    rf"(?:\(\s*(?P<least>{NUMBER})\s*{TO}?\s*\)\s*)?"
    rf"(?P<low>{NUMBER})\s*(?P<unit1>{UNIT})?(?:\s*{TO}\s*(?P<high>{NUMBER}))?"
    rf"\s*(?:\(\s*{TO}?\s*(?P<most>{NUMBER})\s*\))?\s*(?P<unit2>{UNIT})?"
)
ABOUT = re.compile(r"(?:c\.|ca\.?|circa|about|approx\.?|~|≈)\s*", re.IGNORECASE)
BELOW = re.compile(rf"(?:<=?|≤|up to)\s*(?P<end>{NUMBER})\s*(?P<unit>{UNIT})?", re.IGNORECASE)
ABOVE = re.compile(rf"(?:>=?|≥)\s*(?P<end>{NUMBER})\s*(?P<unit>{UNIT})?")
OR_MORE = re.compile(rf"(?P<end>{NUMBER})\s*\+\s*(?P<unit>{UNIT})?")
GIVE_OR_TAKE = re.compile(
    rf"(?P<middle>{NUMBER})\s*(?:±|\+/-)\s*(?P<off>{NUMBER})\s*(?P<unit>{UNIT})?"
)
# Units that are never the names of things counted: two of them in a column are a slip.
UNITS = {"nm", "µm", "μm", "mm", "cm", "dm", "m", "km", "in", "ft", "mg", "g", "kg", "ml", "l", "%"}
SHARE = re.compile(r"(?P<state>.*\S)\s*:\s*(?P<share>\d*[.,]?\d+)\s*(?P<percent>%?)")
# What a spreadsheet makes of 3-5, in the languages of its menus.
MONTHS = (
    "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mrz|mär|mai|okt|dez|janv|févr|mars|avr|juin|"
    "juil|août|sept|déc|ene|abr|ago|dic"
)
DATES = (
    rf"\d{{1,2}}[.\-/ ]+(?:{MONTHS})\.?",
    rf"(?:{MONTHS})[.\-/ ]+\d{{1,2}}",
    r"\d{4}-\d\d-\d\d(?:[ T]00:00(?::00)?)?",
    r"\d{1,2}([./])\d{1,2}\1(?:\d{4}|\d\d)",
)
DATE = re.compile("|".join(DATES), re.IGNORECASE)

# Says where a row is: "plants.csv, row 3: leaves".
Where = Callable[[int], str]


class Numbers(NamedTuple):
    """What a column of numbers says of c classes; NaN if a class has none.

    Attributes:
        ranges: (c, 2) the least and the largest number; infinite if a cell has one end.
        usual: (c, 2) the same without what is rare, such as the 7 of 2-5(-7).
        unit: None if no cell has one.
    """

    ranges: Float[np.ndarray, "c 2"]
    usual: Float[np.ndarray, "c 2"]
    unit: str | None


class States(NamedTuple):
    """What a column of states says of c classes: (c, s) how often; NaN if it is not known."""

    names: tuple[str, ...]
    frequency: Float[np.ndarray, "c s"]


def tidy(text: str) -> str:
    """Return a text with single blanks, its letters composed."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def is_known(cell: str) -> bool:
    """Whether a tidy cell says something."""
    return cell.casefold() not in UNKNOWN


def alike(state: str) -> str:
    """Return what two spellings of one state have in common; yes and no for their short forms."""
    bare = re.sub(r"(?<=\w)[\s_‐-]+(?=\w)", " ", state.casefold()).rstrip(" .;")
    return bare or state


def as_answer(state: str) -> str | None:
    """Return yes or no for a word that says so."""
    word = alike(state)
    return YES if word in YES_WORDS else NO if word in NO_WORDS else None


# -- numbers --------------------------------------------------------------------------------------


def read_numbers(cells: Sequence[str], where: Where, commas: bool) -> Numbers | None:
    """Return the numbers of a column of tidy cells; None if its cells are states.

    Args:
        cells: of c classes.
        where: names the column and a row.
        commas: whether the file has commas between its cells: 1,500 may be a thousand then.

    Raises:
        InputError: a cell is a date, its ends are swapped, or units or decimal marks are mixed.
    """
    known = [row for row, cell in enumerate(cells) if is_known(cell)]
    for row in known:
        if DATE.fullmatch(cells[row]):
            raise InputError(
                f"{where(row)}: {cells[row]!r} is a date, as spreadsheets make of a range such as "
                "3-5; expected '3 to 5', or the column in the format of text"
            )
        if re.fullmatch(r"[-+\d.,\s()–—]+", cells[row]):
            _check_decimals(cells[row], where(row), commas)
    found = {row: _ends(cells[row]) for row in known}
    odd = next((row for row in known if found[row] is None), None)
    if odd is not None:
        if any(found.values()):
            logger.warning(
                "%s: %r is not a number, so all cells of this column are states",
                where(odd),
                cells[odd],
            )
        return None
    units: dict[str, int] = {}
    ends = np.full((len(cells), 4), np.nan)
    for row, each in found.items():
        assert each is not None
        texts, unit = each
        ends[row] = [_value(text) for text in texts]
        if not (ends[row, :-1] <= ends[row, 1:]).all():
            raise InputError(f"{where(row)}: {cells[row]!r}; expected low-high")
        if unit:
            units.setdefault(unit, row)
    if len({unit.casefold() for unit in units}) > 1:
        (first, row), (second, other) = list(units.items())[:2]
        message = f"{where(other)}: {cells[other]!r}, but {cells[row]!r} in another row"
        if {first.casefold(), second.casefold()} <= UNITS:
            raise InputError(f"{message}; expected one unit")
        logger.warning("%s: not numbers of one unit, so all cells are states", message)
        return None
    return Numbers(ends[:, [0, 3]], ends[:, [1, 2]], next(iter(units), None))


def _ends(cell: str) -> tuple[tuple[str, str, str, str], str | None] | None:
    """Return the texts of least, low, high and most of a cell, and its unit; None for a state."""
    cell = ABOUT.sub("", cell.replace("−", "-"), count=1) if ABOUT.match(cell) else cell
    cell = cell.replace("−", "-")
    if match := BELOW.fullmatch(cell):
        return ("-inf", "-inf", match["end"], match["end"]), _unit(match["unit"])
    if match := ABOVE.fullmatch(cell) or OR_MORE.fullmatch(cell):
        # At least 10 is asked as more than 10: a person rounds either.
        return (match["end"], match["end"], "inf", "inf"), _unit(match["unit"])
    if match := GIVE_OR_TAKE.fullmatch(cell):
        middle, off = _value(match["middle"]), _value(match["off"])
        low, high = repr(middle - off), repr(middle + off)
        return (low, low, high, high), _unit(match["unit"])
    match = RANGE.fullmatch(cell)
    if not match:
        return None
    units = {unit for unit in (_unit(match["unit1"]), _unit(match["unit2"])) if unit}
    if len(units) > 1:
        return None
    low = match["low"]
    high = match["high"] or low
    return (match["least"] or low, low, high, match["most"] or high), next(iter(units), None)


def _unit(text: str | None) -> str | None:
    return None if text is None else text.rstrip(".") or None


def _value(text: str) -> float:
    return float(text.replace(",", "."))


def _check_decimals(cell: str, where: str, commas: bool) -> None:
    """Raise InputError for a number that may be of thousands."""
    both = re.fullmatch(r"[-+]?\d{1,3}(?:[.,]\d{3})+[.,]\d+", cell)
    if both or (commas and re.search(r"(?<![\d.])[1-9]\d{0,2},\d{3}(?!\d)", cell)):
        raise InputError(
            f"{where}: {cell!r} may be of thousands or have decimals; expected 1500 or 1.5"
        )


def with_unit(name: str, unit: str | None, where: str) -> str:
    """Return the name of a character of numbers, with their unit if it is not there.

    Raises:
        InputError: the name has another unit.
    """
    if unit is None:
        return name
    said = [each.casefold() for each in re.findall(UNIT, name)]
    if unit.casefold() in said:
        return name
    inside = re.search(rf"[(\[]\s*({UNIT})\s*[)\]]", name)
    if inside and {inside[1].casefold(), unit.casefold()} <= UNITS:
        raise InputError(f"{where}: cells in {unit}, a header in {inside[1]}; expected one unit")
    mark = "?" if name.endswith("?") else ""
    return f"{name.removesuffix('?')} ({unit}){mark}"


def number_text(low: float, high: float, usual: Sequence[float]) -> str:
    """Return a cell that `read_numbers` reads."""

    def text(number: float) -> str:
        return np.format_float_positional(number, trim="-")

    if math.isnan(low):
        return ""
    if math.isinf(low):
        return f"<{text(high)}"
    if math.isinf(high):
        return f">{text(low)}"
    least, most = usual
    middle = text(least) if least == most else f"{text(least)}-{text(most)}"
    before = "" if low == least else f"({text(low)}-)"
    return f"{before}{middle}" if high == most else f"{before}{middle}(-{text(high)})"


# -- states ---------------------------------------------------------------------------------------


def read_states(cells: Sequence[str], where: Where) -> States | None:
    """Return the states of a column of tidy cells; None, and a warning, for a column of names.

    Raises:
        InputError: a share is none, shares of a class sum to more than 1, yes or no is misspelt, or
            there are too many states.
    """
    parsed = [_shares(cell, where, row) if is_known(cell) else {} for row, cell in enumerate(cells)]
    spelt = [(alike(state), state) for each in parsed for state in each]
    known = sum(map(bool, parsed))
    if len(dict(spelt)) > max(NAMES, MOST_ROWS * known):
        logger.warning(
            "%s: %d different texts in %d rows are names, not states; the column is left out",
            where(next(row for row, each in enumerate(parsed) if each)),
            len(dict(spelt)),
            known,
        )
        return None
    counts = Counter(name for name, _ in spelt)
    if counts and all(as_answer(name) for name in counts):
        yes = np.array([_yes(each) if each else np.nan for each in parsed])
        return States((YES, NO), np.stack([yes, 1 - yes], axis=1))
    shown = {
        name: Counter(state for each, state in spelt if each == name).most_common(1)[0][0]
        for name in counts
    }
    if len(counts) > MOST_STATES:
        first = where(next(row for row, each in enumerate(parsed) if each))
        raise InputError(f"{first}: {len(counts)} states; expected at most {MOST_STATES}")
    _tell_slips(counts, shown, parsed, where)
    places = {name: place for place, name in enumerate(shown)}
    frequency = np.full((len(cells), len(shown)), np.nan)
    for row, each in enumerate(parsed):
        if each:
            frequency[row] = 0
            for state, share in each.items():
                frequency[row, places[alike(state)]] += share
    return States(tuple(shown.values()), frequency)


def is_read_as(cells: Sequence[str], states: Sequence[set[str]]) -> bool:
    """Whether the tidy cells of a column are read as these states of each class."""
    known = [cell for cell in cells if is_known(cell)]
    ends = [_ends(cell) for cell in known]
    numbers = None not in ends and len({each[1] for each in ends if each and each[1]}) < 2
    if numbers or any(map(DATE.fullmatch, known)):
        return False
    try:
        found = [set(_shares(cell, str, 0)) if is_known(cell) else set() for cell in cells]
    except InputError:
        return False
    names = set[str]().union(*states)
    distinct = len({alike(name) for name in names})
    return found == list(states) and len(names) == distinct <= max(NAMES, MOST_ROWS * len(known))


def _shares(cell: str, where: Where, row: int) -> dict[str, float]:
    """Return how often each state of a cell occurs; states without a share have what is left."""
    parts = [part.strip() for part in cell.split("|") if part.strip()]
    matches = [SHARE.fullmatch(part) for part in parts]
    shares = [
        _value(match["share"]) / (100 if match["percent"] else 1) if match else None
        for match in matches
    ]
    numbered = [bool(match and re.fullmatch(NUMBER, match["state"])) for match in matches]
    # 2:1 is a ratio; 4:0.9|5:0.1 are the states 4 and 5.
    some = sum(share or 0 for share in shares) <= 1 + 1e-3
    ratio = any(numbered) and (len(parts) == 1 or not all(numbered) or not some)
    given: dict[str, float | None] = {}
    for part, match, share in zip(parts, matches, shares, strict=True):
        if match is None or share is None or (ratio and re.fullmatch(NUMBER, match["state"])):
            given[part] = None
        elif share > 1:
            raise InputError(
                f"{where(row)}: {part!r}; expected a share after ':', from 0 to 1 or 0 to 100 %"
            )
        else:
            given[match["state"]] = (given.get(match["state"]) or 0) + share
    total = sum(share for share in given.values() if share is not None)
    free = sum(share is None for share in given.values())
    left = max(1 - total, 0)
    found = {state: left / free if share is None else share for state, share in given.items()}
    total = sum(found.values())
    if not 0 < total <= 1 + 1e-3:  # shares are rounded
        raise InputError(
            f"{where(row)}: the frequencies of {cell!r} sum to {total:.3g}; expected more than 0 "
            "and at most 1"
        )
    return found


def _yes(shares: dict[str, float]) -> float:
    """Return how often the answer is yes; what is left of 1 is the answer that is not named."""
    of = {YES: 0.0, NO: 0.0}
    for state, share in shares.items():
        of[as_answer(state) or NO] += share
    if of[YES] and of[NO]:
        return of[YES] / (of[YES] + of[NO])
    return of[YES] if of[YES] else 1 - min(of[NO], 1)


def _tell_slips(
    counts: Counter[str],
    shown: dict[str, str],
    parsed: Sequence[dict[str, float]],
    where: Where,
) -> None:
    """Warn of each state that is there once and one letter from another; refuse a yes that is."""
    for name, count in counts.items():
        if count > 1:
            continue
        near = [other for other in counts if other != name and one_slip(name, other)]
        if not near:
            continue
        nearest = max(near, key=lambda each: counts[each])
        row = next(row for row, each in enumerate(parsed) if shown[name] in each)
        if nearest in YES_WORDS[:1] + NO_WORDS[:1]:
            raise InputError(f"{where(row)}: {shown[name]!r}; expected yes or no: {nearest!r}?")
        if len(name) > 3 and (counts[nearest] > 1 or nearest < name):
            logger.warning(
                "%s: %r is a state of its own; the nearest is %r",
                where(row),
                shown[name],
                shown[nearest],
            )


def one_slip(one: str, other: str) -> bool:
    """Whether two words differ by one letter more, less, other, or swapped; digits are none."""
    shorter, longer = sorted((one, other), key=len)
    if len(longer) - len(shorter) > 1:
        return False
    start = 0
    while start < len(shorter) and shorter[start] == longer[start]:
        start += 1
    end = 0
    while end < len(shorter) - start and shorter[-1 - end] == longer[-1 - end]:
        end += 1
    left, right = (word[start : len(word) - end] for word in (shorter, longer))
    if any(map(str.isdigit, left + right)):
        return False
    return len(right) <= 1 or (len(right) == 2 and left == right[::-1])
