"""Fitting naive Bayes: counted rates, and calibration.

Counted rates take no updates, only one pass over the training images. The numbers that are
left, how much evidence counts after how many answers (`Calibration`), come from images held out; if
these are few, also from fits on three quarters of the others, each of which predicts the fourth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import product, starmap
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.pursuit.answers.rules import AnswerRule, ColumnValues
from infopursuit.pursuit.answers.table import (
    LEAST,
    AnswerTable,
    answer_probabilities,
    count_yes,
    yes_rates,
)
from infopursuit.pursuit.naive_bayes.model import InformationGain
from infopursuit.pursuit.rollout import asked_orders, images_at_once
from infopursuit.pursuit.stopping import DEFAULT_STOP

# What calibration is chosen from: m, s, p and q of `AnswerTable`.
INDEPENDENT_ANSWERS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0, 128.0, torch.inf)
EVIDENCE_WEIGHTS = tuple(share / 20 for share in range(32, 4, -1))
GROWTHS = (1.0, 0.75, 0.5)
PRIOR_EXPONENTS = (0.0, 0.5, 1.0)
# Divisors of evidence for which the cross-entropy is computed, and in between a line is drawn.
LEAST_DIVISOR, MOST_DIVISOR, DIVISORS = 0.5, 64.0, 48
# Log-priors that differ by less are even: how much of the prior is kept does not matter.
UNEVEN = 0.1
# Few images say little: the calibration that is assumed without any counts like this many.
ASSUMED_IMAGES = 8.0
# The share of the loss that is of the answers at the stop.
AT_STOP = 0.5
# The ratio of temperatures is 1 plus RATIO over the root of the images of a class.
RATIO = 1.2
# If fewer different images are held out, those learned from are predicted, too: each of this many
# parts by a fit on the others; classes need this many images for that.
FEW_HELD_OUT, FOLDS, FEWEST_OF_A_CLASS = 64, 4, 2
# Held-out images that calibrate; fewer if that takes more posteriors than these, but not too few.
HELD_OUT = 4096
CALIBRATION_POSTERIORS, FEWEST_HELD_OUT = 2**27, 512

# Values of a column: rows spread like all that each class gets; a cell of numbers lends weight to
# its neighbours by a Gaussian of this many cells, in a column of at least four cells (the few of
# others are mostly single values, such as 0 and 1); and answers that nothing gives.
PSEUDO_IMAGES, CELL_WIDTH, FEWEST_NEIGHBOURS, NEVER = 2.0, 0.7, 4, 1e-9
# If gaps tell, at least this share of the rows of a class has a value, and a gap: some symptoms are
# mentioned in one of a thousand consultations.
LEAST_VALUE = 0.001

# Images whose answers are counted at once: few enough that these stay in the cache.
COUNTED = 1024

Blocks = Iterable[tuple[slice, Float[Tensor, "m d"]]]


def fit_table(
    rule: AnswerRule,
    blocks: Blocks,
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
) -> AnswerTable:
    """Return the rates of each answer in each class, uncalibrated.

    Args:
        rule: how images answer.
        blocks: (place, images) of all training images.
        labels: their classes 0..c-1.
        weights: of the images; None for 1 each.
    """
    return table_of_counts(rule, *count_yes(at_least(rule, blocks), labels, weights))


def table_of_counts(
    rule: AnswerRule,
    sums: Float[Tensor, "c m"],
    totals: Float[Tensor, "c 1"],
) -> AnswerTable:
    """Return the rates of each answer in each class, from counts added up anywhere.

    Args:
        rule: how images answer.
        sums: how many images of each class answer as `at_least` says, float64.
        totals: how many images each class has, float64.
    """
    sums, totals = sums.float(), totals.float()
    prior = (totals / totals.sum()).squeeze(1)
    return AnswerTable(rates_of(rule, sums, totals).log(), prior.log())


@singledispatch
def rates_of(
    rule: AnswerRule,
    sums: Float[Tensor, "c m"],
    totals: Float[Tensor, "c 1"],
) -> Float[Tensor, "v k c"]:
    """Return P(answer | class) from counts, drawn towards even answers; a rule may know more."""
    counts = sums.chunk(rule.levels - 1, dim=1)
    return answer_probabilities(*(yes_rates(each, totals) for each in counts))


@rates_of.register
def value_rates(rule: ColumnValues, sums: Tensor, totals: Tensor) -> Tensor:
    """Return P(answer | class) of questions for values, from the counts of `table_of_counts`.

    Two rows spread like all rows of the column are added to each class. Neighbouring intervals of
    numbers share their rows, if there are at least FEWEST_NEIGHBOURS. A gap is as probable in every
    class, so that it tells nothing and a column with many gaps is worth less; if gaps tell, each
    class has its own share of them, drawn towards that of all rows by two rows.
    """
    v, c = rule.levels, len(totals)
    above = sums.view(c, v - 1, -1)
    ends = torch.zeros_like(above[:, :1])
    above = torch.cat([ends + totals.unsqueeze(2), above, ends], dim=1)
    counts = above[:, :-1] - above[:, 1:]  # c, v, k
    rates = torch.full_like(counts, NEVER)
    for query in range(counts.shape[2]):
        levels = rule.levels_of(query)
        of_query = counts[:, levels, query]
        cells = torch.arange(len(levels), dtype=of_query.dtype)
        pooled = (of_query.sum(dim=0) + 1) / (of_query.sum() + len(levels))
        if rule.numeric[query] and len(levels) >= FEWEST_NEIGHBOURS:
            near = (-((cells.unsqueeze(1) - cells) / CELL_WIDTH).square() / 2).softmax(dim=1)
            of_query = of_query @ near
        of_query = of_query + PSEUDO_IMAGES * pooled
        of_query = (of_query / of_query.sum(dim=1, keepdim=True)).clamp_min(2 * LEAST / len(levels))
        gaps = counts[:, v // 2, query].sum() / totals.sum()
        if not rule.has_gaps:
            of_class = counts[:, v // 2, query : query + 1] + PSEUDO_IMAGES * gaps
            gaps = of_class / (totals + PSEUDO_IMAGES)
        least = LEAST if rule.has_gaps else LEAST_VALUE
        gaps = gaps.clamp(least, 1 - least)
        rates[:, levels, query] = (1 - gaps) * of_query / of_query.sum(dim=1, keepdim=True)
        rates[:, v // 2, query] = gaps.squeeze()
    return rates.permute(1, 2, 0).contiguous()


def at_least(rule: AnswerRule, blocks: Blocks) -> Iterator[tuple[slice, Tensor]]:
    """Yield (place, `levels_reached`) of all images, some at a time."""
    for place, images in blocks:
        yield from levels_reached(rule, rule.answers(images), place.start or 0)


def levels_reached(
    rule: AnswerRule, answers: Float[Tensor, "n k"], first: int = 0
) -> Iterator[tuple[slice, Tensor]]:
    """Yield (place, (m, (v - 1) k) if an answer is at least at level 1, ..., v - 1), m at a time.

    Of two answers, those themselves.

    Args:
        rule: how images answer.
        answers: of n images.
        first: the place of the first of them.
    """
    steps = (torch.arange(1, rule.levels) - 0.5) / (rule.levels - 1)
    for start in range(0, len(answers), COUNTED):
        rows = answers[start : start + COUNTED]
        place = slice(first + start, first + start + len(rows))
        if rule.levels > 2:
            reached = rows.new_empty(len(rows), len(steps), rows.shape[1])
            rows = torch.gt(rows.unsqueeze(1), steps.unsqueeze(1), out=reached).flatten(1)
        yield place, rows


def calibration_images(budget: int, classes: int) -> int:
    """Return how many held-out images calibrate: HELD_OUT, or fewer if each costs much."""
    return min(HELD_OUT, max(FEWEST_HELD_OUT, CALIBRATION_POSTERIORS // (budget * classes)))


class Calibration(NamedTuple):
    """How much evidence counts after t answers, by the numbers of that name in `AnswerTable`."""

    independent_answers: float
    evidence_weight: float
    growth: float = 1.0
    temperature_ratio: float = 1.0
    prior_exponent: float = 0.0

    def of(self, table: AnswerTable) -> AnswerTable:
        """Return a table with this calibration."""
        return replace(table, **self._asdict())

    def divisors(self, lengths: Int[Tensor, " t"]) -> Float[Tensor, " t"]:
        """Return what the evidence of this many answers is divided by."""
        powers = (1 + lengths.double() / self.independent_answers) ** self.growth
        return powers / self.evidence_weight


# Without images to fit it on (lab/findings.md, "Few images").
ASSUMED_CALIBRATION = Calibration(6.0, 0.7, 0.5)


def expected_ratio(images_of_a_class: float) -> float:
    """Return the ratio to expect: rates of few images are right for some, wrong for others."""
    return 1 + RATIO / math.sqrt(max(images_of_a_class, 1.0))


class HeldOut(NamedTuple):
    """Held-out images, and the uncalibrated querier that was fitted without them.

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


