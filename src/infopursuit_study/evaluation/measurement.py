"""The one pass over the test images: every image is asked once, and the posteriors are reduced.

The posteriors of a test split, (n, T + 1, c), do not fit in memory for many classes. Curves,
stopping rules and calibration need four numbers of each; the meaning of questions and answers needs
the first questions of each image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from tqdm import tqdm

from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.rollout import RollOut
from infopursuit.pursuit.stopping import posterior_entropy

BATCH_SIZE = 512
# The first questions of each image are kept with their answers and posteriors.
FIRST = 10


class PosteriorSummary(NamedTuple):
    """True classes, and four numbers of each image's posterior after t = 0..T queries.

    They are the most probable class, its probability, the entropy, and the negative log-likelihood
    of the true class, both in nats.
    """

    labels: Int[np.ndarray, " n"]
    predicted: Int[np.ndarray, "n t"]
    max_probability: Float[np.ndarray, "n t"]
    entropy: Float[np.ndarray, "n t"]
    nll: Float[np.ndarray, "n t"]

    @property
    def correct(self) -> Bool[np.ndarray, "n t"]:
        """Whether the predicted class is the label."""
        return self.predicted == self.labels[:, None]

    def up_to(self, budget: int) -> PosteriorSummary:
        """Return the same at t = 0..budget; after the last question nothing changes."""
        more = max(budget + 1 - self.predicted.shape[1], 0)
        labels, *columns = self
        return PosteriorSummary(
            labels,
            *(np.pad(each[:, : budget + 1], ((0, 0), (0, more)), mode="edge") for each in columns),
        )


def summarize(posteriors: Float[Tensor, "n t c"], labels: Int[Tensor, " n"]) -> PosteriorSummary:
    """Reduce (n, T + 1, c) float32 posteriors to what the evaluation needs.

    A probability of 0 counts as the smallest normal float32 in the likelihood, so that one image
    the classifier rules out costs 87.3 nats and not an infinite mean.
    """
    highest, predicted = posteriors.max(dim=2)
    index = labels[:, None, None].expand(-1, posteriors.shape[1], 1)
    likelihood = posteriors.gather(2, index).squeeze(2)
    nll = -likelihood.clamp_min(torch.finfo(torch.float32).tiny).log()
    # A certain posterior has entropy -0.0 and likelihood loss -0.0; adding zero drops the sign.
    return PosteriorSummary(
        labels=labels.cpu().numpy(),
        predicted=predicted.cpu().numpy(),
        max_probability=highest.cpu().numpy(),
        entropy=(posterior_entropy(posteriors) + 0.0).cpu().numpy(),
        nll=(nll + 0.0).cpu().numpy(),
    )


class Measurement(NamedTuple):
    """What the pass over n test images found.

    Attributes:
        summary: of the posteriors after t = 0..T queries, images in their order.
        usage: (T, k) int64, how many images were asked query i as their t-th.
        opening: the first questions of each image (FIRST, or T if that is less), on the CPU.
    """

    summary: PosteriorSummary
    usage: Int[np.ndarray, "t k"]
    opening: RollOut


def measure(
    pursuit: Pursuit, images: LabelledImages, budget: int, batch_size: int = BATCH_SIZE
) -> Measurement:
    """Roll a fitted pursuit out on all images, in batches, on its device."""
    check_classes(pursuit.class_names, images.class_names)
    k = len(pursuit.queries)
    if not 1 <= budget <= k:
        raise InputError(f"expected a budget of 1 to {k} queries (the dictionary), found {budget}")
    n = len(images.labels)
    if not n:
        raise InputError("expected at least one image to evaluate on, found none")
    summaries, openings = [], []
    usage = np.zeros((budget, k), dtype=np.int64)
    for start in tqdm(range(0, n, batch_size), desc="evaluate", disable=None):
        rows = slice(start, start + batch_size)
        batch = images.embeddings[rows].to(pursuit.device)
        rolled = pursuit.roll_out(batch, budget)
        summaries.append(summarize(rolled.posteriors, images.labels[rows].to(batch.device)))
        usage += count_usage(rolled.order.cpu().numpy(), k)
        openings.append([part.cpu() for part in opening(rolled, FIRST)])
    return Measurement(
        PosteriorSummary(*(np.concatenate(parts) for parts in zip(*summaries, strict=True))),
        usage,
        RollOut(*(torch.cat(parts) for parts in zip(*openings, strict=True))),
    )


def opening(rolled: RollOut, steps: int) -> RollOut:
    """Return the first steps of a roll-out; a shorter one would have been the same."""
    first = {name: part[:, :steps].clone() for name, part in rolled._asdict().items()}
    return RollOut(**first | {"posteriors": rolled.posteriors[:, : steps + 1].clone()})


def check_classes(of_model: Sequence[str], of_images: Sequence[str]) -> None:
    """Raise InputError unless model and images have the same classes in the same order."""
    if list(of_model) != list(of_images):
        raise InputError(
            f"expected images of the classes that the model knows, {', '.join(of_model)}; "
            f"found {', '.join(of_images)}"
        )


def count_usage(order: Int[np.ndarray, "n t"], k: int) -> Int[np.ndarray, "t k"]:
    """Count how often each of k queries was asked at each step: (T, k) int64 from (n, T)."""
    steps = order.shape[1]
    cells = order + np.arange(steps) * k
    return np.bincount(cells.ravel(), minlength=steps * k).reshape(steps, k)
