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
and is asked less.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.pursuit.answers.rules import GAP
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.fit import ASKED, LONGEST, evidence_of
from infopursuit.pursuit.naive_bayes.model import InformationGain
from infopursuit.pursuit.rollout import asked_orders

# Each counted rate weighs as much as this many rows.
HELD = 10.0
# The first round has random questions alone. Adam's updates in each round, and its rate, which
# falls to zero in a line.
ROUNDS, UPDATES, BATCH, RATE = 3, 250, 1024, 0.03


def fit_asked(
    querier: InformationGain,
    answers: Float[Tensor, "n k"],
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
    seed: int = 0,
    gaps_tell: bool = True,
) -> AnswerTable:
    """Return the table that tells the classes apart after the questions it asks, untempered.

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
    level = counted.level_of(answers).to(torch.uint8)
    told = torch.ones_like(answers) if gaps_tell else (answers != GAP).float()
    n, k = answers.shape
    generator = torch.Generator().manual_seed(seed)
    longest, own = min(LONGEST, k), torch.randperm(n, generator=generator)[:ASKED]
    start, prior = counted.log_likelihood.float(), counted.log_prior.float()
    weights = torch.ones(n) if weights is None else weights.float()
    orders, found = None, counted
    for number in range(ROUNDS):
        if number:
            orders = asked_orders(querier.on(found), answers[own], longest)
        logits = start.clone().requires_grad_()
        optimizer = torch.optim.Adam([logits], lr=RATE)
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, UPDATES)
        for _ in range(UPDATES):
            some = torch.randint(n, (BATCH,), generator=generator)
            share = _lengths(BATCH, k, generator) / k
            mask = (torch.rand(BATCH, k, generator=generator) < share).float()
            if orders is not None:
                places = torch.randint(len(own), (BATCH // 2,), generator=generator)
                some[: len(places)] = own[places]
                inside = torch.arange(longest) < _lengths(len(places), longest, generator)
                chosen = torch.zeros(len(places), k)
                mask[: len(places)] = chosen.scatter_(1, orders[places], inside.float())
            table = _rates(logits, start, gaps_tell)
            evidence = evidence_of(table, prior, level[some], mask * told[some])
            losses = functional.cross_entropy(evidence, labels[some], reduction="none")
            loss = (losses * weights[some]).sum() / weights[some].sum()
            loss = loss + HELD / weights.sum() * (start.exp() * (start - table)).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        found = replace(counted, log_likelihood=_rates(logits.detach(), start, gaps_tell))
    return found


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
