"""The columns of a table as people have them: numbers, yes or no, categories, and gaps.

A table becomes numbers: a column of numbers stays one, a column of yes and no becomes 1 and 0, and
a column of categories holds their numbers. A gap (None, NaN, NA, an empty text) is NaN.

A column that was written to a CSV file and read again is the same column, whatever its type is
then: the column in `fit` decides what a cell is.
"""

from __future__ import annotations

import datetime
import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import NUMBER, number_cells

# A column of texts with more different ones holds names or sentences, not categories.
MOST_CATEGORIES = 254
# Categories that say yes or no; and numbers that do, in a column that said yes or no in fit.
YES_OR_NO = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
ONE_OR_ZERO = {"1.0": 1.0, "0.0": 0.0}
# How files write booleans.
TRUTHS = {"true": 1.0, "false": 0.0}
# Where a table of pyarrow says what its file has as the decimal mark.
MARK = b"decimal"
# What a column may not hold, in objects.
DATES = (datetime.date, datetime.time, datetime.timedelta)


@dataclass(frozen=True)
class TableColumns:
    """What is in each of d columns.

    Attributes:
        names: (d,).
        categories: (d,) of each column its categories in order; none of them for yes or no, None
            for numbers.
    """

    names: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]

    @classmethod
    def of(cls, X: Any, names: Sequence[str] | None = None) -> TableColumns | None:
        """Return what is in the columns of a table; None if all are numbers, or it is not a table.

        Raises:
            InputError: two columns have one name, or one holds dates or too many different texts.
        """
        _check_names(X)
        columns = _columns(X)
        if columns is None:
            return None
        for name, values in columns:
            _check_values(values, name)
        kinds = [_categories(values, name, _decimal(X)) for name, values in columns]
        if all(kind is None and not _has_texts(values)
               for kind, (_, values) in zip(kinds, columns, strict=True)):  # fmt: skip
            return None
        shown = [name for name, _ in columns] if names is None else names
        return cls(tuple(map(str, shown)), tuple(kinds))

    @classmethod
    def numbers_only(cls, names: Sequence[str]) -> TableColumns:
        """Return columns of numbers."""
        return cls(tuple(names), (None,) * len(names))

    def numbers(self, X: Any) -> Float[np.ndarray, "n d"]:
        """Return a table of these columns as numbers, NaN for gaps.

        A category that is not among those of its column is a gap; a warning counts these.

        Raises:
            InputError: it has another number of columns, or a value that does not fit.
        """
        columns = _columns(X)
        if columns is None:
            rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
            columns = [("", values) for values in rows.T]
        if len(columns) != len(self.names):
            raise InputError(f"X has {len(columns)} columns; expected {len(self.names)}")
        parts = []
        for (_, values), name, known in zip(columns, self.names, self.categories, strict=True):
            if known is None:
                parts.append(_numbers(values, name, _decimal(X)))
                continue
            code = _coding(known)
            texts = [_text(value) for value in values]
            codes = np.array([np.nan if text is None else code(text) for text in texts], float)
            other = [text for text, each in zip(texts, codes, strict=True) if text and each != each]
            if other:
                warnings.warn(
                    f"column {name!r}: {len(other)} values such as {other[0]!r} were not there in "
                    "fit; they count as gaps",
                    stacklevel=4,
                )
            parts.append(codes)
        return np.stack(parts, axis=1) if parts else np.zeros((0, 0))


@dataclass(frozen=True)
class Wanted:
    """What a model of a table takes.

    Attributes:
        columns: their names, in the order of `fit`; None if these had no names.
        width: how many there are.
        label: the column that holds the class, if that is known.
        named_by: the column that names the rows, if that is known.
    """

    columns: Sequence[str] | None
    width: int
    label: str | None = None
    named_by: str | None = None


def column_names(X: Any) -> list[str]:
    """Return the names of the columns of a data frame, or of a table of pyarrow; none of others."""
    return list(map(str, getattr(X, "column_names", getattr(X, "columns", ()))))


