"""Plain baselines: a logistic regression on the answers to texts that are all asked, in one order.

What a querier and a learned dictionary must beat. An image says yes to a text where its cosine,
less that with the mean text of the universe, is above the median of the training images. The texts
are drawn at random, or chosen one by one by forward selection (orthogonal matching pursuit).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from tqdm import tqdm

from infopursuit.errors import InputError
from infopursuit.evaluation.baselines import linear_probe
from infopursuit.evaluation.bootstrap import seed_means, two_level_intervals
from infopursuit.evaluation.run_metrics import BUDGETS
from infopursuit.evidence.forward_selection import forward_selection
from infopursuit.evidence.thresholds import fit_thresholds
from infopursuit.pursuit.images import LabelledImages, hold_out

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


class PlainBaselines(NamedTuple):
    """Whether test images are classified correctly, for each number t of texts asked.

    Attributes:
        random: of s draws; the texts at a smaller t are the first of those at a larger.
        greedy: of the one order that forward selection found.
    """

    random: dict[int, Bool[np.ndarray, "s n"]]
    greedy: dict[int, Bool[np.ndarray, "1 n"]]


def plain_baselines(
    universe: Float[Tensor, "u d"],
    train: LabelledImages,
    held_out: LabelledImages,
    test: LabelledImages,
    budget: int,
    seed: int,
) -> PlainBaselines:
    """Both baselines at every t of BUDGETS below `budget`, and at `budget`.

    Thresholds and texts come from `train`, each regression's penalty from `held_out`; its weights
    are fitted on both.

    Args:
        universe: unit norm, of any float type; read in blocks.
        budget: T, the most texts asked.
        seed: of the random texts and of the sample of images.

    Raises:
        InputError: the universe has fewer than T texts.
    """
    if budget > len(universe):
        raise InputError(
            f"a budget of {budget} texts; expected at most {len(universe)}, the whole universe"
        )
    centre = mean_text(universe)
    generator = torch.Generator().manual_seed(seed)
    draws = [torch.randperm(len(universe), generator=generator)[:budget] for _ in range(DRAWS)]
    greedy = greedy_rows(universe, centre, stratified_sample(train, seed), budget)

    def correct(orders: Sequence[Tensor], name: str) -> dict[int, np.ndarray]:
        answered = [
            plain_answers(universe[rows].float() - centre, [train, held_out, test])
            for rows in orders
        ]
        budgets = tqdm([t for t in BUDGETS if t < budget] + [budget], desc=name, disable=None)
        return {t: np.stack([_correct(splits, t) for splits in answered]) for t in budgets}

    return PlainBaselines(correct(draws, "random texts"), correct([greedy], "chosen texts"))


def mean_text(universe: Float[Tensor, "u d"]) -> Float[Tensor, " d"]:
    """The mean of all texts, in float32."""
    total = torch.zeros(universe.shape[1], dtype=torch.float64)
    for block in universe.split(BLOCK):
        total += block.double().sum(dim=0)
    return (total / len(universe)).float()


def plain_answers(
    directions: Float[Tensor, "m d"], splits: Sequence[LabelledImages]
) -> list[LabelledImages]:
    """The images of every split with their answers (n, m) in {0, 1} in place of embeddings.

    Args:
        directions: texts less the mean text.
        splits: the training images, whose medians are the thresholds, and others.
    """
    scores = [images.embeddings @ directions.T for images in splits]
    medians = scores[0].median(dim=0).values
    return [
        replace(images, embeddings=(of_images > medians).float())
        for images, of_images in zip(splits, scores, strict=True)
    ]


def greedy_rows(
    universe: Float[Tensor, "u d"],
    centre: Float[Tensor, " d"],
    images: LabelledImages,
    count: int,
) -> Int[Tensor, " m"]:
    """Rows of `count` texts in the order of their choice; fewer where the rest adds nothing."""
    candidates = torch.arange(len(universe))
    if len(universe) > CANDIDATES:
        told = [
            fit_thresholds(
                images.embeddings @ (block.float() - centre).T, images.labels, (0.5,)
            ).information
            for block in universe.split(BLOCK)
        ]
        candidates = torch.cat(told).argsort(descending=True, stable=True)[:CANDIDATES]
    (answered,) = plain_answers(universe[candidates].float() - centre, [images])
    return candidates[forward_selection(answered.embeddings, images.labels, count)]


def stratified_sample(images: LabelledImages, seed: int) -> LabelledImages:
    """About IMAGES images of the classes' shares, or all."""
    if len(images.ids) <= IMAGES:
        return images
    return hold_out(images, IMAGES / len(images.ids), seed)[1]


def plain_metrics(baselines: PlainBaselines, budget: int, resamples: int) -> dict[str, float]:
    """Accuracies in [0, 1] at each t and at T, there with the 95 % interval.

    The interval of random texts is over draws and test images, that of chosen ones over images.
    """
    metrics: dict[str, float] = {}
    for name, correct in baselines._asdict().items():
        for t in BUDGETS:
            if t in correct:
                metrics[f"plain_{name}_at_{t}"] = float(correct[t].mean())
        (found,) = two_level_intervals(seed_means(correct[budget][:, :, None], resamples))
        metrics[f"plain_{name}_at_T"] = found.value
        metrics[f"plain_{name}_at_T_low"] = found.low
        metrics[f"plain_{name}_at_T_high"] = found.high
    return metrics


def _correct(splits: Sequence[LabelledImages], t: int) -> Bool[np.ndarray, " n"]:
    """Of a regression on the first t answers."""
    train, held_out, test = (
        replace(images, embeddings=images.embeddings[:, :t]) for images in splits
    )
    return linear_probe(train, held_out, test, STRENGTHS).correct
