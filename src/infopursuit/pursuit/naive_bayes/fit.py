"""Fitting naive Bayes: counted rates, tempering, and rates fitted to tell the classes apart.

Counted rates take no updates, only one pass over the training images. The one number that is left,
how many independent answers infinitely many are worth (`AnswerTable.independent_answers`), comes
from images held out.

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

from collections.abc import Iterable, Iterator
from dataclasses import replace

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor
from torch.nn import functional

from infopursuit.pursuit.answers.moments import ClassMoments
from infopursuit.pursuit.answers.rules import AnswerRule, ThresholdAnswers
from infopursuit.pursuit.answers.table import (
    AnswerTable,
    answer_probabilities,
    count_yes,
    threshold_rates,
    yes_rates,
)
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.rollout import asked_orders, images_at_once, roll_out

# How many independent answers infinitely many may be worth, and what is assumed if no images are
# held out.
INDEPENDENT_ANSWERS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, torch.inf)
ASSUMED = 16.0
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
    k = sums.shape[1] // (1 if _upper_thresholds(rule) is None else 2)
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


def _upper_thresholds(rule: AnswerRule) -> Float[Tensor, " k"] | None:
    """Return where not sure turns to yes; None for a rule without not sure."""
    return rule.upper if isinstance(rule, ThresholdAnswers) else None


def at_least(rule: AnswerRule, blocks: Blocks) -> Iterator[tuple[slice, Tensor]]:
    """Yield (place, (m, k) answers); of three answers (m, 2k): if not a no, and if a yes."""
    for place, images in blocks:
        answers = rule.answers(images)
        if _upper_thresholds(rule) is not None:
            answers = torch.cat([answers > 0, answers == 1], dim=1).to(answers.dtype)
        yield place, answers


def calibration_images(budget: int, classes: int) -> int:
    """Return how many held-out images calibrate: HELD_OUT, or fewer if each costs much."""
    return min(HELD_OUT, max(FEWEST_HELD_OUT, CALIBRATION_POSTERIORS // (budget * classes)))


def fit_independence(
    querier: InformationGain,
    answers: Float[Tensor, "n k"],
    labels: Int[Tensor, " n"],
    budget: int,
    weights: Float[Tensor, " n"] | None = None,
) -> tuple[float, float]:
    """Return the tempering with the least cross-entropy over all budgets, and that cross-entropy.

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
        likelihood = table.log_likelihood[table.level_of(rolled.answers), rolled.order]
        evidence = table.log_prior + likelihood.cumsum(dim=1)
        for place, independent in enumerate(INDEPENDENT_ANSWERS):
            loss = functional.cross_entropy(
                (evidence / (1 + asked / independent)).flatten(0, 1),
                truth.repeat_interleave(budget),
                reduction="none",
            )
            losses[place] += (loss.view(-1, budget).sum(dim=1) * weight).sum()
    best = int(losses.argmin())
    return INDEPENDENT_ANSWERS[best], losses[best].item() / (weights.sum().item() * budget)


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
        evidence = _evidence(table, prior, level[rows], mask)
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
