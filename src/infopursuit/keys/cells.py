"""Cells of an identification key as people write them; docs/keys.md has the table of their rules.

What is probably a slip is told: a state that is one letter from another, a date that was a range,
two units in one column.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import UNKNOWN

logger = logging.getLogger(__name__)

YES, NO = "yes", "no"
ANSWERS = {"yes": YES, "y": YES, "true": YES, "no": NO, "n": NO, "false": NO}
# What - means beside +, as in tables of tests.
SIGNS = {"+": YES, "(+)": YES, **dict.fromkeys(("-", "–", "—", "−", "(-)"), NO),
         **dict.fromkeys(("+/-", "-/+", "+|-", "±", "v"), f"{YES}|{NO}")}  # fmt: skip
# A sign of a positive test, which is no sign of a number.
PLUS = re.compile(r"\(?\+(?!\s*[\d.,]).*|±")
# What stands between two states of one cell, as people write it in place of |.
SEVERAL = re.compile(r"\s*[/,;&]\s*|\s+(?:or|and|to)\s+")
# A person chooses one of at most as many states.
MOST_STATES = 100
# A column of texts with more different ones, in most of its rows, names the classes.
NAMES, MOST_ROWS = 20, 0.5

NUMBER = r"[-+]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:[eE][-+]?\d+)?"
UNIT = r"(?:%|°\s?[A-Za-z]?|(?!to\b|bis\b)[^\W\d_]{1,12}[²³]?\.?)"
TO = r"(?:-|–|—|\.{2,3}|…|to\b|bis\b)"
ABOUT = re.compile(r"(?:c\.|ca\.?|circa|about|approx\.?|~|≈)\s*", re.IGNORECASE)
# (least-) low - high (-most), each part but low may be missing; and ranges with one end.
RANGE = re.compile(
    rf"(?:\(\s*(?P<least>{NUMBER})\s*{TO}?\s*\)\s*)?"
    rf"(?P<low>{NUMBER})\s*(?P<unit1>{UNIT})?(?:\s*{TO}\s*(?P<high>{NUMBER}))?"
    rf"\s*(?:\(\s*{TO}?\s*(?P<most>{NUMBER})\s*\))?\s*(?P<unit2>{UNIT})?"
)
BELOW = re.compile(rf"(?:<=?|≤|up to)\s*({NUMBER})\s*({UNIT})?", re.IGNORECASE)
ABOVE = re.compile(rf"(?:>=?|≥)\s*({NUMBER})\s*({UNIT})?")
OR_MORE = re.compile(rf"({NUMBER})\s*\+\s*({UNIT})?")
GIVE_OR_TAKE = re.compile(rf"({NUMBER})\s*(?:±|\+/-)\s*({NUMBER})\s*({UNIT})?")
# Units that are never the names of things counted: two of them in a column are a slip.
UNITS = {"nm", "µm", "μm", "mm", "cm", "dm", "m", "km", "in", "ft", "mg", "g", "kg", "ml", "l", "%"}
SHARE = re.compile(r"(.*\S)\s*:\s*(\d*[.,]?\d+)\s*(%?)")
# What a spreadsheet makes of 3-5, in the languages of its menus.
MONTHS = (
    "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mrz|mär|mai|okt|dez|janv|févr|mars|avr|juin|"
    "juil|août|sept|déc|ene|abr|ago|dic"
)
DATE = re.compile(
    rf"\d{{1,2}}[.\-/ ]+(?:{MONTHS})\.?|(?:{MONTHS})[.\-/ ]+\d{{1,2}}|"
    r"\d{4}-\d\d-\d\d(?:[ T]00:00(?::00)?)?|\d{1,2}([./])\d{1,2}\1(?:\d{4}|\d\d)",
    re.IGNORECASE,
)
THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:[.,]\d{3})+[.,]\d+")

# Says where a row is: "plants.csv, row 3: leaves".
Where = Callable[[int], str]


class Numbers(NamedTuple):
    """What a column says of c classes: the least, usual least, usual most, most; NaN if nothing."""

    ends: Float[np.ndarray, "c 4"]
    unit: str | None


class States(NamedTuple):
    """What a column of states says of c classes: (c, s) how often; NaN if it is not known."""

    names: tuple[str, ...]
    frequency: Float[np.ndarray, "c s"]


def tidy(text: str) -> str:
    """Return a text with single blanks, its letters composed."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def alike(state: str) -> str:
    """Return what spellings of one state have in common: not case, blanks, hyphens, a full stop."""
    return re.sub(r"(?<=\w)[\s_‐-]+(?=\w)", " ", state.casefold()).rstrip(" .;") or state


