"""Which questions about the columns of a table to ask."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from infopursuit.answers.columns import column_texts, with_question
from infopursuit.answers.rates import count_yes, yes_rates
from infopursuit.answers.rules import ColumnAnswers
from infopursuit.estimators.dictionary import not_banned, refuse_banned
from infopursuit.estimators.training_rows import TrainingRows
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
    answers = questions.answers(sample.rows.tensor()).double()
    if answers.shape[1] <= k:
        return torch.arange(answers.shape[1])
    yes, totals = count_yes([(slice(None), answers)], sample.labels, sample.weights)
    generator = torch.Generator().manual_seed(seed)
    rates = yes_rates(yes, totals)
    chosen = chosen_columns(answers, rates, sample.labels, sample.weights, k, generator, ROUNDING)
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