def fit_calibration(
    held_out: Sequence[HeldOut], budget: int, ratio: float = 1.0
) -> tuple[Calibration, float]:
    """Return the calibration with the least cross-entropy, and that, a mean over images.

    Half of it is at the stop of the default rule: images stop where they seem sure, so one that
    is right at every length is too sure there. The other half is a mean over lengths, as
    another rule may end the questions; short chains count as much as long ones: t = 1, 1.4, 2, 2.8,
    ..., T. With few images the choice is drawn towards the calibration that is assumed without any.

    Args:
        held_out: images with the querier that was fitted without them.
        budget: T >= 1 queries are asked, all if there are fewer.
        ratio: of the temperatures; it is not fitted, as few images do not tell it.
    """
    ends = math.log(LEAST_DIVISOR), math.log(MOST_DIVISOR)
    at, apart = torch.linspace(*ends, DIVISORS, dtype=torch.float64), math.log(ratio)
    beyond = math.ceil(apart / (at[1] - at[0]).item())  # further divisors on both sides
    wider = at[0] + (at[1] - at[0]) * torch.arange(-beyond, DIVISORS + beyond)
    budget = min(budget, *(each.answers.shape[1] for each in held_out))
    lengths = torch.arange(1, budget + 1)
    halves = range(2 * budget.bit_length())
    always = torch.tensor(sorted({min(round(2 ** (i / 2)), budget) - 1 for i in halves}))
    share = torch.tensor([*[(1 - AT_STOP) / len(always)] * len(always), AT_STOP]).double()
    assumed = ASSUMED_CALIBRATION.divisors(lengths)
    uneven = any(_uneven(each.querier.table) for each in held_out)
    exponents = PRIOR_EXPONENTS if uneven else PRIOR_EXPONENTS[:1]
    losses = torch.zeros(len(exponents), budget, DIVISORS).double()
    images = torch.zeros(budget).double()
    for querier, answers, labels, given in held_out:
        weights = torch.ones(len(labels)).double() if given is None else given.double()
        table, whole = querier.table, replace(querier.table, prior_exponent=0.0)
        weights = _by_prior(weights, labels, table.class_prior)
        size = images_at_once(budget, len(table.log_prior))
        for some, truth, weight in zip(
            answers.split(size), labels.split(size), weights.split(size), strict=True
        ):
            order = asked_orders(querier, some, budget)
            level = table.level_of(some.gather(1, order))
            said = table.log_likelihood[level, order].cumsum(dim=1)
            told = table.telling(some).gather(1, order).cumsum(dim=1)
            by = assumed[told.clamp_min(1) - 1].float().unsqueeze(2)
            both = [whole.logits(said, by * each).softmax(dim=2) for each in (ratio, 1 / ratio)]
            both = torch.stack(both).mean(dim=0)
            before = table.class_prior.softmax(dim=0).expand(len(some), 1, -1)
            highest, predicted = torch.cat([before, both], dim=1).max(dim=2)
            stops = DEFAULT_STOP.steps_of(predicted, highest, None)[0].clamp_min(1) - 1
            places = torch.cat([always.expand(len(some), -1), stops.unsqueeze(1)], dim=1)
            chosen = said[torch.arange(len(some)).unsqueeze(1), places].flatten(0, 1)
            places = told.gather(1, places)  # what an answer is divided by depends on those told
            of_each = truth.repeat_interleave(len(share))
            counts = torch.outer(weight, share) * (places > 0)  # the prior needs no calibration
            places = places.clamp_min(1) - 1
            for exponent, total in zip(exponents, losses, strict=True):
                worn = replace(table, prior_exponent=exponent)
                of_one = [
                    functional.cross_entropy(
                        worn.logits(chosen, divisor), of_each, reduction="none"
                    )
                    for divisor in wider.exp().float()
                ]
                loss = _mean_of_two(wider, torch.stack(of_one, dim=1).double(), at, apart)
                total.index_add_(0, places.flatten(), counts.flatten().unsqueeze(1) * loss)
            images.index_add_(0, places.flatten(), counts.flatten())
    grid = product(INDEPENDENT_ANSWERS, EVIDENCE_WEIGHTS, GROWTHS, [ratio])
    choices = list(starmap(Calibration, grid))
    divisors = torch.stack([choice.divisors(lengths) for choice in choices])
    loss = torch.stack([_on_lines(at, total, divisors.log()).sum(dim=1) for total in losses])
    loss = loss / images.sum()
    far = (divisors / assumed).log().square() @ images / images.sum()
    best = int((images.sum() * loss + ASSUMED_IMAGES * far).argmin())
    exponent, best = divmod(best, len(choices))
    return choices[best]._replace(prior_exponent=exponents[exponent]), loss[exponent, best].item()


