"""The k queries whose answers tell most of the class together (`informative_rows`).

Texts whose scores hardly differ among the images are left out (`responsive_rows`). Of the others
twice as many as needed are chosen by forward selection; then those go that gain least when
Information Pursuit may ask what it likes.

If there are very many texts, those that tell most of the class alone are taken first (`Screening`),
a block of texts at a time. Another machine may do a block: the result has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from tqdm import tqdm

from infopursuit.core.executors import RayCluster, run_shards
from infopursuit.datasets.labelled_images import even_sample
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pursuit.answers.directions import ScoreMap, TextDirections
from infopursuit.pursuit.answers.rules import ThresholdAnswers
from infopursuit.pursuit.answers.table import AnswerTable, count_yes
from infopursuit.pursuit.answers.thresholds import ThresholdFit
from infopursuit.pursuit.dictionary.forward_selection import forward_selection
from infopursuit.pursuit.naive_bayes.credit import credit_of
from infopursuit.pursuit.naive_bayes.fit import levels_reached, table_of_counts
from infopursuit.pursuit.naive_bayes.training_set import TrainingSet, screened_images
from infopursuit.texts.text_table import SharedEmbeddings

# A text is faint if its scores vary less than this share of what those of one text in ten exceed.
# (Not of the median, which falls if much of a universe says little.)
FAINT = 1 / 3
# Texts whose answers are held at once; of a larger universe only the most informative ones are.
CANDIDATES = 8192
# Queries that forward selection chooses, in units of k. Of these the k are kept that gain most when
# this many images are asked (`credit_of`).
POOL, ROLLED_OUT = 2, 512
# Texts of a block for another machine: seconds of its work, and some megabytes of scores.
BLOCK = 8192

# The weights of the information of m texts, given their rows in the universe and, if they were
# measured, how well their scores rank images (`Directions.auroc`) and how classes answer them.
QueryWeights = Callable[
    [Int[Tensor, " m"], Float[Tensor, " m"] | None, AnswerTable | None], Float[Tensor, " m"]
]


@runtime_checkable
class SupervisedConcepts(Protocol):
    """Texts whose answers follow what people say of images (`questions.annotations`)."""

    @property
    def facts(self) -> Mapping[int, dict[str, Any]]:
        """How true the answers are, by the rows of the texts in the universe."""
        ...

    def taught(self, rule: ThresholdAnswers, rows: Sequence[int]) -> ThresholdAnswers:
        """Return the rule of some rows of the universe, with what people teach of them."""
        ...


@dataclass(frozen=True)
class CandidateTexts:
    """The texts of a universe, how each is measured, and what its information counts.

    Attributes:
        universe: all texts.
        directions: how texts become directions.
        thresholds: how these are fitted.
        query_weights: of the information of texts; None for 1 each.
        source: where workers find the texts; None if only this process looks at them.
        annotated: texts that follow the answers of people; None if there are none.
    """

    universe: UnitMatrix
    directions: TextDirections
    thresholds: ThresholdFit
    query_weights: QueryWeights | None = None
    source: SharedEmbeddings | None = None
    annotated: SupervisedConcepts | None = None

    def answer_rule(
        self,
        rows: Int[Tensor, " m"],
        images: Float[Tensor, "n d"],
        labels: Int[Tensor, " n"],
        weights: Float[Tensor, " n"] | None,
    ) -> tuple[ThresholdAnswers, Float[Tensor, " m"]]:
        """Fit how images answer some texts; return it with the AUROC of the texts' scores."""
        texts = self.universe.take(rows)
        directions, auroc = self.directions.fitted(rows, texts, images, labels, weights)
        fitted = self.thresholds.fit(rows, images @ directions.T, labels, weights)
        rule = ThresholdAnswers(directions, *fitted.cuts)
        return rule if self.annotated is None else self.annotated.taught(rule, rows.tolist()), auroc


