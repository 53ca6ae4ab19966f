"""One pass over the test images: posteriors reduced, asked queries counted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Int
from tqdm import tqdm

from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.evaluation.posteriors import PosteriorSummary, join, summarize
from infopursuit.pursuit.pursuit import Pursuit

BATCH_SIZE = 512


class Measurement(NamedTuple):
    """What a test pass found.

    Attributes:
        summary: of the posteriors after t = 0..T queries, images in their order.
        usage: (T, k) int64, how many images were asked query i as their t-th.
    """

    summary: PosteriorSummary
    usage: Int[np.ndarray, "t k"]


def measure(
    pursuit: Pursuit, images: LabelledImages, budget: int, batch_size: int = BATCH_SIZE
) -> Measurement:
    """Roll a fitted pursuit out on all images, in batches, on its device.

    Args:
        pursuit: what asks and judges.
        images: at least one labelled image, with the classes the model was trained on.
        budget: T >= 1, at most k.
        batch_size: images whose posteriors are held at once.

    Raises:
        InputError: there is no image, the budget is not in 1..k, the classes of images and model
            differ, or a posterior is NaN.
    """
    check_classes(pursuit.class_names, images.class_names)
    k = len(pursuit.queries)
    if not 1 <= budget <= k:
        raise InputError(
            f"a budget of {budget} queries; expected 1 to {k}, the size of the dictionary"
        )
    n = len(images.labels)
    if not n:
        raise InputError("no images to evaluate on; expected at least one")
    device = pursuit.device
    parts = []
    usage = np.zeros((budget, k), dtype=np.int64)
    for start in tqdm(range(0, n, batch_size), desc="evaluate", disable=None):
        rows = slice(start, start + batch_size)
        found = pursuit.roll_out(images.embeddings[rows].to(device), budget)
        try:
            parts.append(summarize(found.posteriors, images.labels[rows].to(device)))
        except ValueError as error:
            raise InputError(
                f"the model, asked about image {images.ids[start]!r} or one of the "
                f"{batch_size - 1} after it: {error}"
            ) from error
        usage += count_usage(found.order.cpu().numpy(), k)
    return Measurement(join(parts), usage)


def check_classes(of_model: tuple[str, ...], of_images: tuple[str, ...]) -> None:
    """Raise InputError unless model and images have the same classes in the same order."""
    if len(of_model) != len(of_images):
        raise InputError(
            f"the model knows {len(of_model)} classes and the images have {len(of_images)}; "
            "expected the data set that it was trained on"
        )
    for label, (known, found) in enumerate(zip(of_model, of_images, strict=True)):
        if known != found:
            raise InputError(
                f"class {label} is {known!r} to the model and {found!r} in the images; "
                "expected the data set that it was trained on"
            )


def count_usage(order: Int[np.ndarray, "n t"], k: int) -> Int[np.ndarray, "t k"]:
    """How often each of k queries was asked at each step: (T, k) int64 from (n, T) indices."""
    steps = order.shape[1]
    cells = order + np.arange(steps) * k
    return np.bincount(cells.ravel(), minlength=steps * k).reshape(steps, k)
