"""Fitting naive Bayes: no updates, one pass over the training images.

The rates of the classes come from the training images; the one number that is left, how many
independent answers infinitely many are worth (`AnswerTable.independent_answers`), from images held
out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.answers.moments import ClassMoments
from infopursuit.answers.rates import (
    answer_probabilities,
    count_yes,
    threshold_rates,
    yes_rates,
)
from infopursuit.answers.rules import AnswerRule, ThresholdAnswers
from infopursuit.answers.table import AnswerTable
from infopursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.rollout import images_at_once, roll_out

# Infinitely many answers may be worth so many independent ones.
INDEPENDENT_ANSWERS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, torch.inf)
# What is assumed where no images are held out.
ASSUMED = 16.0
# How many tables of the size of all posteriors are held at once.
TABLES = 4
# Held-out images looked at.
HELD_OUT = 4096

# Posteriors that calibration computes at most; with many classes fewer images are enough.
POSTERIORS, FEWEST = 2**27, 512

Blocks = Iterable[tuple[slice, Float[Tensor, "m d"]]]


def fit_table(
    rule: AnswerRule,
    blocks: Blocks,
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
    moments: ClassMoments | None = None,
) -> AnswerTable:
    """The rates of each answer in each class, untempered.

    Args:
        rule: how images answer.
        blocks: (place, images) of all training images.
        labels: their classes 0..c-1.
        weights: of the images; None for 1 each.
        moments: of the images; with them and a threshold rule rates are drawn towards a Gaussian
            estimate.
    """
    return table_of_counts(rule, *count_yes(at_least(rule, blocks), labels, weights), moments)


def table_of_counts(
    rule: AnswerRule,
    sums: Float[Tensor, "c m"],
    totals: Float[Tensor, "c 1"],
    moments: ClassMoments | None = None,
) -> AnswerTable:
    """The rates of each answer in each class, from counts that may come from many places.

    Args:
        rule: how images answer.
        sums: how many images of each class answer as `at_least` says, float64.
        totals: how many images each class has, float64.
        moments: of the images; as in `fit_table`.
    """
    sums, totals = sums.float(), totals.float()
    prior = (totals / totals.sum()).squeeze(1)
    k = sums.shape[1] // (1 if upper_thresholds(rule) is None else 2)
    counts = sums.split(k, dim=1)
    if moments is None or not isinstance(rule, ThresholdAnswers):
        rates = [yes_rates(each, totals) for each in counts]
    else:
        means = moments.score_means(rule.directions)
        spread = moments.score_spread(rule.directions)
        cuts = [rule.thresholds] if rule.upper is None else [rule.thresholds, rule.upper]
        rates = [
            threshold_rates(each, totals, means, spread, cut)
            for each, cut in zip(counts, cuts, strict=True)
        ]
    return AnswerTable(answer_probabilities(*rates).log(), prior.log())


def upper_thresholds(rule: AnswerRule) -> Float[Tensor, " k"] | None:
    """Where not sure turns to yes; None for a rule without not sure."""
    return rule.upper if isinstance(rule, ThresholdAnswers) else None


def at_least(rule: AnswerRule, blocks: Blocks) -> Iterator[tuple[slice, Tensor]]:
    """(place, (m, k)) of the answers; (m, 2k), not no and then yes, where there are three."""
    for place, images in blocks:
        answers = rule.answers(images)
        if upper_thresholds(rule) is not None:
            answers = torch.cat([answers > 0, answers == 1], dim=1).to(answers.dtype)
        yield place, answers


def calibration_images(budget: int, classes: int) -> int:
    """How many held-out images calibrate: HELD_OUT, or fewer where each costs much."""
    return min(HELD_OUT, max(FEWEST, POSTERIORS // (budget * classes)))


def fit_independence(
    querier: InformationGain,
    answers: Float[Tensor, "n k"],
    labels: Int[Tensor, " n"],
    budget: int,
    weights: Float[Tensor, " n"] | None = None,
) -> tuple[float, float]:
    """The tempering with the least cross-entropy over all budgets, and that cross-entropy.

    Args:
        querier: chooses the queries; its table is untempered.
        answers: of held-out images.
        labels: their classes.
        budget: T >= 1 queries are asked.
        weights: of the images; None for 1 each.
    """
    table = querier.table
    classifier = NaiveBayes(table)
    weights = torch.ones(len(labels)) if weights is None else weights.float()
    losses = torch.zeros(len(INDEPENDENT_ANSWERS), dtype=torch.float64)
    asked = torch.arange(1, budget + 1).unsqueeze(1)
    size = images_at_once(budget, len(table.log_prior)) // TABLES
    for some, truth, weight in zip(
        answers.split(size), labels.split(size), weights.split(size), strict=True
    ):
        rolled = roll_out(querier, classifier, some, budget)
        told = table.log_likelihood[table.level_of(rolled.answers), rolled.order]
        evidence = table.log_prior + told.cumsum(dim=1)
        for place, worth in enumerate(INDEPENDENT_ANSWERS):
            loss = functional.cross_entropy(
                (evidence / (1 + asked / worth)).flatten(0, 1),
                truth.repeat_interleave(budget),
                reduction="none",
            )
            losses[place] += (loss.view(-1, budget).sum(dim=1) * weight).sum()
    best = int(losses.argmin())
    return INDEPENDENT_ANSWERS[best], losses[best].item() / (weights.sum().item() * budget)
