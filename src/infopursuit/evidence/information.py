"""What answers tell of the class, in nats.

With answers that are independent given the class, the gain of a query after a history S is
I(Y; A | S) = H(sum_y p(y | S) rate_y) - sum_y p(y | S) H(rate_y): the query of Information
Pursuit (eq. ip) is the one with the largest gain.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor


def binary_entropy(probability: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Entropy of yes and no, in nats; 0 at 0 and 1."""
    return torch.special.entr(probability) + torch.special.entr(1 - probability)


def information_gain(
    posterior: Float[Tensor, "b c"], rates: Float[Tensor, "c k"]
) -> Float[Tensor, "b k"]:
    """What each query's answer would tell of the class, given the posterior so far.

    Args:
        posterior: over the classes, given the history.
        rates: probability of a yes to each query in each class.
    """
    return binary_entropy(posterior @ rates) - posterior @ binary_entropy(rates)


def credited_information(
    answers: Float[Tensor, "n k"],
    rates: Float[Tensor, "c k"],
    prior: Float[Tensor, " c"],
    budget: int,
) -> Float[Tensor, " k"]:
    """The information that each query gains in roll-outs of `budget` queries, over all images."""
    of_yes, of_no = rates.log().T, (1 - rates).log().T
    evidence = prior.log().expand(len(answers), -1).clone()
    asked = torch.zeros_like(answers, dtype=torch.bool)
    credit = torch.zeros(answers.shape[1])
    for _ in range(budget):
        gains = information_gain(evidence.softmax(dim=1), rates).masked_fill_(asked, -torch.inf)
        gain, query = gains.max(dim=1)
        asked.scatter_(1, query.unsqueeze(1), True)
        said = answers.gather(1, query.unsqueeze(1))
        evidence += torch.where(said > 0, of_yes[query], of_no[query])
        credit += torch.bincount(query, weights=gain, minlength=len(credit))
    return credit


def class_prior(labels: Int[Tensor, " n"]) -> Float[Tensor, " c"]:
    """The share of each class."""
    return torch.bincount(labels) / len(labels)
