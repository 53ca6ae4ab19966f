"""A baseline that asks every image the same texts: a logistic regression on their answers.

A querier and a learned dictionary must beat it. An image says yes to a text if its cosine, less
that with the mean text of the universe, is above the median of the training images. The texts are
drawn at random, or chosen one by one by forward selection (orthogonal matching pursuit).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from infopursuit.pursuit.answers.thresholds import fit_thresholds
from infopursuit.pursuit.dictionary.forward_selection import forward_selection
from infopursuit_study.peers.black_boxes import LinearProbe

# How often random texts are drawn.
DRAWS = 5
# Inverse strengths of the penalty on weights of answers in {0, 1}.
STRENGTHS = (0.03, 0.3, 3.0)
# Texts that forward selection chooses from; of a larger universe those most informative alone.
CANDIDATES = 8192
# Images that it looks at, a stratified sample of more.
IMAGES = 4096
# Texts read at once.
BLOCK = 8192


class FixedOrder:
    """A logistic regression on the answers to t texts, all of which every image is asked.

    Attributes:
        medians_: (t,) scores above which an answer is yes.
        probe_: the regression on the answers.
    """

    def __init__(self, directions: Float[Tensor, "t d"]) -> None:
        self.directions = directions

    def fit(self, train: LabelledImages, held_out: LabelledImages) -> FixedOrder:
        """Take the medians from `train`, the penalty from `held_out`, the weights from both."""
        self.medians_ = (train.embeddings @ self.directions.T).median(dim=0).values
        answered = (
            replace(images, embeddings=self.answers(images.embeddings))
            for images in (train, held_out)
        )
        self.probe_ = LinearProbe(STRENGTHS).fit(*answered)
        return self

    def answers(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n t"]:
        """Return the answers of images: 1 for yes, 0 for no."""
        return (embeddings @ self.directions.T > self.medians_).float()

    def predict(self, embeddings: Float[Tensor, "n d"]) -> Int[np.ndarray, " n"]:
        """Return the most probable label of each image."""
        return self.probe_.predict(self.answers(embeddings))


def text_orders(
    universe: Float[Tensor, "u d"], train: LabelledImages, count: int, seed: int
) -> dict[str, list[Float[Tensor, "_ d"]]]:
    """Return orders of texts to ask: `random_texts` DRAWS times, `selected_texts` once.

    Returns:
        Directions for `FixedOrder`, `count` in each order; fewer selected texts if the rest adds
        nothing.
    """
    if count > len(universe):
        raise InputError(
            f"a budget of {count} texts; expected at most {len(universe)}, the whole universe"
        )
    centre = mean_text(universe)
    generator = torch.Generator().manual_seed(seed)
    draws = [torch.randperm(len(universe), generator=generator)[:count] for _ in range(DRAWS)]
    selected = selected_rows(universe, centre, stratified_sample(train, seed), count)
    return {
        "random_texts": [universe[rows].float() - centre for rows in draws],
        "selected_texts": [universe[selected].float() - centre],
    }


def mean_text(universe: Float[Tensor, "u d"]) -> Float[Tensor, " d"]:
    """Return the mean of all texts, in float32."""
    total = torch.zeros(universe.shape[1], dtype=torch.float64)
    for block in universe.split(BLOCK):
        total += block.double().sum(dim=0)
    return (total / len(universe)).float()


def selected_rows(
    universe: Float[Tensor, "u d"], centre: Float[Tensor, " d"], images: LabelledImages, count: int
) -> Int[Tensor, " m"]:
    """Return rows of `count` texts in the order of choice; fewer if the rest adds nothing."""
    candidates = torch.arange(len(universe))
    if len(universe) > CANDIDATES:
        information = [
            fit_thresholds(
                images.embeddings @ (block.float() - centre).T, images.labels, shares=(0.5,)
            ).information
            for block in universe.split(BLOCK)
        ]
        candidates = torch.cat(information).argsort(descending=True, stable=True)[:CANDIDATES]
    scores = images.embeddings @ (universe[candidates].float() - centre).T
    answers = (scores > scores.median(dim=0).values).float()
    return candidates[forward_selection(answers, images.labels, count)]


def stratified_sample(images: LabelledImages, seed: int) -> LabelledImages:
    """Return about IMAGES images with the classes' shares, or all."""
    if len(images.ids) <= IMAGES:
        return images
    return hold_out(images, IMAGES / len(images.ids), seed)[1]
