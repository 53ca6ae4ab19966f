"""Rates fitted on the histories that the model itself asks: evidence that is right at any length.

What the first answers tell, later ones often tell again. Rates fitted on all answers at once
(`fit.fit_rates`) share the evidence among all of them, and are too timid after few; counted rates
count it again each time. These rates minimise

    mean over histories S of -log P(y | S)
        + HELD / n * sum over queries i and classes y of KL(counted(. | i, y) || P(. | i, y))

over tables of n training rows. Half of the histories are answers to random questions, so that each
question learns what it is worth beside others; the other half are the first answers of the model's
own roll-outs, with the table of the round before. As many histories have 1 to 2 answers as 2 to 4,
4 to 8, ... One table both asks and judges: a question that only repeats others has less to tell,
and is asked less. The gain of a question is weighed by what it really tells next (`query_worth`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.pursuit.answers.rules import GAP
from infopursuit.pursuit.naive_bayes.fit import ASKED, LONGEST, evidence_of
from infopursuit.pursuit.naive_bayes.model import InformationGain
from infopursuit.pursuit.rollout import asked_orders

# Each counted rate weighs as much as this many rows.
HELD = 10.0
# The first round has random questions alone. Adam's updates in each round, and its rate, which
# falls to zero in a line.
ROUNDS, UPDATES, BATCH, RATE = 3, 200, 512, 0.03
# After each round questions are weighed so many times, on histories of so many rows. A gain below
# LEAST_GAIN nats is none, and no weight is less or more than these.
WEIGHED, SHOWN = 2, 2048
LEAST_GAIN, LEAST_WORTH, MOST_WORTH = 1e-4, 0.02, 1.5


def fit_asked(
    querier: InformationGain,
    answers: Float[Tensor, "n k"],
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
    seed: int = 0,
    gaps_tell: bool = True,
) -> InformationGain:
    """Return the querier whose table tells classes apart after its own questions, untempered.

    Args:
        querier: with the counted table.
        answers: of training rows, all at levels.
        labels: their classes 0..c-1.
        weights: of the rows; None for 1 each.
        seed: of the histories.
        gaps_tell: whether the middle answer has rates of its own in each class; else it keeps those
            of the counted table, which tell nothing.
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
    level = counted.level_of(answers).to(torch.uint8)
    told = torch.ones_like(answers) if gaps_tell else (answers != GAP).float()
    (n, k), generator = answers.shape, torch.Generator().manual_seed(seed)
    longest, own = min(LONGEST, k), torch.randperm(n, generator=generator)[:ASKED]
    held = HELD / weights.sum().item()
    start, prior = counted.log_likelihood.float(), counted.log_prior.float()
    orders, found = None, querier
    for _ in range(ROUNDS):
        logits = start.clone().requires_grad_()
        optimizer = torch.optim.Adam([logits], lr=RATE)
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, UPDATES)
        for _ in range(UPDATES):
            some = weights.multinomial(BATCH, replacement=True, generator=generator)
            share = _lengths(BATCH, k, generator) / k
            mask = (torch.rand(BATCH, k, generator=generator) < share).float()
            if orders is not None:
                places = weights[own].multinomial(BATCH // 2, True, generator=generator)
                some[: len(places)] = own[places]
                reached = _lengths(len(places), longest, generator)
                mask[: len(places)] = _first(orders[places], reached, k)
            table = _rates(logits, start, gaps_tell)
            evidence = evidence_of(table, prior, level[some], mask * told[some])
            loss = functional.cross_entropy(evidence, labels[some])
            loss = loss + held * (start.exp() * (start - table)).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        found = querier.on(
            replace(counted, log_likelihood=_rates(logits.detach(), start, gaps_tell))
        )
        for _ in range(WEIGHED):
            orders = asked_orders(found, answers[own], longest)
            some = torch.randint(len(own), (min(len(own), SHOWN),), generator=generator)
            reached = _lengths(len(some), longest + 1, generator) - 1
            mask = _first(orders[some], reached, k)
            some = own[some]
            worth = query_worth(found, answers[some], mask, labels[some], weights[some])
            if querier.query_weights is not None:
                worth = worth * querier.query_weights
            found = found.weighing(worth)
    return found


def query_worth(
    querier: InformationGain,
    answers: Float[Tensor, "b k"],
    mask: Float[Tensor, "b k"],
    labels: Int[Tensor, " b"],
    weights: Float[Tensor, " b"],
) -> Float[Tensor, " k"]:
    """Return how much each question really tells next, in units of the gain that is expected of it.

    Answers are not independent given the class, and a table that counts them rightly together may
    be wrong about one alone. What an answer really tells is by how much it lowers the log-loss.

    Args:
        querier: with the fitted table.
        answers: of b rows, at levels.
        mask: of the answers that each was asked for.
        labels: their classes.
        weights: of the rows.
    """
    table = querier.exact
    evidence = table.evidence(answers.double(), mask.double())
    weight = weights.unsqueeze(1) * (1 - mask)
    before = functional.cross_entropy(evidence, labels, reduction="none")
    expected = InformationGain(querier.table).gains(evidence)
    told = torch.empty_like(expected)
    levels = table.level_of(answers)
    for query in range(answers.shape[1]):
        after = evidence + table.log_likelihood[levels[:, query], query]
        told[:, query] = before - functional.cross_entropy(after, labels, reduction="none")
    told, expected = ((weight * each).sum(dim=0) for each in (told, expected))
    least = LEAST_GAIN * weight.sum(dim=0).clamp_min(LEAST_GAIN)
    return ((told + least) / (expected + least)).clamp(LEAST_WORTH, MOST_WORTH).float()


def _first(orders: Int[Tensor, "b T"], lengths: Int[Tensor, "b 1"], k: int) -> Float[Tensor, "b k"]:
    """Return masks of the first questions of each order."""
    inside = (torch.arange(orders.shape[1]) < lengths).float()
    return torch.zeros(len(orders), k).scatter_(1, orders, inside)


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


def _lengths(count: int, longest: int, generator: torch.Generator) -> Int[Tensor, "b 1"]:
    """Return lengths from 1 to `longest`; their logarithms are spread evenly."""
    drawn = torch.rand(count, 1, generator=generator) * math.log(longest + 1)
    return drawn.exp().long().clamp(1, longest)
