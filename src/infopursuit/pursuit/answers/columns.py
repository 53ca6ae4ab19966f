"""Questions about the columns of a table: `petal length > 2.45?`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.pursuit.answers.rules import NO, YES, ColumnAnswers

# Cuts of a column: half-way between neighbouring values, at even steps of the rows' weight.
CUTS = 16


def column_questions(
    table: Float[Tensor, "n d"], weights: Float[Tensor, " n"] | None = None
) -> ColumnAnswers:
    """Return all questions that may be asked of a float64 table: at most CUTS a column.

    There are none of a constant column. Equal rows count like one row of their weight, so repeating
    a row and weighting it are the same; without weights each row counts 1.
    """
    columns: list[int] = []
    cuts: list[float] = []
    weight = np.ones(len(table)) if weights is None else weights.numpy()
    values = table.numpy()[weight > 0]
    weight = weight[weight > 0]
    for column in range(values.shape[1]):
        distinct, places = np.unique(values[:, column], return_inverse=True)
        if len(distinct) < 2:
            continue
        below = np.bincount(places, weight).cumsum() / weight.sum()
        # Between the value before and the value after each step.
        steps = np.searchsorted(below, np.arange(1, CUTS + 1) / (CUTS + 1))
        for step in np.unique(np.minimum(steps, len(distinct) - 2)):
            columns.append(column)
            cuts.append(_between(*distinct[step : step + 2].tolist()))
    return _questions(columns, cuts)


def _questions(columns: list[int], cuts: list[float]) -> ColumnAnswers:
    return ColumnAnswers(
        torch.tensor(columns, dtype=torch.long), torch.tensor(cuts, dtype=torch.float64)
    )


def _between(low: float, high: float) -> float:
    """Return a number in [low, high), in the middle if rounding allows."""
    middle = low / 2 + high / 2
    return float(middle) if low <= middle < high else float(low)


def column_texts(questions: ColumnAnswers, names: Sequence[str]) -> list[str]:
    """Return what the questions ask of the named columns, in words that tell them apart."""
    asked = list(zip(questions.columns.tolist(), questions.cuts.tolist(), strict=True))
    for digits in range(4, 18):
        texts = [f"{names[column]} > {cut:.{digits}g}" for column, cut in asked]
        if len(set(texts)) == len(texts):
            return texts
    return [f"column {column}: {names[column]} > {cut!r}" for column, cut in asked]


def given_questions(queries: Sequence[str], names: Sequence[str]) -> ColumnAnswers:
    """Read questions that a person wrote, such as `petal length > 2.45`."""
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
    questions: ColumnAnswers, query: str, names: Sequence[str]
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


def implied_cuts(questions: ColumnAnswers) -> Int[Tensor, "p 3"]:
    """Return which questions about a column follow from which answers (`RedundantQuestions`).

    More than 5 is more than 4, too; what is not more than 4 is not more than 5.
    """
    column, cut = questions.columns, questions.cuts
    same = column.unsqueeze(1) == column
    lower = (same & (cut.unsqueeze(1) > cut)).nonzero()
    higher = (same & (cut.unsqueeze(1) < cut)).nonzero()
    answer = torch.tensor([YES] * len(lower) + [NO] * len(higher)).unsqueeze(1)
    return torch.cat([torch.cat([lower, higher]), answer.long()], dim=1)
