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

# Nodes lie about STEP deviations apart, and go REACH deviations beyond the outermost means; there
# are at most MOST of them.
STEP, REACH, MOST = 1.25, 3.5, 48
# Classes that are less probable play no part in the choice of a question.
NEGLIGIBLE = 1e-4


def mixture_information(
    means: Float[Tensor, "b c m"], variance: Float[Tensor, "b m"], posterior: Float[Tensor, "b c"]
) -> Float[Tensor, "b m"]:
    """Return the information of m answers of b images about the class, in nats.

    Args:
        means: of each answer in each class.
        variance: of each answer within a class.
        posterior: of the classes; those of 0 play no part.
    """
    scaled, none = means / variance.sqrt().unsqueeze(1), (posterior == 0).unsqueeze(2)
    low = scaled.masked_fill(none, torch.inf).amin(dim=1) - REACH
    reach = scaled.masked_fill(none, -torch.inf).amax(dim=1) + REACH - low
    step = (reach / (MOST - 1)).clamp_min(STEP).unsqueeze(1)
    last = (reach.unsqueeze(1) / step).ceil()
    nodes = torch.arange(1 + int(last.max()), device=means.device, dtype=means.dtype).unsqueeze(1)
    at = low.unsqueeze(1) + step * nodes
    density, surprise = torch.zeros_like(at), torch.empty_like(at)
    for place in range(posterior.shape[1]):
        torch.sub(at, scaled[:, place].unsqueeze(1), out=surprise)
        surprise.square_().mul_(-0.5).exp_()
        density.addcmul_(surprise, posterior[:, place, None, None])
    density = density.where(nodes <= last, 0)  # of an answer, not of the longest of the batch
    density /= math.sqrt(2 * math.pi)
    entropy = -(torch.special.xlogy(density, density) * step).sum(dim=1)
    return (entropy - math.log(2 * math.pi * math.e) / 2).clamp_min(0)


def share_of_yes(
    means: Float[Tensor, "b c m"],
    variance: Float[Tensor, "b m"],
    posterior: Float[Tensor, "b c"],
    level: float,
) -> Float[Tensor, "b m"]:
    """Return how probable it is that an answer exceeds a level."""
    above = torch.special.ndtr((means - level) / variance.sqrt().unsqueeze(1))
    return (posterior.unsqueeze(1) @ above).squeeze(1)
