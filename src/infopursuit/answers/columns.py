"""Questions about the columns of a table: `petal length > 2.45?`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from infopursuit.answers.rules import ColumnAnswers
from infopursuit.core.errors import InputError

# Cuts of a column: half-way between neighbouring values, at even steps of the rows' weight.
CUTS = 16


def column_questions(
    table: Float[Tensor, "n d"], weights: Float[Tensor, " n"] | None = None
) -> ColumnAnswers:
    """All questions that may be asked of a table: at most CUTS a column, none of a constant one.

    Equal rows count like one row of their weight, so that repeating a row and weighting it are one.

    Args:
        table: n rows of d columns, float64.
        weights: of the rows; None for 1 each.
    """
    columns: list[int] = []
    cuts: list[float] = []
    given = np.ones(len(table)) if weights is None else weights.numpy()
    values = table.numpy()[given > 0]
    given = given[given > 0]
    for column in range(values.shape[1]):
        distinct, places = np.unique(values[:, column], return_inverse=True)
        below = np.bincount(places, given).cumsum() / given.sum()
        # Between the value before and the value after each step, where there are two.
        steps = np.searchsorted(below, np.arange(1, CUTS + 1) / (CUTS + 1))
        steps = np.unique(np.minimum(steps, len(distinct) - 2)) if len(distinct) > 1 else []
        for step in steps:
            columns.append(column)
            cuts.append(_between(*distinct[step : step + 2].tolist()))
    return ColumnAnswers(
        torch.tensor(columns, dtype=torch.long), torch.tensor(cuts, dtype=torch.float64)
    )


def _between(low: float, high: float) -> float:
    """A number from low on and below high, in the middle where rounding allows."""
    middle = low / 2 + high / 2
    return float(middle) if low <= middle < high else float(low)


def column_texts(questions: ColumnAnswers, names: Sequence[str]) -> list[str]:
    """What the questions ask, in words that tell them apart.

    Args:
        questions: of a table.
        names: of its columns.
    """
    cuts = questions.cuts.tolist()
    columns = questions.columns.tolist()
    for digits in range(4, 18):
        texts = [
            f"{names[column]} > {cut:.{digits}g}" for column, cut in zip(columns, cuts, strict=True)
        ]
        if len(set(texts)) == len(texts):
            return texts
    return [
        f"column {column}: {names[column]} > {cut!r}"
        for column, cut in zip(columns, cuts, strict=True)
    ]


def given_questions(queries: Sequence[str], names: Sequence[str]) -> ColumnAnswers:
    """Questions that a person wrote, such as `petal length > 2.45`.

    Raises:
        InputError: one is not of the form `column > number`, or names no column.
    """
    columns: list[int] = []
    cuts: list[float] = []
    for query in queries:
        name, _, cut = query.strip().removesuffix("?").rpartition(">")
        name = name.strip()
        if name not in names:
            raise InputError(
                f"queries: {query!r}; expected 'column > number' with one of the columns "
                f"{', '.join(names[:5])}"
            )
        cuts.append(_finite(cut, query))
        columns.append(list(names).index(name))
        if (columns[-1], cuts[-1]) in zip(columns[:-1], cuts[:-1], strict=True):
            raise InputError(f"queries: {query!r} is there twice; expected distinct queries")
    return ColumnAnswers(
        torch.tensor(columns, dtype=torch.long), torch.tensor(cuts, dtype=torch.float64)
    )


def _finite(cut: str, query: str) -> float:
    try:
        found = float(cut)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise InputError(f"queries: {query!r}; expected a finite number after '>'")
    return found


def with_question(
    questions: ColumnAnswers, query: str, names: Sequence[str]
) -> tuple[ColumnAnswers, int]:
    """The questions, with one that a person wrote where it is not among them; and its number.

    Raises:
        InputError: it is not of the form `column > number`, or names no column.
    """
    wanted = given_questions([query], names)
    texts = column_texts(questions, names)
    text = column_texts(wanted, names)[0]
    if text in texts:
        return questions, texts.index(text)
    more = ColumnAnswers(
        torch.cat([questions.columns, wanted.columns]), torch.cat([questions.cuts, wanted.cuts])
    )
    return more, len(texts)
