"""How often each class says yes to each query."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.evidence.score_map import class_means

# Nothing is certain, however many images agree.
LEAST, MOST = 0.01, 0.99
# Images that the smooth estimate counts for in the frequency.
PSEUDO_IMAGES = 2.0


def class_rates(
    answers: Float[Tensor, "n k"], labels: Int[Tensor, " n"], smooth: Tensor | float = 0.5
) -> Float[Tensor, "c k"]:
    """Frequencies of a yes in each class, drawn towards `smooth` by two made-up images.

    Args:
        answers: in [0, 1].
        labels: classes 0..c-1.
        smooth: what is expected of a class without images; a number or (c, k).
    """
    counts = torch.bincount(labels).unsqueeze(1)
    sums = torch.zeros(len(counts), answers.shape[1]).index_add_(0, labels, answers)
    return ((sums + PSEUDO_IMAGES * smooth) / (counts + PSEUDO_IMAGES)).clamp(LEAST, MOST)


def score_rates(
    scores: Float[Tensor, "n k"], thresholds: Float[Tensor, " k"], labels: Int[Tensor, " n"]
) -> Float[Tensor, "c k"]:
    """Rates of answers that are scores above a threshold.

    A class has few images: the mean of two estimates, the frequency, and the mass above the
    threshold of a Gaussian with the class's mean and the spread that all classes share.
    """
    means = class_means(scores, labels)
    spread = (scores - means[labels]).square().mean(dim=0).sqrt().clamp_min(1e-12)
    smooth = torch.special.ndtr((means - thresholds) / spread)
    frequency = class_rates((scores > thresholds).to(scores.dtype), labels, smooth)
    return ((frequency + smooth) / 2).clamp(LEAST, MOST)
