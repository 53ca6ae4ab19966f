"""Questions about the columns of a table: `petal length > 2.45?`, or `petal length?`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import distinct_numbers
from infopursuit.datasets.table_columns import TableColumns
from infopursuit.pursuit.answers.rules import (
    NO,
    NO_CUT,
    UNSURE,
    YES,
    ColumnAnswers,
    ColumnValues,
)

# Cuts of a column: half-way between neighbouring values, at even steps of the rows' weight.
CUTS = 16
# A question that shows the value of a column of numbers names one of this many intervals.
CELLS = 12


def column_questions(
    table: Float[Tensor, "n d"], weights: Float[Tensor, " n"] | None = None
) -> ColumnAnswers:
    """Return all questions that may be asked of a float64 table: at most CUTS a column.

    There are none of a constant column. Equal rows count like one row of their weight, so repeating
    a row and weighting it are the same; without weights each row counts 1. Gaps (NaN) do not count.
    """
    columns: list[int] = []
    cuts: list[float] = []
    for column in range(table.shape[1]):
        found = _even_cuts(table[:, column].numpy(), weights, CUTS)
        columns += [column] * len(found)
        cuts += found
    return _questions(columns, cuts)


def _even_cuts(
    values: Float[np.ndarray, " n"], weights: Float[Tensor, " n"] | None, count: int
) -> list[float]:
    """Return at most `count` cuts of a column, at even steps of its rows' weight."""
    weight = np.ones(len(values)) if weights is None else weights.numpy()
    known = ~np.isnan(values) & (weight > 0)
    distinct, places = np.unique(values[known], return_inverse=True)
    if len(distinct) < 2:
        return []
    below = np.bincount(places, weight[known]).cumsum() / weight[known].sum()
    # Between the value before and the value after each step.
    steps = np.searchsorted(below, np.arange(1, count + 1) / (count + 1))
    steps = np.unique(np.minimum(steps, len(distinct) - 2))
    return [_between(*distinct[step : step + 2].tolist()) for step in steps]


def column_values(
    table: Float[Tensor, "n d"], names: TableColumns, weights: Float[Tensor, " n"] | None = None
) -> ColumnValues:
    """Return a question for each column of a float64 table that is not constant: its value.

    Each category is a cell; a column of numbers has at most CELLS, of about as many rows each.
    """
    columns: list[int] = []
    cuts: list[list[float]] = []
    for column, kinds in enumerate(names.categories):
        found = _even_cuts(table[:, column].numpy(), weights, CELLS - 1)
        if found:
            columns.append(column)
            last = max(len(kinds or ()), 2) - 1
            cuts.append(found if kinds is None else [code + 0.5 for code in range(last)])
    padded = torch.full((len(cuts), max(map(len, cuts), default=1)), NO_CUT, dtype=torch.float64)
    for row, found in zip(padded, cuts, strict=True):
        row[: len(found)] = torch.tensor(found, dtype=torch.float64)
    numeric = torch.tensor([names.categories[column] is None for column in columns]).bool()
    return ColumnValues(torch.tensor(columns, dtype=torch.long), padded, numeric)


def value_texts(questions: ColumnValues, names: TableColumns) -> list[str]:
    """Return the questions in words, such as `petal length?`; equal names get a number."""
    columns = questions.columns.tolist()
    texts = [f"{names.names[column].rstrip('?')}?" for column in columns]
    if len(set(texts)) == len(texts):
        return texts
    return [f"column {column}: {text}" for column, text in zip(columns, texts, strict=True)]


