"""How often each class gives each answer to each query."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from jaxtyping import Float, Int
from torch import Tensor

# Nothing is certain, however many images agree.
LEAST, MOST = 0.01, 0.99
# Two thresholds may have no image in between: so probable is each of three answers at least.
LEAST_OF_THREE = 0.005
# Images that the prior estimate of a rate counts for.
PSEUDO_IMAGES = 2.0
# Rounding alone spreads scores of about 0.1 by less; where they do not differ within classes, a
# mean at the threshold is neither above nor below it.
LEAST_SPREAD = 1e-5


def yes_rates(
    yes: Float[Tensor, "c k"], totals: Float[Tensor, "c 1"], smooth: Tensor | float = 0.5
) -> Float[Tensor, "c k"]:
    """Frequencies of a yes in each class, drawn towards `smooth` by two made-up images.

    Args:
        yes: how many images of each class say yes to each query.
        totals: how many images each class has.
        smooth: the rate expected of a class without images; a number or (c, k).
    """
    return ((yes + PSEUDO_IMAGES * smooth) / (totals + PSEUDO_IMAGES)).clamp(LEAST, MOST)


def threshold_rates(
    yes: Float[Tensor, "c k"],
    totals: Float[Tensor, "c 1"],
    means: Float[Tensor, "c k"],
    spread: Float[Tensor, " k"],
    thresholds: Float[Tensor, " k"],
) -> Float[Tensor, "c k"]:
    """Rates of answers that are scores above a threshold.

    A class has few images: the mean of two estimates, the frequency, and the mass above the
    threshold of a Gaussian with the class's mean and the spread that all classes share.

    Args:
        yes: how many images of each class say yes.
        totals: how many images each class has.
        means: mean score of each class.
        spread: standard deviation of scores within classes.
        thresholds: one a query.
    """
    smooth = torch.special.ndtr((means - thresholds) / spread.clamp_min(LEAST_SPREAD))
    return ((yes_rates(yes, totals, smooth) + smooth) / 2).clamp(LEAST, MOST)


def answer_probabilities(*at_least: Float[Tensor, "c k"]) -> Float[Tensor, "v k c"]:
    """P(answer | class) of no and yes, or of no, not sure and yes.

    Args:
        at_least: how probable it is in each class that an answer is no `no`, and where there are
            three answers, that it is a yes.
    """
    if len(at_least) == 1:
        (yes,) = at_least
        return torch.stack([(1 - yes).T, yes.T])
    not_no, yes = at_least
    answers = torch.stack([(1 - not_no).T, (not_no - yes).T, yes.T]).clamp_min(LEAST_OF_THREE)
    return answers / answers.sum(dim=0)


def count_yes(
    answers: Iterable[tuple[slice, Float[Tensor, "m k"]]],
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
    classes: int = 0,
) -> tuple[Float[Tensor, "c k"], Float[Tensor, "c 1"]]:
    """The sum of the answers of each class to each query, and how many images there are; float64.

    Args:
        answers: (place, answers in [0, 1]) of all images, in blocks.
        labels: classes 0..c-1.
        weights: of the images; None for 1 each.
        classes: c, where some class may have no image here.
    """
    weights = torch.ones(len(labels), dtype=torch.float64) if weights is None else weights
    totals = torch.bincount(labels, weights, minlength=classes).unsqueeze(1)
    yes: Tensor | None = None
    for place, rows in answers:
        if yes is None:
            yes = torch.zeros(len(totals), rows.shape[1], dtype=torch.float64)
        yes.index_add_(0, labels[place], rows.double() * weights[place].unsqueeze(1))
    assert yes is not None  # there is an image
    return yes, totals
