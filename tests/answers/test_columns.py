"""Questions about the columns of a table: where they cut, what they are called, what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from infopursuit.answers.columns import (
    CUTS,
    column_questions,
    column_texts,
    given_questions,
    with_question,
)
from infopursuit.answers.rules import ColumnAnswers
from infopursuit.core.errors import InputError
from tests.answers.drawn import counts, drawn

NAMES = ["petal length", "petal width"]


def of_column(questions: ColumnAnswers, column: int) -> list[float]:
    return questions.cuts[questions.columns == column].tolist()


def cuts_slowly(values: list[float], weights: list[float]) -> list[float]:
    """Between neighbours, where the weight below passes a step; a column of one table."""
    rows = sorted(zip(values, weights, strict=True))
    distinct = sorted(set(values))
    total = sum(weights)
    found = []
    for step in range(1, CUTS + 1):
        for low, high in itertools.pairwise(distinct):
            below = sum(weight for value, weight in rows if value <= low)
            last = high == distinct[-1]
            if below / total >= step / (CUTS + 1) - 1e-12 or last:
                found.append((low + high) / 2)
                break
    return sorted(set(found))


@given(st.integers(0, 1000), st.integers(1, 60))
def test_cuts_are_between_neighbours_at_even_steps_of_the_weight(seed: int, rows: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    table = torch.randint(20, (rows, 2), generator=generator).double()
    weights = counts(rows, seed=seed).double()
    questions = column_questions(table, weights)
    for column in range(2):
        expected = cuts_slowly(table[:, column].tolist(), weights.tolist())
        assert of_column(questions, column) == expected


def test_a_weight_is_so_many_equal_rows() -> None:
    table, repeats = drawn(40, 3).double(), counts(40)
    weighted = column_questions(table, repeats.double())
    repeated = column_questions(table.repeat_interleave(repeats, dim=0))
    assert torch.equal(weighted.cuts, repeated.cuts)
    assert torch.equal(weighted.columns, repeated.columns)
    left_out = column_questions(table, (repeats > 1).double())
    assert torch.equal(left_out.cuts, column_questions(table[repeats > 1]).cuts)


def test_every_question_splits_the_rows_and_none_is_asked_twice() -> None:
    table = torch.cat([drawn(100, 2), (drawn(100, 1) > 1).float()], dim=1).double()
    questions = column_questions(table)
    share = questions.answers(table).mean(dim=0)
    assert ((share > 0) & (share < 1)).all()
    pairs = list(zip(questions.columns.tolist(), questions.cuts.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert [len(of_column(questions, column)) for column in range(3)] == [CUTS, CUTS, 1]


def test_a_constant_column_has_no_question() -> None:
    table = torch.cat([torch.full((9, 1), 3.0), torch.arange(9.0).unsqueeze(1)], dim=1).double()
    assert of_column(column_questions(table), 0) == []
    assert len(column_questions(table[:, :1]).columns) == 0
    assert len(column_questions(table[:1]).columns) == 0


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.0, float(np.nextafter(1, 2))),
        (-1.7e308, 1.7e308),
        (1.6e308, 1.7e308),
        (0.0, 5e-324),
        (-5e-324, 0.0),
    ],
)
def test_neighbours_that_nearly_touch_or_lie_far_apart_are_told_apart(
    low: float, high: float
) -> None:
    table = torch.tensor([[low], [high]], dtype=torch.float64)
    questions = column_questions(table)
    assert math.isfinite(questions.cuts.item())
    assert questions.answers(table).tolist() == [[0.0], [1.0]]


def test_texts_name_column_and_cut_with_as_many_digits_as_tell_them_apart() -> None:
    questions = given_questions(["petal length > 2.45", "petal width > 0.80001"], NAMES)
    assert column_texts(questions, NAMES) == ["petal length > 2.45", "petal width > 0.8"]
    close = ColumnAnswers(torch.tensor([0, 0]), torch.tensor([0.80001, 0.80002]).double())
    assert len(set(column_texts(close, NAMES))) == 2
    closest = ColumnAnswers(torch.tensor([0, 0]), torch.tensor([1, np.nextafter(1, 2)]))
    assert len(set(column_texts(closest, NAMES))) == 2
    assert column_texts(close, ["x", "x"]) == ["x > 0.80001", "x > 0.80002"]
    of_two = ColumnAnswers(torch.tensor([0, 1]), torch.tensor([0.5, 0.5]).double())
    assert column_texts(of_two, ["x", "x"]) == ["column 0: x > 0.5", "column 1: x > 0.5"]


def same(questions: ColumnAnswers, columns: list[int], cuts: list[float]) -> bool:
    found: list[Tensor] = [questions.columns, questions.cuts]
    return [each.tolist() for each in found] == [columns, cuts]


def test_given_questions_are_read_as_written() -> None:
    read = given_questions([" petal width>1e-1 ? ", "petal length > -2"], NAMES)
    assert same(read, [1, 0], [0.1, -2.0])
    assert same(given_questions(["a > b > 3"], ["a > b"]), [0], [3.0])


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (["sepal > 1"], "'sepal > 1'; expected 'column > number' with one of the columns petal"),
        (["petal width"], "'petal width'; expected 'column > number'"),
        (["petal width > much"], "'petal width > much'; expected a finite number after '>'"),
        (["petal width > 1", "petal width>1.0"], "'petal width>1.0' is there twice"),
    ],
)
def test_what_is_no_question_is_refused(queries: list[str], message: str) -> None:
    with pytest.raises(InputError, match=f"queries: {message}"):
        given_questions(queries, NAMES)


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_a_cut_that_splits_nothing_is_refused(number: str) -> None:
    with pytest.raises(InputError, match="expected a finite number after '>'"):
        given_questions([f"petal width > {number}"], NAMES)


def test_one_more_question_is_added_where_it_is_not_there() -> None:
    questions = given_questions(["petal length > 2.45", "petal width > 0.8"], NAMES)
    found, number = with_question(questions, "petal width > 0.80", NAMES)
    assert (found, number) == (questions, 1)
    found, number = with_question(questions, "petal width > 1", NAMES)
    assert number == 2
    assert same(found, [0, 1, 1], [2.45, 0.8, 1.0])
