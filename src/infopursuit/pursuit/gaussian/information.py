"""How much an answer tells of the class, where the classes' means differ and not the variance.

The answer is a mixture of normal distributions, one for each class, and

    I(answer; class) = h(mixture) - h(normal)    in nats

The entropy of the mixture has no formula. It is an integral over one dimension, and sums over even
nodes are nearly exact for normal distributions while these are at most about a deviation apart.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from infopursuit.pursuit.answers.rules import NOT_SURE

# Nodes lie about STEP deviations apart, and go REACH deviations beyond the outermost means; there
# are at most MOST of them. In blocks of FINE their densities are a product of matrices.
STEP, REACH, MOST, FINE = 1.25, 3.5, 48, 4
# Classes that are less probable play no part in the choice of a question.
NEGLIGIBLE = 3e-4


def mixture_information(
    means: Float[Tensor, "b c m"], variance: Float[Tensor, "b m"], posterior: Float[Tensor, "b c"]
) -> Float[Tensor, "b m"]:
    """Return the information of m answers of b images about the class, in nats.

    Args:
        means: of each answer in each class.
        variance: of each answer within a class.
        posterior: of the classes; the nodes also span those of 0.
    """
    scaled = means.mT / variance.sqrt().unsqueeze(2)
    scaled = scaled - (scaled.amin(dim=2, keepdim=True) - REACH)
    reach = scaled.amax(dim=2, keepdim=True) + REACH
    step = (reach / (MOST - 1)).clamp_min(STEP)
    last, fine = (reach / step).ceil(), 1
    if bool((step == STEP).all()):  # the same nodes of all answers
        fine, step = FINE, step[:1, :1]
    nodes = torch.arange(-(1 + int(last.max())) // fine * -fine).to(means)
    coarse, near = (step * nodes[::fine]).unsqueeze(3), (step * nodes[:fine]).unsqueeze(3)
    # exp(-(t + u - m)^2 / 2) = exp(-(t - m)^2 / 2) exp(u m) exp(-u (t + u / 2))
    rows = (coarse - scaled.unsqueeze(2)).square_().mul_(-0.5).exp_()
    columns = (near * scaled.unsqueeze(2)).exp_().mul_(posterior[:, None, None])
    density = (rows @ columns.mT).mul_((-near.mT * (coarse + near.mT / 2)).exp_())
    # Nodes of an answer, not of the longest of the batch.
    density = density.flatten(2).where(nodes <= last, 0) / math.sqrt(2 * math.pi)
    entropy = -(torch.special.xlogy(density, density) * step).sum(dim=2)
    return (entropy - math.log(2 * math.pi * math.e) / 2).clamp_min(0)


def word_information(
    means: Float[Tensor, "b c m"],
    variance: Float[Tensor, "b m"],
    posterior: Float[Tensor, "b c"],
) -> Float[Tensor, "b m"]:
    """Return how much it tells of the class whether an answer is a yes, in nats."""
    above = torch.special.ndtr((means.mT - NOT_SURE) / variance.sqrt().unsqueeze(2))
    shares = posterior.unsqueeze(2)
    of_all, of_each = _entropy(above @ shares), _entropy(above) @ shares
    return (of_all - of_each).squeeze(2)


def _entropy(share: Float[Tensor, " ..."]) -> Float[Tensor, " ..."]:
    return torch.special.entr(share) + torch.special.entr(1 - share)
