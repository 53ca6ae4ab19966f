"""Subclasses of each class, fitted to tell the classes apart after few answers and after many.

What the first answers tell, later ones often tell again, and counted rates count it again each
time. With subclasses z of each class (`answers.subclasses`) what an answer tells depends on the
answers before it.

First each class becomes a mixture of subclasses by expectation maximisation from a random start,
with its counted rates as prior. Then the rates minimise

    mean over histories S of -log P(y | S)
        + HELD / n * sum over queries i and subclasses z of KL(mixture(. | i, z) || P(. | i, z))

over tables of n training rows. The histories are answers to random questions, then in half of the
cases the first answers of the model's own roll-outs. As many have 1 to 2 answers as 2 to 4, 4 to 8,
... One table both asks and classifies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.pursuit.answers.rules import GAP
from infopursuit.pursuit.answers.subclasses import SubclassTable
from infopursuit.pursuit.answers.table import LEVEL, AnswerTable
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.rollout import asked_orders

# Rows that rates are fitted on at most, those of them that are asked questions, and how many.
FITTED_ON, ASKED, LONGEST = 32768, 1024, 32
# Each rate of the mixture weighs as much as this many rows.
HELD = 3.0
# Adam's updates on random histories, then on those of roll-outs; its rate falls to zero in a line.
UPDATES, BATCH, RATE = (300, 200), 512, 0.03
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
# The share of the updates, of a batch and of those asked, that tells whether subclasses are worth a
# fit.
TRIAL = 0.3
# A class has a subclass for rows that weigh so much, up to MOST_SUBCLASSES of them.
ROWS_OF_A_SUBCLASS, MOST_SUBCLASSES = 50, 16
# Steps of expectation maximisation; how unlike the random starts of subclasses are; and how many
# rows the rates of the class count for in each of its subclasses.
STEPS, APART, COUNTED = 50, 0.3, 20.0
# A history whose gaps are rare in its class counts at most this much.
MOST_SURPRISE = 10.0


class SubclassBayes(NaiveBayes):
    """f: the posterior from a table of subclasses."""

    kind: ClassVar[str] = "subclasses"
    TABLE: ClassVar[type[AnswerTable]] = SubclassTable


def fit_subclasses(
    querier: InformationGain,
    answers: Float[Tensor, "n k"],
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
    seed: int = 0,
    gaps_tell: bool = True,
    effort: float = 1.0,
) -> InformationGain:
    """Return the querier with a table of subclasses, uncalibrated.

    Args:
        querier: with the counted table.
        answers: of training rows.
        labels: their classes 0..c-1.
        weights: of the rows; None for 1 each.
        seed: of the histories.
        gaps_tell: whether the middle answer has rates of its own in each class; else it keeps those
            of the counted table, which tell nothing.
        effort: the share of the updates, of a batch and of those asked; less than 1 for a trial.
    """
    counted = querier.table
    # Equal rows are one row of their weight, in an order of its own: it does not matter in which
    # order rows came, nor whether a row is repeated or weighs more.
    weights = torch.ones(len(labels)).double() if weights is None else weights.double()
    rows, place = torch.cat([labels.unsqueeze(1).to(answers), answers], dim=1).unique(
        dim=0, return_inverse=True
    )
    labels, answers = rows[:, 0].long(), rows[:, 1:]
    weights = torch.zeros(len(rows)).double().index_add_(0, place, weights)
    level = counted.level_of(answers)
    # An answer between two levels tells nothing here, nor does a gap that is to tell nothing.
    tells = (answers * (counted.levels - 1) - level).abs() < LEVEL
    tells = tells if gaps_tell else tells & (answers != GAP)
    said = (level.unsqueeze(1) == torch.arange(counted.levels).unsqueeze(1)) & tells.unsqueeze(1)
    (n, k), generator = answers.shape, torch.Generator().manual_seed(seed)
    # Columns have fewer levels than the table: what nobody answers takes no time.
    cells = said.any(dim=0).flatten().nonzero().squeeze(1)
    given, query_of = said.flatten(1)[:, cells].float(), cells % k
    table = mixture(counted, said, labels, weights, generator, gaps_tell)
    surprise = None if gaps_tell else _surprise_of_gaps(tells, labels, weights)
    longest, own = min(LONGEST, k), torch.randperm(n, generator=generator)[: round(effort * ASKED)]
    held = HELD / weights.sum().item()
    start, prior = table.log_likelihood.float(), table.log_prior.float()
    logits, orders = start, None
    batch = round(effort * BATCH)
    for updates in (round(effort * each) for each in UPDATES):
        logits = logits.clone().requires_grad_()
        mean, square = torch.zeros_like(start), torch.zeros_like(start)
        for done in range(updates):
            some = weights.multinomial(batch, replacement=True, generator=generator)
            share = _lengths(batch, k, generator) / k
            mask = (torch.rand(batch, k, generator=generator) < share).float()
            if orders is not None:
                places = weights[own].multinomial(batch // 2, True, generator=generator)
                some[: len(places)] = own[places]
                reached = _lengths(len(places), longest, generator)
                inside = (torch.arange(longest) < reached).float()
                mask[: len(places)] = torch.zeros(len(places), k).scatter_(
                    1, orders[places], inside
                )
            rates = _rates(logits, start, gaps_tell)
            here = given[some] * mask[:, query_of]
            evidence = table.pooled(prior + here @ rates.flatten(0, 1)[cells])
            loss = functional.cross_entropy(evidence, labels[some], reduction="none")
            if surprise is not None:
                loss = loss * surprise(mask, tells[some], labels[some])
            loss = loss.mean() + held * (start.exp() * (start - rates)).sum()
            (slope,) = torch.autograd.grad(loss, logits)
            # Adam by hand: the optimizers of torch first load its compiler, which takes seconds.
            mean.lerp_(slope, 1 - BETA_1)
            square.lerp_(slope.square(), 1 - BETA_2)
            with torch.no_grad():
                size = RATE * (1 - done / updates) / (1 - BETA_1 ** (done + 1))
                root = (square / (1 - BETA_2 ** (done + 1))).sqrt_().add_(EPSILON)
                logits -= size * mean / root
        logits = _rates(logits.detach(), start, gaps_tell)
        querier = querier.on(replace(table, log_likelihood=logits))
        if orders is None:
            orders = asked_orders(querier, answers[own], longest)
    return querier


@torch.no_grad()
def mixture(
    counted: AnswerTable,
    said: Bool[Tensor, "n v k"],
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"],
    generator: torch.Generator,
    gaps_tell: bool = True,
) -> SubclassTable:
    """Return the table of subclasses that make the answers of each class most probable.

    Args:
        counted: the table of the classes.
        said: whether the answer of a row is this level; none of those that tell nothing.
        labels: their classes 0..c-1.
        weights: of the rows.
        generator: of the random starts.
        gaps_tell: as in `fit_subclasses`.
    """
    rows = torch.bincount(labels, weights, minlength=len(counted.log_prior))
    each = (rows / ROWS_OF_A_SUBCLASS).long().clamp(1, MOST_SUBCLASSES)
    of = torch.arange(len(each)).repeat_interleave(each)
    within = labels.unsqueeze(1) == of
    start = APART * torch.rand(len(labels), len(of), generator=generator)
    share = start.double().masked_fill(~within, -torch.inf).softmax(dim=1)
    base = counted.log_likelihood.double().exp()[:, :, of]
    cells = said.any(dim=0).flatten().nonzero().squeeze(1)
    at = said.flatten(1)[:, cells].float()
    log_likelihood, log_prior = base.log(), counted.log_prior.double()[of]
    for _ in range(STEPS):
        mass = share * weights.unsqueeze(1)
        seen = torch.zeros_like(base).flatten(0, 1)
        seen = seen.index_copy(0, cells, (at.T @ mass.float()).double()).view_as(base)
        rates = (seen + COUNTED * base) / (seen.sum(dim=0) + COUNTED)
        log_likelihood = _rates(rates.log(), base.log(), gaps_tell)
        sizes = mass.sum(dim=0) + 1
        shares = sizes / torch.zeros(len(each)).double().index_add_(0, of, sizes)[of]
        log_prior = counted.log_prior.double()[of] + shares.log()
        logits = log_prior + (at @ log_likelihood.flatten(0, 1)[cells].float()).double()
        share = logits.masked_fill(~within, -torch.inf).softmax(dim=1)
    return SubclassTable(log_likelihood.float(), log_prior.float(), of=of)


def _rates(
    logits: Float[Tensor, "v k c"], counted: Float[Tensor, "v k c"], gaps_tell: bool
) -> Float[Tensor, "v k c"]:
    """Return log P(answer | class); a gap that tells nothing is as probable as counted."""
    if gaps_tell:
        return logits.log_softmax(dim=0)
    gap = len(logits) // 2
    cells = torch.cat([logits[:gap], logits[gap + 1 :]]).log_softmax(dim=0)
    cells = cells + torch.log1p(-counted[gap].exp())
    return torch.cat([cells[:gap], counted[gap : gap + 1], cells[gap:]])


def _surprise_of_gaps(
    tells: Bool[Tensor, "n k"], labels: Int[Tensor, " n"], weights: Float[Tensor, " n"]
) -> Callable[..., Float[Tensor, " b"]]:
    """Return a function of mask, tells and labels: by how much histories are to count.

    That is P(told) / P(told | y) of which answers of a history tell something. Where classes have
    other gaps, which are there would tell the class; weighed so they do not.
    """
    of_class = functional.one_hot(labels).double().T * weights
    counts = of_class.sum(dim=1, keepdim=True)
    prior = (counts / counts.sum()).log().T.float()
    told = ((of_class @ tells.double() + prior.exp().T) / (counts + 1)).float().clamp(0.01, 0.99)

    def surprise(mask: Tensor, some: Tensor, truth: Tensor) -> Tensor:
        seen = mask * some
        log_told = seen @ told.log().T + (mask - seen) @ torch.log1p(-told).T
        own = log_told.gather(1, truth.unsqueeze(1)).squeeze(1)
        return ((prior + log_told).logsumexp(dim=1) - own).exp().clamp_max(MOST_SURPRISE)

    return surprise


def _lengths(count: int, longest: int, generator: torch.Generator) -> Int[Tensor, "b 1"]:
    drawn = torch.rand(count, 1, generator=generator) * math.log(longest + 1)
    return drawn.exp().long().clamp(1, longest)