def value_words(questions: ColumnValues, names: TableColumns | None) -> tuple[tuple[str, ...], ...]:
    """Return the v answers to each question in words; empty if it has no such answer.

    Without `names` all columns are numbers.
    """
    words = []
    for query, (column, cuts) in enumerate(
        zip(questions.columns.tolist(), questions.cuts.tolist(), strict=True)
    ):
        levels = questions.levels_of(query)
        kinds = None if names is None else names.categories[column]
        said = ["no", "yes"] if kinds == () else kinds or _intervals(cuts[: len(levels) - 1])
        of_level = dict(zip(levels, said, strict=True))
        of_level[questions.levels // 2] = "not sure"
        words.append(tuple(of_level.get(level, "") for level in range(questions.levels)))
    return tuple(words)


def _intervals(cuts: list[float]) -> list[str]:
    ends = distinct_numbers(cuts)
    return [interval(ends, cell, cell) for cell in range(len(ends) + 1)]


def interval(ends: Sequence[str], first: int, last: int) -> str:
    """Return what lies between cuts in words: the cells from the first to the last."""
    if first == 0:
        return f"at most {ends[last]}"
    if last == len(ends):
        return f"more than {ends[first - 1]}"
    return f"{ends[first - 1]} to {ends[last]}"


def values_named(queries: Sequence[str], questions: ColumnValues, names: TableColumns) -> list[int]:
    """Return the numbers of the questions that a person named by their columns.

    Raises:
        InputError: one names no column, or a column whose values are all equal.
    """
    texts = [text.rstrip("?") for text in value_texts(questions, names)]
    found = []
    for query in queries:
        asked = query.strip().rstrip("?").strip()
        if asked not in texts:
            raise InputError(
                f"queries: {query!r}; expected one of the columns {', '.join(texts[:5])}; "
                "'column > number' and 'column is category' are questions of columns=\"cuts\""
            )
        found.append(texts.index(asked))
    return found


def _questions(columns: list[int], cuts: list[float]) -> ColumnAnswers:
    return ColumnAnswers(
        torch.tensor(columns, dtype=torch.long), torch.tensor(cuts, dtype=torch.float64)
    )


def _between(low: float, high: float) -> float:
    """Return a number in [low, high), in the middle if rounding allows."""
    middle = low / 2 + high / 2
    return float(middle) if low <= middle < high else float(low)


def column_texts(questions: ColumnAnswers, names: TableColumns) -> list[str]:
    """Return what the questions ask of the columns, in words that tell them apart."""
    parts = names.parts
    asked = []
    for place, cut in zip(questions.columns.tolist(), questions.cuts.tolist(), strict=True):
        column, text = parts[place]
        asked.append((column, cut, text))
    for digits in range(4, 18):
        texts = [text or f"{names.names[column]} > {cut:.{digits}g}" for column, cut, text in asked]
        if len(set(texts)) == len(texts):
            return texts
    return [
        f"column {column}: {text or f'{names.names[column]} > {cut!r}'}"
        for column, cut, text in asked
    ]


def given_questions(queries: Sequence[str], names: TableColumns) -> ColumnAnswers:
    """Read questions that a person wrote, such as `petal length > 2.45` or `colour is red`."""
    place_of = {
        names.names[column] if text is None else text.removesuffix("?"): (place, text)
        for place, (column, text) in enumerate(names.parts)
    }
    columns: list[int] = []
    cuts: list[float] = []
    for query in queries:
        asked = query.strip().removesuffix("?").strip()
        place, text = place_of.get(asked, (None, None))
        cut = 0.5
        if text is None:
            name, _, number = asked.rpartition(">")
            place, text = place_of.get(name.strip(), (None, ""))
            if text is not None:
                raise InputError(
                    f"queries: {query!r}; expected 'column > number' with one of the columns "
                    f"{', '.join(names.names[:5])}, or 'column is category'"
                )
            cut = _finite(number, query)
        assert place is not None
        cuts.append(cut)
        columns.append(place)
        if (columns[-1], cuts[-1]) in zip(columns[:-1], cuts[:-1], strict=True):
            raise InputError(f"queries: {query!r} is there twice; expected distinct queries")
    return _questions(columns, cuts)


def _finite(cut: str, query: str) -> float:
    try:
        number = float(cut)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"queries: {query!r}; expected a finite number after '>'")
    return number


def with_question(
    questions: ColumnAnswers, query: str, names: TableColumns
) -> tuple[ColumnAnswers, int]:
    """Add a question that a person wrote, unless it is there; return all, and its number."""
    wanted = given_questions([query], names)
    texts = column_texts(questions, names)
    text = column_texts(wanted, names)[0]
    if text in texts:
        return questions, texts.index(text)
    more = ColumnAnswers(
        torch.cat([questions.columns, wanted.columns]), torch.cat([questions.cuts, wanted.cuts])
    )
    return more, len(texts)


def implied_cuts(questions: ColumnAnswers, names: TableColumns) -> Int[Tensor, "p 3"]:
    """Return which questions about a column follow from which answers (`RedundantQuestions`).

    More than 5 is more than 4, too; what is not more than 4 is not more than 5. What is red is not
    blue. A gap in a column answers none of its questions.
    """
    column, cut = questions.columns, questions.cuts
    source = torch.from_numpy(names.sources)[column]
    same = column.unsqueeze(1) == column
    of_one = (source.unsqueeze(1) == source) & ~torch.eye(len(cut), dtype=torch.bool)
    pairs = (
        (same & (cut.unsqueeze(1) > cut), YES),
        (same & (cut.unsqueeze(1) < cut), NO),
        (of_one & ~same, YES),
        (of_one, UNSURE),
    )
    found = [
        torch.nn.functional.pad(which.nonzero(), (0, 1), value=after) for which, after in pairs
    ]
    return torch.cat(found)
