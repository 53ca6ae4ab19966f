"""Fitting naive Bayes: counted rates, tempering, and rates fitted to tell the classes apart.

Counted rates take no updates, only one pass over the training images. The two numbers that are
left, how many independent answers infinitely many are worth (`AnswerTable.independent_answers`)
and what each counts (`evidence_weight`), come from images held out; if these are few, also from
fits on three quarters of the others, each of which predicts the fourth (`Tempering`).

A counted rate is the best guess for its question alone. But answers depend on one another given the
class, and what two questions both tell is counted twice. Fitted rates minimise

    mean over histories S of -log P(y | S)
        + HELD / n * sum over queries i and classes y of KL(counted(. | i, y) || P(. | i, y))

over tables of n training images: each counted rate weighs as much as HELD images. This is extended
logistic regression (Greiner, Su, Shen and Zhou, "Structural extension to logistic regression",
Machine Learning 59, 2005), with a penalty. Half of the histories have all answers, the other half
the first t that the querier of the counted table asks for, t drawn from 1 to LONGEST. The result is
a table of probabilities, as the counted one is: evidence still adds up, one answer at a time, and
queries can still be left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor
from torch.nn import functional

from infopursuit.pursuit.answers.moments import ClassMoments
from infopursuit.pursuit.answers.rules import GAP, AnswerRule, ColumnAnswers, ThresholdAnswers
from infopursuit.pursuit.answers.table import (
    LEVEL,
    AnswerTable,
    answer_probabilities,
    count_yes,
    threshold_rates,
    yes_rates,
)
from infopursuit.pursuit.naive_bayes.model import InformationGain
from infopursuit.pursuit.rollout import asked_orders, images_at_once

# How many independent answers infinitely many may be worth, and what each may count.
INDEPENDENT_ANSWERS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, torch.inf)
EVIDENCE_WEIGHTS = (1.0, 0.8, 0.6, 0.45, 0.3)
# The divisor of fitted rates takes answers to be worth this many.
ASSUMED = 16.0
# If fewer different images are held out, those learned from are predicted, too: each of so many
# parts by a fit on the others; classes need this many images for that.
FEW_HELD_OUT, FOLDS, FEWEST_OF_A_CLASS = 64, 4, 3
# How many tables of the size of all posteriors are held at once.
TABLES = 4
# Held-out images that calibrate; fewer if that takes more posteriors than these, but not too few.
HELD_OUT = 4096
CALIBRATION_POSTERIORS, FEWEST_HELD_OUT = 2**27, 512

# Images that rates are fitted on at most, and those of them that are asked questions.
FITTED_ON, ASKED = 32768, 4096
HELD = 1.0
LONGEST = 64
# Adam's; the rate falls to zero in a line.
UPDATES, BATCH, RATE = 200, 1024, 0.02

Blocks = Iterable[tuple[slice, Float[Tensor, "m d"]]]


def fit_table(
    rule: AnswerRule,
    blocks: Blocks,
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
    moments: ClassMoments | None = None,
) -> AnswerTable:
    """Return the rates of each answer in each class, untempered.

    Args:
        rule: how images answer.
        blocks: (place, images) of all training images.
        labels: their classes 0..c-1.
        weights: of the images; None for 1 each.
        moments: of the images; with them and a threshold rule, rates are drawn towards a Gaussian
            estimate.
    """
    return table_of_counts(rule, *count_yes(at_least(rule, blocks), labels, weights), moments)


def table_of_counts(
    rule: AnswerRule,
    sums: Float[Tensor, "c m"],
    totals: Float[Tensor, "c 1"],
    moments: ClassMoments | None = None,
) -> AnswerTable:
    """Return the rates of each answer in each class, from counts added up anywhere.

    Args:
        rule: how images answer.
        sums: how many images of each class answer as `at_least` says, float64.
        totals: how many images each class has, float64.
        moments: of the images; as in `fit_table`.
    """
    sums, totals = sums.float(), totals.float()
    prior = (totals / totals.sum()).squeeze(1)
    if isinstance(rule, ColumnAnswers):
        yes, answered = sums.chunk(2, dim=1)
        rates = [yes_rates(yes, answered)]
        return AnswerTable(answer_probabilities(*rates).log(), prior.log())
    k = sums.shape[1] // (1 if _upper_thresholds(rule) is None else 2)
    counts = sums.split(k, dim=1)
    if moments is None or not isinstance(rule, ThresholdAnswers):
        rates = [yes_rates(each, totals) for each in counts]
    else:
        means = moments.score_means(rule.directions)
        spread = moments.predictive_spread(rule.directions)
        cuts = [rule.thresholds] if rule.upper is None else [rule.thresholds, rule.upper]
        rates = [
            threshold_rates(each, totals, means, spread, cut)
            for each, cut in zip(counts, cuts, strict=True)
        ]
    return AnswerTable(answer_probabilities(*rates).log(), prior.log())


def _upper_thresholds(rule: AnswerRule) -> Float[Tensor, " k"] | None:
    """Return where not sure turns to yes; None for a rule without not sure."""
    return rule.upper if isinstance(rule, ThresholdAnswers) else None


def at_least(rule: AnswerRule, blocks: Blocks) -> Iterator[tuple[slice, Tensor]]:
    """Yield (place, (m, k) answers); of three answers (m, 2k): if not a no, and if a yes.

    Of columns (m, 2k): if a yes, and if there is an answer.
    """
    for place, images in blocks:
        answers = rule.answers(images)
        if isinstance(rule, ColumnAnswers):
            answers = torch.cat([answers == 1, answers != GAP], dim=1).to(answers.dtype)
        if _upper_thresholds(rule) is not None:
            answers = torch.cat([answers > 0, answers == 1], dim=1).to(answers.dtype)
        yield place, answers


def calibration_images(budget: int, classes: int) -> int:
    """Return how many held-out images calibrate: HELD_OUT, or fewer if each costs much."""
    return min(HELD_OUT, max(FEWEST_HELD_OUT, CALIBRATION_POSTERIORS // (budget * classes)))


class Tempering(NamedTuple):
    """How much evidence counts: `AnswerTable.independent_answers` and `evidence_weight`."""

    independent_answers: float
    evidence_weight: float

    def of(self, table: AnswerTable) -> AnswerTable:
        """Return a table with this tempering."""
        return replace(table, **self._asdict())


# Without images to fit it on: near the best with one or two images of a class
# (docs/findings.md, "Few images").
ASSUMED_TEMPERING = Tempering(32.0, 0.6)


class HeldOut(NamedTuple):
    """Held-out images, and the untempered querier that was fitted without them.

    Attributes:
        querier: chooses the queries.
        answers: in [0, 1].
        labels: classes 0..c-1.
        weights: of the images; None for 1 each.
    """

    querier: InformationGain
    answers: Float[Tensor, "n k"]
    labels: Int[Tensor, " n"]
    weights: Float[Tensor, " n"] | None


def fit_tempering(
    held_out: Iterable[HeldOut], budget: int, evidence_weights: Sequence[float] = EVIDENCE_WEIGHTS
) -> tuple[Tempering, float]:
    """Return the tempering with the least cross-entropy over all budgets, and that cross-entropy.

    Args:
        held_out: images with the querier that was fitted without them.
        budget: T >= 1 queries are asked, all if there are fewer.
        evidence_weights: to choose from.
    """
    choices = [
        Tempering(independent, weight)
        for weight in evidence_weights
        for independent in INDEPENDENT_ANSWERS
    ]
    losses, total = torch.zeros(len(choices), dtype=torch.float64), 0.0
    for querier, answers, labels, given in held_out:
        longest = min(budget, answers.shape[1])
        weights = torch.ones(len(labels)) if given is None else given.float()
        asked = torch.arange(1, longest + 1).unsqueeze(1)
        size = images_at_once(longest, len(querier.table.log_prior)) // TABLES
        for some, truth, weight in zip(
            answers.split(size), labels.split(size), weights.split(size), strict=True
        ):
            order = asked_orders(querier, some, longest)
            level = querier.table.level_of(some.gather(1, order))
            likelihood = querier.table.log_likelihood[level, order]
            evidence = querier.table.log_prior + likelihood.cumsum(dim=1)
            for place, choice in enumerate(choices):
                loss = functional.cross_entropy(
                    (evidence / choice.of(querier.table).divisor(asked)).flatten(0, 1),
                    truth.repeat_interleave(longest),
                    reduction="none",
                )
                losses[place] += (loss.view(-1, longest).sum(dim=1) * weight).sum()
        total += weights.sum().item() * longest
    best = int(losses.argmin())
    return choices[best], losses[best].item() / total


def fit_rates(
    querier: InformationGain,
    answers: Float[Tensor, "n k"],
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
    seed: int = 0,
) -> AnswerTable:
    """Return the table whose rates tell the classes apart, untempered.

    Args:
        querier: with the counted table; chooses the questions of short histories.
        answers: of training images.
        labels: their classes 0..c-1.
        weights: of the images; None for 1 each.
        seed: of the histories.
    """
    counted = querier.table
    start = counted.log_likelihood.float()
    level = counted.level_of(answers).to(torch.uint8)
    known = ((answers * (counted.levels - 1) - level).abs() < LEVEL).float()  # a gap tells nothing
    k, generator = answers.shape[1], torch.Generator().manual_seed(seed)
    asked = torch.randperm(len(labels), generator=generator)[:ASKED]
    orders = asked_orders(querier, answers[asked], min(LONGEST, k))
    prior = counted.log_prior.float()
    weights = torch.ones(len(labels)) if weights is None else weights.float()
    images = weights.sum()
    logits = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, UPDATES)
    half = min(BATCH // 2, len(labels))
    for _ in range(UPDATES):
        long = torch.randperm(len(labels), generator=generator)[:half]
        short = torch.randperm(len(asked), generator=generator)[:half]
        rows = torch.cat([long, asked[short]])
        mask = torch.cat([torch.ones(len(long), k), _prefixes(orders[short], k, generator)])
        table = logits.log_softmax(dim=0)
        evidence = _evidence(table, prior, level[rows], mask * known[rows])
        divisor = 1 + mask.sum(dim=1, keepdim=True) / ASSUMED
        losses = functional.cross_entropy(evidence / divisor, labels[rows], reduction="none")
        loss = (losses * weights[rows]).sum() / weights[rows].sum()
        loss = loss + HELD / images * (start.exp() * (start - table)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        return replace(counted, log_likelihood=logits.log_softmax(dim=0))


def _prefixes(
    orders: Int[Tensor, "b T"], k: int, generator: torch.Generator
) -> Float[Tensor, "b k"]:
    """Return masks of the first t queries of each order, t drawn from 1 to T."""
    longest = orders.shape[1]
    lengths = torch.randint(1, longest + 1, (len(orders), 1), generator=generator)
    inside = (torch.arange(longest) < lengths).float()
    return torch.zeros(len(orders), k).scatter_(1, orders, inside)


def _evidence(
    table: Float[Tensor, "v k c"],
    prior: Float[Tensor, " c"],
    level: UInt8[Tensor, "b k"],
    mask: Float[Tensor, "b k"],
) -> Float[Tensor, "b c"]:
    """Compute `AnswerTable.evidence` with gradients, for answers at levels."""
    total = prior.expand(len(level), -1)
    for number, rates in enumerate(table):
        total = total + (mask * (level == number)) @ rates
    return total