def informative_rows(
    texts: CandidateTexts,
    images: TrainingSet,
    k: int,
    seed: int,
    allowed: Bool[Tensor, " u"] | None = None,
) -> Int[Tensor, " k"]:
    """Return rows of k texts, sorted.

    Args:
        texts: to choose from.
        images: to choose by; a sample of many is taken. Workers of their cluster screen the texts.
        k: at most the number of allowed texts.
        seed: of the samples of images.
        allowed: which texts may be chosen; None for all.
    """
    generator = torch.Generator().manual_seed(seed)
    measured = measured_texts(texts, images, k, generator, allowed)
    return measured.chosen(k, generator, texts.query_weights)


class MeasuredTexts(NamedTuple):
    """The m texts of a universe that are left after screening, and how n images answer them.

    Attributes:
        rows: in the universe, sorted.
        auroc: how well the scores of each text rank the images (`Directions.auroc`).
        answers: in [0, 1].
        table: how probable they are in each class.
        labels: classes 0..c-1 of the images.
        weights: of the images; None for 1 each.
    """

    rows: Int[Tensor, " m"]
    auroc: Float[Tensor, " m"]
    answers: Float[Tensor, "n m"]
    table: AnswerTable
    labels: Int[Tensor, " n"]
    weights: Float[Tensor, " n"] | None

    def chosen(
        self, k: int, generator: torch.Generator, query_weights: QueryWeights | None
    ) -> Int[Tensor, " k"]:
        """Return the rows of k of the texts, sorted (`chosen_columns`)."""
        arguments = self.rows, self.auroc, self.table
        of_texts = None if query_weights is None else query_weights(*arguments)
        columns = chosen_columns(
            self.answers, self.table, self.labels, self.weights, k, generator, of_texts
        )
        return self.rows[columns].sort().values


def measured_texts(
    texts: CandidateTexts,
    images: TrainingSet,
    k: int,
    generator: torch.Generator,
    allowed: Bool[Tensor, " u"] | None = None,
) -> MeasuredTexts:
    """Screen the texts, and fit how images answer those that are left.

    Args:
        texts: to choose from.
        images: to measure them on; a sample of many is taken.
        k: how many will be chosen.
        generator: draws the sample.
        allowed: which texts may be chosen; None for all.
    """
    shown, labels, weights = _shown(images, generator)
    rows = responsive_rows(texts.universe, texts.directions.centre, shown, k, allowed)
    rows = _most_informative_alone(rows, texts, shown, labels, weights, images.cluster)
    rule, auroc = texts.answer_rule(rows, shown, labels, weights)
    answers = rule.answers(shown)
    counts = count_yes(levels_reached(rule, answers), labels, weights)
    table = table_of_counts(rule, *counts, images.moments)
    return MeasuredTexts(rows, auroc, answers, table, labels, weights)


def candidate_rows(
    texts: CandidateTexts,
    images: TrainingSet,
    count: int,
    k: int,
    seed: int,
    allowed: Bool[Tensor, " u"] | None = None,
) -> Int[Tensor, " m"]:
    """Return rows of at most `count` texts that tell most of the class alone, sorted.

    The other arguments are those of `informative_rows`.
    """
    shown, labels, weights = _shown(images, torch.Generator().manual_seed(seed))
    rows = responsive_rows(texts.universe, texts.directions.centre, shown, k, allowed)
    return _most_informative_alone(rows, texts, shown, labels, weights, images.cluster, count)


def _shown(
    images: TrainingSet, generator: torch.Generator
) -> tuple[Float[Tensor, "n d"], Int[Tensor, " n"], Float[Tensor, " n"] | None]:
    screened = images.to_screen()
    sample = even_sample(screened.labels, screened_images(len(images.classes)), generator)
    weights = None if screened.weights is None else screened.weights[sample]
    return screened.rows.take(sample), screened.labels[sample], weights