def _uneven(table: AnswerTable) -> bool:
    prior = table.class_prior
    return bool(prior.max() - prior.min() > UNEVEN)


def _by_prior(
    weights: Float[Tensor, " n"], labels: Int[Tensor, " n"], log_prior: Float[Tensor, " c"]
) -> Float[Tensor, " n"]:
    """Return weights by which the classes are as frequent as in training; their sum stays.

    Of a large class a smaller share is held out (`HELD_OUT_OF_A_CLASS`).
    """
    total = torch.zeros(len(log_prior)).double().index_add_(0, labels, weights)
    scaled = weights * (log_prior.double().exp() / total)[labels]
    return scaled * (weights.sum() / scaled.sum())


def _mean_of_two(
    x: Float[Tensor, " w"], loss: Float[Tensor, "m w"], at: Float[Tensor, " d"], apart: float
) -> Float[Tensor, "m d"]:
    """Return the cross-entropy of the mean of two posteriors, whose divisors lie `apart` from `at`.

    Args:
        x: logarithms of divisors.
        loss: the cross-entropy of m posteriors with each of them.
        at: logarithms of the divisors wanted.
        apart: how far the two are from it.
    """
    below, above = (
        _on_lines(x, loss, (at + each).unsqueeze(1).expand(-1, len(loss)))
        for each in (-apart, apart)
    )
    return math.log(2) - torch.logaddexp(-below, -above).T


def _on_lines(
    x: Float[Tensor, " d"], y: Float[Tensor, "t d"], at: Float[Tensor, "m t"]
) -> Float[Tensor, "m t"]:
    right = torch.searchsorted(x, at.contiguous()).clamp(1, len(x) - 1)
    share = (at - x[right - 1]) / (x[right] - x[right - 1])
    rows = torch.arange(len(y))
    return y[rows, right - 1] + share * (y[rows, right] - y[rows, right - 1])
