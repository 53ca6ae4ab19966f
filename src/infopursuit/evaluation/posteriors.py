"""What the evaluation keeps of the posteriors: four numbers for each image and budget.

The posteriors of a test split, (n, T + 1, c), do not fit in memory for many classes; curves,
stopping rules and calibration need no more of them than this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.explanation.stopping import posterior_entropy


class PosteriorSummary(NamedTuple):
    """Of each image's posterior after t = 0..T queries; all (n, T + 1) but the labels.

    Attributes:
        labels: (n,) int64 true classes.
        predicted: int64 most probable class.
        max_probability: float32 probability of that class.
        entropy: float32 entropy in nats.
        nll: float32 negative log-likelihood of the label in nats.
    """

    labels: Int[np.ndarray, " n"]
    predicted: Int[np.ndarray, "n t"]
    max_probability: Float[np.ndarray, "n t"]
    entropy: Float[np.ndarray, "n t"]
    nll: Float[np.ndarray, "n t"]

    @property
    def correct(self) -> Bool[np.ndarray, "n t"]:
        """(n, T + 1) whether the predicted class is the label."""
        return self.predicted == self.labels[:, None]

    def up_to(self, budget: int) -> PosteriorSummary:
        """The same for a larger T: who has asked every question believes what he believed.

        So dictionaries of fewer questions than T can be compared with others.
        """
        more = max(budget + 1 - self.predicted.shape[1], 0)
        labels, *columns = self
        return PosteriorSummary(
            labels, *(np.pad(column, ((0, 0), (0, more)), mode="edge") for column in columns)
        )


def summarize(posteriors: Float[Tensor, "n t c"], labels: Int[Tensor, " n"]) -> PosteriorSummary:
    """Reduce (n, T + 1, c) float32 posteriors to what the evaluation needs.

    A probability of 0 counts as the smallest normal float32 in the likelihood, so that one image
    the classifier rules out costs 87.3 nats and not an infinite mean.

    Raises:
        ValueError: a posterior is NaN.
    """
    if torch.isnan(posteriors).any():
        raise ValueError("a posterior is NaN; expected probabilities")
    highest, predicted = posteriors.max(dim=2)
    entropy = posterior_entropy(posteriors)
    index = labels[:, None, None].expand(-1, posteriors.shape[1], 1)
    likelihood = posteriors.gather(2, index).squeeze(2)
    nll = -likelihood.clamp_min(torch.finfo(torch.float32).tiny).log()
    # A certain posterior has entropy -0.0 and likelihood loss -0.0; adding zero drops the sign.
    return PosteriorSummary(
        labels=labels.cpu().numpy(),
        predicted=predicted.cpu().numpy(),
        max_probability=highest.cpu().numpy(),
        entropy=(entropy + 0.0).cpu().numpy(),
        nll=(nll + 0.0).cpu().numpy(),
    )


def join(parts: Sequence[PosteriorSummary]) -> PosteriorSummary:
    """One summary of the images of many batches, in their order."""
    return PosteriorSummary(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