def with_text_names(X: Any) -> Any:
    """Return a data frame whose columns are called by texts: 2023 is a name, not a place."""
    names = list(getattr(X, "columns", ()))
    if all(isinstance(name, str) for name in names) or not hasattr(X, "set_axis"):
        return X
    return X.set_axis(list(map(str, names)), axis=1)


def row_names(X: Any, count: int, noun: str) -> list[str]:
    """Return what the rows of a table are called: its index if it has one, else `row 0`, ..."""
    index: Any = getattr(X, "index", None)
    rows = index.tolist() if hasattr(index, "tolist") else range(count)
    named = getattr(index, "name", None) or noun
    return [_row_name(each, named) for each in rows]


def _row_name(value: Any, named: Any) -> str:
    if isinstance(value, tuple):  # of an index of several levels
        return ", ".join(map(str, value))
    return value if isinstance(value, str) and value else f"{named} {value}"


def _coding(known: tuple[str, ...]) -> Callable[[str], float]:
    """Return what numbers a category, or a yes and no if there is none; NaN for any other.

    A category is found as it is written, or, if that tells it from all others, by its number or
    without its capital letters: on its way through a CSV file `1` may become `1.0`.
    """
    alike: Mapping[str, float] = YES_OR_NO | ONE_OR_ZERO
    if known:
        counts = Counter(map(_key, known))
        alike = {_key(each): code for code, each in enumerate(known) if counts[_key(each)] == 1}
    exact = {text: float(code) for code, text in enumerate(known)}
    return lambda text: exact.get(text, alike.get(_key(text), math.nan))


def _key(text: str) -> str:
    try:
        number = float(text)
    except ValueError:
        return text.casefold()
    return repr(number) if math.isfinite(number) else text.casefold()


def _check_names(X: Any) -> None:
    names = column_names(X)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"X: {len(twice)} columns are called {twice[0]!r}; expected one")


def _check_values(values: np.ndarray, name: str) -> None:
    objects = values.dtype.kind == "O" and any(isinstance(value, DATES) for value in values)
    if objects or values.dtype.kind in "Mm" or is_dates(values):
        raise InputError(
            f"column {name!r} holds dates or durations; expected numbers, categories or yes and "
            "no: turn them into some, such as the year, or leave the column out"
        )


def is_dates(values: Any) -> bool:
    """Whether all values but gaps are texts such as `2026-01-31` or `12:30`: dates in files."""
    texts = {value if isinstance(value, str) else None for value in values if not _is_gap(value)}
    return bool(texts) and all(text is not None and _is_date(text) for text in texts)


def _is_date(text: str) -> bool:
    kind = datetime.time if ":" in text[:3] else datetime.datetime
    try:
        kind.fromisoformat(text.strip())
    except ValueError:
        return False
    return not text.strip().isdecimal()


def check_numbers(X: Any) -> None:
    """Raise InputError at the first text, list or infinite number: where scikit-learn objects."""
    columns = _columns(X)
    if columns is None:
        array = np.asarray(X)
        if array.ndim != 2 or array.dtype.kind != "f":
            return
        columns = [(f"column {i}", column) for i, column in enumerate(array.T)]
    for name, values in columns:
        _numbers(values, name)


def _columns(X: Any) -> list[tuple[str, Any]] | None:
    names = column_names(X)
    if names and hasattr(X, "__getitem__"):
        X = with_text_names(X)
        return (
            None if len(set(names)) < len(names) else [(name, _values(X[name])) for name in names]
        )
    if hasattr(X, "toarray"):
        return None
    try:
        array = np.asarray(X)
        if array.dtype.kind not in "bUOTMm":
            return None
        array = array if array.dtype.kind == "b" else np.asarray(X, dtype=object)
    except ValueError:  # rows of different lengths; whoever checks the table reports it
        return None
    if array.ndim != 2:
        return None
    return [(f"column {i}", column) for i, column in enumerate(array.T)]


