"""What answers tell of the class, in nats.

With answers that are independent given the class, the gain of query i after a history S is

    I(Y; A_i | S) = H(sum_y P(y | S) P(a_i | y)) - sum_y P(y | S) H(P(a_i | y))

and the query of Information Pursuit, eq. (ip), is the one with the largest gain.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def entropy(probabilities: Float[Tensor, "v k c"]) -> Float[Tensor, "k c"]:
    """Entropy over the first axis, in nats; zeros count as zero."""
    return torch.special.entr(probabilities).sum(dim=0)


def binary_entropy(probability: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Entropy of yes and no, in nats; 0 at 0 and 1."""
    return torch.special.entr(probability) + torch.special.entr(1 - probability)


def information_gain(
    posterior: Float[Tensor, "b c"],
    likelihood: Float[Tensor, "v k c"],
    answer_entropy: Float[Tensor, "k c"],
) -> Float[Tensor, "b k"]:
    """What each query's answer would tell of the class, given the posterior so far.

    Args:
        posterior: over the classes, given the history.
        likelihood: P(answer | class); over the v answers of a query they sum to one.
        answer_entropy: its entropy over the answers, computed once.
    """
    left = torch.ones((), device=posterior.device, dtype=posterior.dtype)
    gain = -(posterior @ answer_entropy.T)
    for table in likelihood[1:]:
        expected = posterior @ table.T
        gain = gain + torch.special.entr(expected)
        left = left - expected
    # The probability of the first answer is what the others leave.
    return gain + torch.special.entr(left.clamp_min(0))
