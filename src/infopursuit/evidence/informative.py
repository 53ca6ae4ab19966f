"""The k texts of a universe whose answers tell most of the class together (`informative`).

Texts that CLIP hardly tells from the mean text in these images are left out (`heard_rows`). Of the
others twice as many as needed are chosen by forward selection; then those go that gain least when
Information Pursuit may ask what it likes, a quarter at a time.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from tqdm import tqdm

from infopursuit.evidence.forward_selection import forward_selection
from infopursuit.evidence.information import class_prior, credited_information
from infopursuit.evidence.rates import score_rates
from infopursuit.evidence.score_map import ScoreMap, fit_score_map
from infopursuit.evidence.thresholds import fit_thresholds

# A text says little of any image where its scores vary less than this share of what those of one
# text in ten exceed. (Not of the median, which falls where much of a universe says little.)
FAINT = 1 / 3
# Texts whose answers are held at once; of a larger universe those most informative alone.
CANDIDATES = 8192
# Images looked at, a random sample of more.
IMAGES = 4096
# Images rolled out to see which queries are asked.
ROLLED_OUT = 1024
# Sizes of the dictionary on the way to k, in units of k.
SIZES = (2.0, 1.6, 1.25)
# Queries asked of an image, k where that is less.
BUDGET = 128


def informative_rows(
    universe: Float[Tensor, "u d"],
    images: Float[Tensor, "n d"],
    labels: Int[Tensor, " n"],
    k: int,
    seed: int,
) -> Int[Tensor, " k"]:
    """Rows of k texts, sorted.

    Args:
        universe: unit norm, of any float type; read in blocks.
        images: training images, unit norm.
        labels: their classes 0..c-1.
        k: at most u.
        seed: of the samples of images, where there are many.
    """
    generator = torch.Generator().manual_seed(seed)
    score_map = fit_score_map(universe, images, labels)
    if len(images) > IMAGES:
        sample = _sample(labels, IMAGES, generator)
        images, labels = images[sample], labels[sample]
    heard = heard_rows(universe, score_map.centre, images, k)
    rows = _candidates(universe, heard, score_map, images, labels)
    scores = images @ score_map.directions(universe[rows].float()).T
    thresholds = fit_thresholds(scores, labels).values
    answers = (scores > thresholds).float()
    chosen = forward_selection(answers, labels, round(SIZES[0] * k))
    chosen = torch.tensor(_filled(chosen, len(rows), k))

    rates = score_rates(scores, thresholds, labels)
    shown = _sample(labels, ROLLED_OUT, generator)
    for size in (*(round(share * k) for share in SIZES[1:]), k):
        if len(chosen) > size:
            credit = credited_information(
                answers[shown][:, chosen], rates[:, chosen], class_prior(labels), min(BUDGET, k)
            )
            chosen = chosen[credit.argsort(descending=True, stable=True)[:size].sort().values]
    return rows[chosen].sort().values


def heard_rows(
    universe: Float[Tensor, "u d"],
    centre: Float[Tensor, " d"],
    images: Float[Tensor, "n d"],
    k: int,
) -> Int[Tensor, " m"]:
    """Rows of the texts whose scores vary among the images, sorted; at least k.

    An answer only asks if a score is above a threshold, so that any text splits the images, one
    that has nothing to do with them too, such as "therefore": its embedding is near the mean text
    and its scores hardly differ. The scale of scores tells the two apart, which thresholds ignore.

    Args:
        universe: unit norm, of any float type; read in blocks.
        centre: the mean text.
        images: unit norm.
        k: at most u.
    """
    deviations = images - images.mean(dim=0)
    covariance = deviations.T @ deviations / len(images)

    def variance(texts: Tensor) -> Tensor:
        directions = texts.float() - centre
        return (directions @ covariance * directions).sum(dim=1).clamp_min(0)

    spread = torch.cat([variance(block) for block in universe.split(CANDIDATES)]).sqrt()
    order = spread.argsort(descending=True, stable=True)
    heard = int((spread >= FAINT * spread[order[len(order) // 10]]).sum())
    return order[: max(heard, k)].sort().values


def _candidates(
    universe: Tensor, rows: Tensor, score_map: ScoreMap, images: Tensor, labels: Tensor
) -> Tensor:
    """Of the given rows those of the texts most informative alone, sorted; all where few."""
    if len(rows) <= CANDIDATES:
        return rows
    told = [
        fit_thresholds(images @ score_map.directions(universe[block].float()).T, labels).information
        for block in tqdm(rows.split(CANDIDATES), "screening", unit="block", disable=None)
    ]
    best = torch.cat(told).argsort(descending=True, stable=True)[:CANDIDATES]
    return rows[best.sort().values]


def _filled(chosen: list[int], count: int, k: int) -> list[int]:
    """At least k columns: where forward selection found fewer that add anything, the next ones."""
    others = (column for column in range(count) if column not in set(chosen))
    return chosen + [column for column, _ in zip(others, range(k - len(chosen)), strict=False)]


def _sample(labels: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """Sorted places of at most `size` images, of each class as many as of any other, or all."""
    order = torch.randperm(len(labels), generator=generator)
    turn = torch.empty_like(labels)
    for label in range(int(labels.max()) + 1):
        places = order[labels[order] == label]
        turn[places] = torch.arange(len(places))
    return turn.argsort(stable=True)[:size].sort().values