def _values(column: Any) -> np.ndarray:
    kind = str(getattr(column, "dtype", None) or column.type)
    if kind.startswith("dictionary"):  # of pyarrow, whose array has no gaps
        return np.array(column.to_pylist(), dtype=object)
    array = np.asarray(column)
    return array.astype(object) if kind == "category" else array


def _decimal(X: Any) -> str:
    """Return the decimal mark of the file that a table was read from."""
    return ((getattr(getattr(X, "schema", None), "metadata", None) or {}).get(MARK, b".")).decode()


def _has_texts(values: np.ndarray) -> bool:
    return values.dtype.kind in "UOT" and any(isinstance(value, str) for value in values)


def _categories(values: np.ndarray, name: str, decimal: str) -> tuple[str, ...] | None:
    """Return the categories in a column in order; none for yes or no, None for numbers."""
    if values.dtype.kind not in "bUOT":
        return None
    kinds = {type(value) for value in values if not _is_gap(value)}
    if not kinds or not all(issubclass(kind, str | bool | np.bool_) for kind in kinds):
        if any(issubclass(kind, str) for kind in kinds):
            raise InputError(
                f"column {name!r} holds texts and {_other(kinds)}; expected one kind of value"
            )
        return None
    distinct = {text for value in values if (text := _text(value)) is not None}
    if {text.casefold() for text in distinct} <= set(YES_OR_NO):
        return ()
    if not all(map(NUMBER.fullmatch, distinct)):  # texts of plain numbers are meant as texts
        texts = [text for value in values if (text := _text(value)) is not None]
        numbers, remark = number_cells(texts, decimal)
        if numbers is not None:
            return None
        if remark:
            warnings.warn(f"column {name!r}: {remark}", stacklevel=4)
    if len(distinct) > MOST_CATEGORIES:
        raise InputError(
            f"column {name!r} has {len(distinct)} different texts; expected categories, at most "
            f"{MOST_CATEGORIES}: leave the column out"
        )
    return tuple(sorted(distinct))


def _other(kinds: set[type]) -> str:
    return min(kind.__name__ for kind in kinds if not issubclass(kind, str))


def _text(value: Any) -> str | None:
    return None if _is_gap(value) else str(value).strip() or None


def _is_gap(value: Any) -> bool:
    # Of all values, NaN alone is not itself; pandas' NA is neither.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _numbers(values: np.ndarray, name: str, decimal: str = ".") -> np.ndarray:
    """Return a column of numbers; gaps are NaN, and so are a few texts of none.

    Raises:
        InputError: a value is not a finite number, a text of one, true or false.
    """
    if values.dtype.kind in "biuf":
        numbers = np.asarray(values, dtype=np.float64)
        bad = np.flatnonzero(np.isinf(numbers))
    else:
        parsed = [_number(value) for value in values]
        texts = [_text(value) for value in values if isinstance(value, str)]
        if None in parsed and len(texts) == sum(not _is_gap(value) for value in values):
            of_text, remark = number_cells([text for text in texts if text], decimal)
            if of_text is not None:
                warnings.warn(f"column {name!r}: {remark}", stacklevel=5)
                parsed = [of_text.get(_text(value) or "", math.nan) for value in values]
        bad = [row for row, each in enumerate(parsed) if each is None]
        numbers = np.array([] if len(bad) else parsed, dtype=np.float64)
    if len(bad):
        value = values[bad[0]]
        shown = value.item() if isinstance(value, np.generic) else value
        raise InputError(
            f"column {name!r}: row {bad[0]} is {shown!r}; expected a finite number, or a gap"
        )
    return numbers


def _number(value: Any) -> float | None:
    text = value.strip().casefold() if isinstance(value, str) else None
    if text == "" or _is_gap(value):
        return math.nan
    try:
        number = float(TRUTHS.get(text, value) if text else value)
    except ValueError:
        return None
    except TypeError:
        if isinstance(value, list):
            return None
        raise
    return None if math.isinf(number) else number
