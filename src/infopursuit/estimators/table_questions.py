"""Which questions about the columns of a table to ask."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from infopursuit.answers.rules import ColumnAnswers
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
