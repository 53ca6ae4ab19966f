"""Which questions about the columns of a table to ask."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from infopursuit.answers.columns import (
    column_questions,
    column_texts,
    given_questions,
    with_question,
)
from infopursuit.answers.rules import ColumnAnswers
from infopursuit.estimators.dictionary import check_room, not_banned, refuse_banned
from infopursuit.estimators.training_rows import TrainingRows
from infopursuit.naive_bayes.fit import fit_table
from infopursuit.naive_bayes.selection import chosen_columns

# Questions are chosen on at most so many rows.
SELECTION_ROWS = 4096
# Sums of many numbers differ by less, so that a repeated row and a row of weight two are one.
ROUNDING = 1e-10


def chosen_questions(
    questions: ColumnAnswers, data: TrainingRows, k: int, seed: int
) -> Int[Tensor, " m"]:
    """The k questions whose answers tell most of the class together; all where there are fewer.

    Args:
        questions: m candidates.
        data: the rows to learn from.
        k: how many to choose.
        seed: of the sample of rows, where there are many.
    """
    sample = data.sample(SELECTION_ROWS, seed)
    rows = sample.rows.tensor()
    answers = questions.answers(rows).double()
    if answers.shape[1] <= k:
        return torch.arange(answers.shape[1])
    table = fit_table(questions, [(slice(None), rows)], sample.labels, sample.weights)
    generator = torch.Generator().manual_seed(seed)
    chosen = chosen_columns(answers, table, sample.labels, sample.weights, k, generator, ROUNDING)
    return chosen.sort().values


def with_kept(
    questions: ColumnAnswers, names: Sequence[str], keep: Sequence[str], ban: Sequence[str]
) -> ColumnAnswers:
    """The questions, and those of `keep` that are not among them.

    Raises:
        InputError: one to keep is not of the form `column > number`, or is banned.
    """
    for query in keep:
        questions, _ = with_question(questions, query, names)
    texts = column_texts(questions, names)
    refuse_banned(texts, not_banned(texts, ban), "keep")
    return questions


def table_questions(
    data: TrainingRows,
    names: Sequence[str],
    queries: Sequence[str] | None,
    ban: Sequence[str],
    keep: Sequence[str],
    k: int,
    seed: int,
) -> ColumnAnswers:
    """The dictionary: the questions given, or the most informative ones and those to keep.

    Args:
        data: the rows to learn from.
        names: of the columns.
        queries: the questions given; None to choose k.
        ban: texts or words that no question may contain.
        keep: questions that are in the dictionary whatever is chosen.
        k: how many to choose.
        seed: of the sample of rows, where there are many.

    Raises:
        InputError: a question is malformed or banned, or more than k are to be kept.
    """
    if queries is not None:
        questions = given_questions(queries, names)
        texts = column_texts(questions, names)
        refuse_banned(texts, not_banned(texts, ban))
        return with_kept(questions, names, keep, ban)
    check_room(len(keep), k)
    questions = column_questions(data.rows.tensor(), data.weights)
    if not len(questions.columns):
        return questions
    texts = column_texts(questions, names)
    allowed = not_banned(texts, ban)
    if keep:  # not chosen a second time
        kept = column_texts(given_questions(keep, names), names)
        allowed &= torch.tensor([text not in kept for text in texts])
    questions = questions.select(allowed.nonzero().squeeze(1))
    room = k - len(keep)
    rows = chosen_questions(questions, data, room, seed) if room else torch.arange(0)
    return with_kept(questions.select(rows), names, keep, ban)