def known_cells(cells: Sequence[str]) -> list[str]:
    """Return tidy cells; "" where one says nothing. A - beside + is a no, or a state."""
    signs = any(map(PLUS.fullmatch, cells))
    if signs and all(cell in SIGNS or cell.casefold() in UNKNOWN for cell in cells):
        return [SIGNS.get(cell, "") for cell in cells]
    states = SIGNS if signs else ()
    return ["" if cell.casefold() in UNKNOWN and cell not in states else cell for cell in cells]


def _separate(cells: Sequence[str], where: Where) -> list[str]:
    """Return cells with | between states, where these are states of other cells; tell of it."""
    alone = {alike(cell) for cell in cells if not SEVERAL.search(cell)}
    separate = []
    for row, cell in enumerate(cells):
        parts = [alike(part) for part in SEVERAL.split(cell)]
        known = [part in alone for part in parts]
        several = len(parts) > 1 and any(known)
        separate.append("|".join(parts) if several and all(known) else cell)
        if several:
            says = "several states" if all(known) else "one state, as not all of it are states"
            logger.warning(
                "%s: %r is read as %s; a | says one or the other", where(row), cell, says
            )
    return separate


def read_numbers(cells: Sequence[str], where: Where, commas: bool) -> Numbers | None:
    """Return the numbers of a column of known cells; None if its cells are states.

    Args:
        cells: of c classes; "" if one says nothing.
        where: names the column and a row.
        commas: whether the file has commas between its cells: 1,500 may be a thousand then.

    Raises:
        InputError: a cell is a date, its ends are swapped, or units or decimal marks are mixed.
    """
    ends, units, odd = np.full((len(cells), 4), np.nan), dict[str, int](), list[int]()
    for row, cell in enumerate(cells):
        if DATE.fullmatch(cell):
            raise InputError(
                f"{where(row)}: {cell!r} is a date, as spreadsheets make of a range such as 3-5; "
                "expected '3 to 5', or the column in the format of text"
            )
        in_digits = re.fullmatch(r"[-+\d.,\s()–—]+", cell)
        grouped = commas and re.search(r"(?<![\d.])[1-9]\d{0,2},\d{3}(?!\d)", cell)
        if in_digits and (grouped or THOUSANDS.fullmatch(cell)):
            raise InputError(
                f"{where(row)}: {cell!r} may be of thousands or have decimals; expected 1500 or 1.5"
            )
        parsed = _ends(cell) if cell else None
        if parsed is None:
            odd += [row] if cell else []
            continue
        ends[row], unit = parsed
        if not (ends[row, :-1] <= ends[row, 1:]).all():
            raise InputError(f"{where(row)}: {cell!r}; expected low-high")
        if unit:
            units.setdefault(unit, row)
    if odd:
        if not np.isnan(ends).all():
            message = "%s: %r is not a number, so all cells of this column are states"
            logger.warning(message, where(odd[0]), cells[odd[0]])
        return None
    if len({unit.casefold() for unit in units}) > 1:
        (first, row), (second, other) = list(units.items())[:2]
        message = f"{where(other)}: {cells[other]!r}, but {cells[row]!r} in another row"
        if {first.casefold(), second.casefold()} <= UNITS:
            raise InputError(f"{message}; expected one unit")
        logger.warning("%s: not numbers of one unit, so all cells are states", message)
        return None
    return Numbers(ends, next(iter(units), None))


def _ends(cell: str) -> tuple[tuple[float, float, float, float], str | None] | None:
    """Return least, usual least, usual most and most of a cell, and its unit; None for a state."""
    about = ABOUT.match(cell)
    cell = cell[about.end() if about else 0 :].replace("−", "-")
    if match := BELOW.fullmatch(cell):
        end = _value(match[1])
        return (-np.inf, -np.inf, end, end), _unit(match[2])
    if match := ABOVE.fullmatch(cell) or OR_MORE.fullmatch(cell):
        end = _value(match[1])  # at least 10 is asked as more than 10: a person rounds either
        return (end, end, np.inf, np.inf), _unit(match[2])
    if match := GIVE_OR_TAKE.fullmatch(cell):
        low, high = (_value(match[1]) + sign * _value(match[2]) for sign in (-1, 1))
        return (low, low, high, high), _unit(match[3])
    match = RANGE.fullmatch(cell)
    units = {_unit(match["unit1"]), _unit(match["unit2"])} - {None} if match else set()
    if not match or len(units) > 1:
        return None
    low, high = match["low"], match["high"] or match["low"]
    least, most = match["least"] or low, match["most"] or high
    return (_value(least), _value(low), _value(high), _value(most)), next(iter(units), None)


def _unit(text: str | None) -> str | None:
    return (text or "").rstrip(".") or None


def _value(text: str) -> float:
    return float(text.replace(",", "."))


