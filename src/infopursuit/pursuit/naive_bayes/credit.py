"""What each question gains when Information Pursuit asks images what it likes."""

from __future__ import annotations

import torch
from torch import Tensor

from infopursuit.pursuit.answers.gain import entropy, information_gain
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.rollout import first_of_the_best

# Queries that each image is asked.
BUDGET = 32
# Gains that differ by less, in nats, are equal.
NEGLIGIBLE = 1e-6


def credit_of(table: AnswerTable, answers: Tensor, weights: Tensor) -> Tensor:
    """Return (m,) the information that each query gains when images are asked BUDGET queries.

    Nobody sees these roll-outs, so they are computed in the dtype of the answers.
    """
    log_likelihood = table.log_likelihood.to(answers.dtype)
    evidence = table.log_prior.to(answers.dtype).expand(len(answers), -1).clone()
    likelihood, level = log_likelihood.exp(), table.level_of(answers)
    answer_entropy = entropy(likelihood)
    credit = torch.zeros(answers.shape[1], dtype=torch.float64)
    mask = torch.zeros_like(answers, dtype=torch.bool)
    for _ in range(min(BUDGET, answers.shape[1])):
        gains = information_gain(evidence.softmax(dim=1), likelihood, answer_entropy)
        queries = first_of_the_best(gains.masked_fill(mask, -torch.inf), NEGLIGIBLE).unsqueeze(1)
        gained = gains.gather(1, queries).squeeze(1).double()
        credit += torch.bincount(queries.squeeze(1), gained * weights, minlength=len(credit))
        mask.scatter_(1, queries, True)
        evidence += log_likelihood[level.gather(1, queries), queries].squeeze(1)
    return credit
