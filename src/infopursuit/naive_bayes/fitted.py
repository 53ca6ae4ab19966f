"""Rates that are fitted to tell the classes apart, in the place of counted ones.

A counted rate is the best guess for its question alone. But answers depend on one another given the
class, and what two questions both tell is counted twice. Other rates may tell the classes apart
better. The fitted ones minimise

    mean over histories S of -log P(y | S)
        + HELD / n * sum over queries i and classes y of KL(counted(. | i, y) || P(. | i, y))

over tables of n training images: each counted rate weighs as much as HELD images. This is extended
logistic regression (Greiner, Su, Shen and Zhou, "Structural extension to logistic regression",
Machine Learning 59, 2005), with a penalty. Half of the histories have all answers, the other half
the first t that the querier of the counted table asks for, t drawn from 1 to LONGEST.

The result is a table of probabilities, as the counted one is: evidence still adds up, one answer
at a time, and queries can still be left out.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor
from torch.nn import functional

from infopursuit.answers.table import AnswerTable
from infopursuit.naive_bayes.fit import ASSUMED
from infopursuit.naive_bayes.model import InformationGain
from infopursuit.pursuit.rollout import asked_orders

# Images that rates are fitted on at most, and those of them that are asked questions.
FITTED_ON, ASKED = 32768, 4096
HELD = 1.0
LONGEST = 64
# Adam's; the rate falls to zero in a line.
UPDATES, BATCH, RATE = 200, 1024, 0.02


def fit_rates(
    querier: InformationGain,
    answers: Float[Tensor, "n k"],
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
    seed: int = 0,
) -> AnswerTable:
    """The fitted table, untempered.

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
        whole = torch.randperm(len(labels), generator=generator)[:half]
        short = torch.randperm(len(asked), generator=generator)[:half]
        rows = torch.cat([whole, asked[short]])
        mask = torch.cat([torch.ones(len(whole), k), _prefixes(orders[short], k, generator)])
        table = logits.log_softmax(dim=0)
        evidence = _evidence(table, prior, level[rows], mask)
        wear = 1 + mask.sum(dim=1, keepdim=True) / ASSUMED
        losses = functional.cross_entropy(evidence / wear, labels[rows], reduction="none")
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
    """Masks of the first t queries of each order, t drawn from 1 to T."""
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
    """`AnswerTable.evidence` with gradients, for answers at levels."""
    total = prior.expand(len(level), -1)
    for number, rates in enumerate(table):
        total = total + (mask * (level == number)) @ rates
    return total