def responsive_rows(
    universe: UnitMatrix,
    centre: Float[Tensor, " d"],
    images: Float[Tensor, "n d"],
    k: int,
    allowed: Bool[Tensor, " u"] | None = None,
) -> Int[Tensor, " m"]:
    """Return rows of the texts whose scores vary among the images, sorted; at least k.

    An answer only says if a score is above a threshold, so any text splits the images, even one
    that has nothing to do with them, such as "therefore": its embedding is near the mean text
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


@dataclass(frozen=True)
class Screening:
    """Measures what each text tells of the class alone, on n images, wherever it is called."""

    source: SharedEmbeddings
    score_map: ScoreMap
    thresholds: ThresholdFit
    images: Float[Tensor, "n d"]
    labels: Int[Tensor, " n"]
    weights: Float[Tensor, " n"] | None

    def __call__(self) -> Callable[[Int[Tensor, " m"]], Float[Tensor, " m"]]:
        """Open the texts; return what screens some of them, given by their rows."""
        values = self.source.tensor()

        def screen(rows: Int[Tensor, " m"]) -> Float[Tensor, " m"]:
            texts = UnitMatrix.of_checked(values[rows])
            scores = self.images @ self.score_map.directions(texts).T
            return self.thresholds.fit(rows, scores, self.labels, self.weights).information

        return screen


def _most_informative_alone(
    rows: Tensor,
    texts: CandidateTexts,
    images: Tensor,
    labels: Tensor,
    weights: Tensor | None,
    cluster: RayCluster | None = None,
    count: int | None = None,
) -> Tensor:
    """Return `count` (None for CANDIDATES) of the given rows, sorted: those that tell most alone.

    All if they are few.

    Workers of a cluster measure the texts, or this process.
    """
    count = CANDIDATES if count is None else count
    if len(rows) <= count:
        return rows
    source = texts.source or SharedEmbeddings(texts.universe.as_stored())
    score_map = texts.directions.maps[0]
    screening = Screening(source, score_map, texts.thresholds, images, labels, weights)
    parts = list(enumerate(rows.split(BLOCK)))
    with closing(run_shards(screening, parts, cluster)) as done:
        measured = dict(tqdm(done, "screening texts", total=len(parts), unit="block", disable=None))
    information = torch.cat([measured[number] for number, _ in parts])
    if texts.query_weights is not None:
        blocks = rows.split(CANDIDATES)
        weighting = torch.cat([texts.query_weights(block, None, None) for block in blocks])
        information = information * weighting
    best = information.argsort(descending=True, stable=True)[:count]
    return rows[best.sort().values]


def chosen_columns(
    answers: Float[Tensor, "n m"],
    table: AnswerTable,
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None,
    k: int,
    generator: torch.Generator,
    query_weights: Float[Tensor, " m"] | None = None,
) -> Int[Tensor, " k"]:
    """Return k of m questions (all if m <= k): forward selection, then pruning by what is asked.

    Args:
        answers: of n images, in [0, 1].
        table: how probable they are in each class.
        labels: classes 0..c-1.
        weights: of the images; None for 1 each.
        k: how many.
        generator: draws the images that are rolled out, if there are many.
        query_weights: of the information of each question; None for 1 each.
    """
    chosen = _useful_columns(answers, labels, POOL * k, weights, query_weights)
    if len(chosen) <= k:
        return chosen
    shown = even_sample(labels, ROLLED_OUT, generator)
    weights = torch.ones(len(labels), dtype=torch.float64) if weights is None else weights
    counts = None if query_weights is None else query_weights[chosen]
    credit = credit_of(table.select(chosen), answers[shown][:, chosen], weights[shown], counts)
    return chosen[credit.argsort(descending=True, stable=True)[:k].sort().values]


def _useful_columns(
    answers: Tensor,
    labels: Tensor,
    count: int,
    weights: Tensor | None,
    query_weights: Tensor | None,
) -> Int[Tensor, " m"]:
    """Return `count` columns by forward selection, begun again on the others when it ends.

    Among n images it ends after n - 1 columns at the latest: the rest are combinations of these.
    They are useful all the same, for images that are not among the n.
    """
    left, chosen = torch.arange(answers.shape[1]), torch.arange(0)
    while len(chosen) < count and len(left):
        these = None if query_weights is None else query_weights[left]
        columns = forward_selection(answers[:, left], labels, count - len(chosen), weights, these)
        if not columns:  # no answer differs among the images: any of the rest will do
            return torch.cat([chosen, left[: count - len(chosen)]])
        chosen = torch.cat([chosen, left[columns]])
        others = torch.ones(len(left), dtype=torch.bool)
        others[columns] = False
        left = left[others]
    return chosen
