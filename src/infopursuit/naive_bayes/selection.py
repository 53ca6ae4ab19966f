"""The k queries whose answers tell most of the class together (`informative`).

Texts whose scores hardly differ among the images are left out (`responsive_rows`). Of the others
twice as many as needed are chosen by forward selection; then those go that gain least when
Information Pursuit may ask what it likes, a quarter at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.answers.moments import ClassMoments
from infopursuit.answers.rules import ThresholdAnswers
from infopursuit.answers.table import AnswerTable
from infopursuit.answers.text_directions import TextDirections
from infopursuit.answers.thresholds import ThresholdFit
from infopursuit.datasets.rows import Rows, UnitRows
from infopursuit.datasets.samples import even_sample
from infopursuit.dictionary.forward_selection import forward_selection
from infopursuit.executors import RayCluster
from infopursuit.naive_bayes.fit import fit_table
from infopursuit.naive_bayes.model import InformationGain
from infopursuit.naive_bayes.screening import Screening, TextSource
from infopursuit.pursuit.rollout import Asking

# A text says little of any image where its scores vary less than this share of what those of one
# text in ten exceed. (Not of the median, which falls where much of a universe says little.)
FAINT = 1 / 3
# Texts whose answers are held at once; of a larger universe those most informative alone.
CANDIDATES = 8192
# Images looked at, a random sample of more: so many, or so many of each class.
IMAGES, IMAGES_PER_CLASS = 4096, 8
# Images rolled out to see which queries are asked.
ROLLED_OUT = 1024
# Sizes of the dictionary on the way to k, in units of k.
SIZES = (2.0, 1.6, 1.25)
# Queries asked of an image, k where that is less.
BUDGET = 128

# What the information of m texts counts, given their rows in the universe and, where they were
# measured, how well their scores rank images (`Directions.auroc`) and how classes answer them.
Worth = Callable[
    [Int[Tensor, " m"], Float[Tensor, " m"] | None, AnswerTable | None], Float[Tensor, " m"]
]


def informative_rows(
    universe: UnitRows,
    images: Rows,
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None,
    text_directions: TextDirections,
    moments: ClassMoments,
    k: int,
    seed: int,
    thresholds: ThresholdFit,
    allowed: Bool[Tensor, " u"] | None = None,
    worth: Worth | None = None,
    source: TextSource | None = None,
    cluster: RayCluster | None = None,
) -> Int[Tensor, " k"]:
    """Rows of k texts, sorted.

    Args:
        universe: all texts.
        images: training images.
        labels: their classes 0..c-1.
        weights: of the images; None for 1 each.
        text_directions: how texts become directions.
        moments: of the images.
        k: at most the number of allowed texts.
        seed: of the samples of images, where there are many.
        thresholds: how they are found.
        allowed: which texts may be chosen; None for all.
        worth: what the information of texts counts; None for 1 each.
        source: where workers find the texts; None where none are asked.
        cluster: whose workers screen the texts; None for this process.
    """
    generator = torch.Generator().manual_seed(seed)
    sample = even_sample(labels, screened_images(len(moments.weights)), generator)
    shown, labels = images.take(sample), labels[sample]
    weights = None if weights is None else weights[sample]
    rows = responsive_rows(universe, text_directions.centre, shown, k, allowed)
    source = TextSource(universe.as_stored()) if source is None else source
    screening = Screening(source, text_directions.maps[0], shown, labels, weights, thresholds)
    rows = _candidates(rows, screening, worth, cluster)
    directions, auroc = text_directions.fitted(rows, universe.take(rows), shown, labels, weights)
    found = thresholds.of(rows, shown @ directions.T, labels, weights)
    rule = ThresholdAnswers(directions, found.values, found.upper)
    table = fit_table(rule, [(slice(None), shown)], labels, weights, moments)
    counts = None if worth is None else worth(rows, auroc, table)
    chosen = chosen_columns(rule.answers(shown), table, labels, weights, k, generator, 0.0, counts)
    return rows[chosen].sort().values


def screened_images(classes: int) -> int:
    """On how many images texts are screened at most."""
    return max(IMAGES, IMAGES_PER_CLASS * classes)


def chosen_columns(
    answers: Float[Tensor, "n m"],
    table: AnswerTable,
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None,
    k: int,
    generator: torch.Generator,
    ties: float = 0.0,
    worth: Float[Tensor, " m"] | None = None,
) -> Int[Tensor, " k"]:
    """k of m questions (all where m <= k): forward selection, then pruning by what is asked.

    Args:
        answers: of n images, in [0, 1].
        table: how probable they are in each class.
        labels: classes 0..c-1.
        weights: of the images; None for 1 each.
        k: how many.
        generator: draws the images that are rolled out, where there are many.
        ties: questions whose gains differ by no more than this share are equal.
        worth: what the information of each question counts; None for 1 each.
    """
    chosen = forward_selection(answers, labels, round(SIZES[0] * k), weights, ties, worth)
    chosen = torch.tensor(_filled(chosen, answers.shape[1], k))
    weights = torch.ones(len(labels), dtype=torch.float64) if weights is None else weights
    shown = even_sample(labels, ROLLED_OUT, generator)
    for size in (*(round(share * k) for share in SIZES[1:]), k):
        if len(chosen) > size:
            asked = answers[shown][:, chosen].float()
            querier = InformationGain(table, worth).select(chosen)
            credit = _credit(querier, asked, weights[shown], min(BUDGET, k))
            chosen = chosen[credit.argsort(descending=True, stable=True)[:size].sort().values]
    return chosen


def responsive_rows(
    universe: UnitRows,
    centre: Float[Tensor, " d"],
    images: Float[Tensor, "n d"],
    k: int,
    allowed: Bool[Tensor, " u"] | None = None,
) -> Int[Tensor, " m"]:
    """Rows of the texts whose scores vary among the images, sorted; at least k.

    An answer only asks if a score is above a threshold, so that any text splits the images, one
    that has nothing to do with them too, such as "therefore": its embedding is near the mean text
    and its scores hardly differ. The scale of scores tells the two apart, which thresholds ignore.

    Args:
        universe: all texts.
        centre: the mean text.
        images: unit norm.
        k: at most the number of allowed texts.
        allowed: which texts may be chosen; None for all.
    """
    deviations = images - images.mean(dim=0)
    covariance = deviations.T @ deviations / len(images)

    def variance(texts: Tensor) -> Tensor:
        directions = texts - centre
        return (directions @ covariance * directions).sum(dim=1).clamp_min(0)

    spread = torch.cat([variance(block) for _, block in universe.blocks(CANDIDATES)]).sqrt()
    order = spread.argsort(descending=True, stable=True)
    least = FAINT * spread[order[len(order) // 10]]
    if allowed is not None:
        order = order[allowed[order]]
    responsive = int((spread[order] >= least).sum())
    return order[: max(responsive, k)].sort().values


def _candidates(
    rows: Tensor, screening: Screening, worth: Worth | None, cluster: RayCluster | None = None
) -> Tensor:
    """Of the given rows those of the texts most informative alone, sorted; all where few."""
    if len(rows) <= CANDIDATES:
        return rows
    told = screening.information(rows, cluster)
    if worth is not None:
        told = told * torch.cat([worth(block, None, None) for block in rows.split(CANDIDATES)])
    best = told.argsort(descending=True, stable=True)[:CANDIDATES]
    return rows[best.sort().values]


def _credit(querier: InformationGain, answers: Tensor, weights: Tensor, budget: int) -> Tensor:
    """(m,) the information that each query gains in roll-outs of `budget` queries."""
    asking = Asking(querier, answers)
    credit = torch.zeros(answers.shape[1], dtype=torch.float64)
    for _ in range(min(budget, answers.shape[1])):
        queries, _, gains = asking.ask(len(answers))
        gained = gains.gather(1, queries.unsqueeze(1)).squeeze(1)
        credit += torch.bincount(queries, gained * weights, minlength=len(credit))
    return credit


def _filled(chosen: list[int], count: int, k: int) -> list[int]:
    """At least k columns: where forward selection found fewer that add anything, the next ones."""
    others = (column for column in range(count) if column not in set(chosen))
    return chosen + [column for column, _ in zip(others, range(k - len(chosen)), strict=False)]
