"""Questions about the values in the columns of a table: `petal length?`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import distinct_numbers
from infopursuit.datasets.table_columns import TableColumns
from infopursuit.pursuit.answers.rules import NO_CUT, ColumnValues, TellingGaps

# A question that shows the value of a column of numbers names one of this many intervals.
CELLS = 12
# Larger numbers may be whole because they have no more digits.
MOST_WHOLE = 2.0**53


def _even_cuts(
    values: Float[np.ndarray, " n"], weights: Float[Tensor, " n"] | None, count: int
) -> list[float]:
    """Return at most `count` cuts of a column, at even steps of its rows' weight.

    They lie half-way between neighbouring values. There are none of a constant column. Equal rows
    count like one row of their weight, so repeating a row and weighting it are the same; without
    weights each row counts 1. Gaps (NaN) do not count.
    """
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
    table: Float[Tensor, "n d"],
    names: TableColumns,
    weights: Float[Tensor, " n"] | None = None,
    gaps_tell: bool = False,
) -> ColumnValues:
    """Return a question for each column of a float64 table that is not constant: its value.

    Each category is a cell; a column of numbers has at most CELLS, of about as many rows each. If
    gaps tell, a column of one value and gaps is not constant.
    """
    columns: list[int] = []
    cuts: list[list[float]] = []
    for column, kinds in enumerate(names.categories):
        own_cuts = _even_cuts(table[:, column].numpy(), weights, CELLS - 1)
        gaps = table[:, column].isnan()
        if own_cuts or (gaps_tell and gaps.any() and not gaps.all()):
            columns.append(column)
            last = len(kinds) - 1 if kinds else 1
            cuts.append(own_cuts if kinds is None else [code + 0.5 for code in range(last)])
    padded = torch.full((len(cuts), max(map(len, cuts), default=1)), NO_CUT, dtype=torch.float64)
    for row, own_cuts in zip(padded, cuts, strict=True):
        row[: len(own_cuts)] = torch.tensor(own_cuts, dtype=torch.float64)
    numeric = torch.tensor([names.categories[column] is None for column in columns]).bool()
    kind, of = TellingGaps if gaps_tell else ColumnValues, torch.tensor(columns, dtype=torch.long)
    values = table[:, of].nan_to_num(nan=0.0)
    whole = ((values == values.floor()) & (values.abs() < MOST_WHOLE)).all(dim=0)
    return kind(of, padded, numeric, whole=whole)


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
    whole = questions.numeric & False if questions.whole is None else questions.whole
    for query, (column, cuts) in enumerate(
        zip(questions.columns.tolist(), questions.cuts.tolist(), strict=True)
    ):
        levels = questions.levels_of(query)
        kinds = None if names is None else names.categories[column]
        values = ["no", "yes"] if kinds == () else kinds
        values = values or _intervals(cuts[: len(levels) - 1], bool(whole[query]))
        of_level = dict(zip(levels, values, strict=True))
        of_level[questions.levels // 2] = "not sure"
        words.append(tuple(of_level.get(level, "") for level in range(questions.levels)))
    return tuple(words)


def _intervals(cuts: list[float], whole: bool) -> list[str]:
    """Return what lies between cuts in words; of whole numbers the first and the last one."""
    if not cuts:  # one number, or a gap
        return ["a number"]
    ends = [f"{math.floor(cut)}" for cut in cuts] if whole else distinct_numbers(cuts)
    starts = [f"{math.floor(cut) + 1}" for cut in cuts] if whole else ends
    between = [
        low if low == high else f"{low} to {high}"
        for low, high in zip(starts, ends[1:], strict=False)
    ]
    return [f"at most {ends[0]}", *between, f"more than {ends[-1]}"]


def values_named(queries: Sequence[str], questions: ColumnValues, names: TableColumns) -> list[int]:
    """Return the numbers of the questions that a person named by their columns.

    Raises:
        InputError: one names no column, or a column whose values are all equal.
    """
    texts = [text.rstrip("?") for text in value_texts(questions, names)]
    numbers = []
    for query in queries:
        column = query.strip().rstrip("?").strip()
        if column not in texts:
            raise InputError(
                f"queries: {query!r}; expected one of the columns {', '.join(texts[:5])}"
            )
        numbers.append(texts.index(column))
    return numbers


def _between(low: float, high: float) -> float:
    """Return a number in [low, high), in the middle if rounding allows."""
    middle = low / 2 + high / 2
    return float(middle) if low <= middle < high else float(low)