def with_unit(name: str, unit: str | None, where: str) -> str:
    """Return the name of a character of numbers with their unit; InputError if it has another."""
    if unit is None or unit.casefold() in [each.casefold() for each in re.findall(UNIT, name)]:
        return name
    inside = re.search(rf"[(\[]\s*({UNIT})\s*[)\]]", name)
    if inside and {inside[1].casefold(), unit.casefold()} <= UNITS:
        raise InputError(f"{where}: cells in {unit}, a header in {inside[1]}; expected one unit")
    return f"{name.removesuffix('?')} ({unit}){'?' if name.endswith('?') else ''}"


def read_states(cells: Sequence[str], where: Where) -> States | None:
    """Return the states of a column of known cells; None, and a warning, for a column of names.

    Raises:
        InputError: a share is none, shares of a class sum to more than 1, yes or no is misspelt, or
            there are too many states.
    """
    cells = _separate(cells, where)
    parsed = [_shares(cell, where(row)) if cell else {} for row, cell in enumerate(cells)]
    first = where(next((row for row, each in enumerate(parsed) if each), 0))
    spelt = Counter(state for each in parsed for state in each)
    shown = {alike(state): state for state, _ in reversed(spelt.most_common())}
    shown = {alike(state): shown[alike(state)] for state in spelt}  # in the order of the rows
    known = sum(map(bool, parsed))
    if len(shown) > max(NAMES, MOST_ROWS * known):
        message = "%s: %d different texts in %d rows are names, not states; the column is left out"
        logger.warning(message, first, len(shown), known)
        return None
    if len(shown) > MOST_STATES:
        raise InputError(f"{first}: {len(shown)} states; expected at most {MOST_STATES}")
    if shown and shown.keys() <= ANSWERS.keys():
        shown = {name: ANSWERS[name] for name in shown}
    else:
        _tell_slips(shown, Counter(map(alike, spelt.elements())), parsed, where)
    names = (YES, NO) if set(shown.values()) <= {YES, NO} else tuple(shown.values())
    frequency = np.full((len(cells), len(names)), np.nan)
    for row, each in enumerate(parsed):
        if each:
            frequency[row] = 0
            for state, share in each.items():
                frequency[row, names.index(shown[alike(state)])] += share
            if names == (YES, NO):  # what is left is the answer that is not named
                frequency[row] /= frequency[row].sum() if frequency[row].all() else 1
                yes, no = frequency[row]
                frequency[row] = (yes, 1 - yes) if yes else (1 - no, no)
    return States(names, frequency)


def _shares(cell: str, where: str) -> dict[str, float]:
    """Return how often each state of a cell occurs; states without a share have what is left."""
    parts = [part.strip() for part in cell.split("|") if part.strip()]
    matches = {part: match for part in parts if (match := SHARE.fullmatch(part))}
    shares = {part: _value(match[2]) / (100 if match[3] else 1) for part, match in matches.items()}
    numbered = {part for part, match in matches.items() if re.fullmatch(NUMBER, match[1])}
    if numbered and (len(parts) == 1 or len(numbered) < len(parts) or sum(shares.values()) > 1.001):
        for part in numbered:  # 2:1 is a ratio; 4:0.9|5:0.1 are the states 4 and 5
            del shares[part]
    if wrong := next((part for part, share in shares.items() if share > 1), None):
        expected = "expected a share after ':', from 0 to 1 or 0 to 100 %"
        raise InputError(f"{where}: {wrong!r}; {expected}")
    free, left = [part for part in parts if part not in shares], max(1 - sum(shares.values()), 0)
    rates = {matches[part][1]: share for part, share in shares.items()}
    rates |= {part: left / len(free) for part in free}
    if not 0 < sum(rates.values()) <= 1.001:  # shares are rounded
        raise InputError(
            f"{where}: the frequencies of {cell!r} sum to {sum(rates.values()):.3g}; expected more "
            "than 0 and at most 1"
        )
    return rates


def _tell_slips(
    shown: dict[str, str], counts: Counter[str], parsed: Sequence[dict[str, float]], where: Where
) -> None:
    """Warn of each state that is there once and one letter from another; refuse a yes that is."""
    for name in [each for each in shown if counts[each] == 1]:
        near = [other for other in shown if other != name and one_slip(name, other)]
        nearest = max(near, key=lambda each: counts[each], default="")
        row = next(row for row, each in enumerate(parsed) if shown[name] in each)
        if nearest in (YES, NO):
            raise InputError(f"{where(row)}: {shown[name]!r}; expected yes or no: {nearest!r}?")
        if nearest and len(name) > 3 and (counts[nearest] > 1 or nearest < name):
            message = "%s: %r is a state of its own; the nearest is %r"
            logger.warning(message, where(row), shown[name], shown[nearest])


def one_slip(one: str, other: str) -> bool:
    """Whether words differ by a letter more, less or other, or by order; digits are none."""
    letters, others = Counter(one), Counter(other)
    more, fewer = letters - others, others - letters
    digits = any(map(str.isdigit, more | fewer))
    return not digits and max(more.total(), fewer.total()) <= 1
