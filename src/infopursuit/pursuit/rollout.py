"""Roll-outs: the querier asks one query after another, each given the answers so far.

Greedy roll-outs nest: a shorter history is a prefix of a longer one. So one roll-out records the
order once, and every history up to its length is read off it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.pursuit.growing_histories import (
    Classifier,
    GrowingHistories,
    Querier,
    growing_histories,
)

# Images rolled out together by `roll_out`. On a CPU enough to share masks, few enough to stay in
# the cache; on a GPU as many as hide the launches.
CPU_BLOCK, GPU_BLOCK = 1024, 8192


class RollOut(NamedTuple):
    """What T steps of Information Pursuit did for n images.

    Attributes:
        order: the query asked at each step.
        answers: the answer it got.
        posteriors: the classifier's distribution after t = 0..T queries.
    """

    order: Int[Tensor, "n T"]
    answers: Float[Tensor, "n T"]
    posteriors: Float[Tensor, "n T1 c"]


@torch.no_grad()
def greedy_orders(
    querier: Querier, answers: Float[Tensor, "b k"], lengths: Int[Tensor, " b"], longest: int
) -> Int[Tensor, "b longest"]:
    """The queries asked of each image from the empty history, up to its own length (<= longest).

    Entries beyond an image's length mean nothing. On a CPU, images are sorted by length and leave
    the batch when they are done; on a GPU all go on to `longest`, so that every shape is known
    beforehand and no step waits for the device.
    """
    if not answers.is_cpu:
        return _orders(querier, answers, [len(answers)] * longest)
    by_length = torch.argsort(lengths, descending=True, stable=True)
    active = (lengths > torch.arange(longest).unsqueeze(1)).sum(dim=1).tolist()
    sorted_orders = _orders(querier, answers[by_length], active)
    return torch.empty_like(sorted_orders).index_copy_(0, by_length, sorted_orders)


def _orders(querier: Querier, answers: Tensor, active: list[int]) -> Tensor:
    """Orders of images of which the first `active[step]` are asked at each step."""
    histories = growing_histories(querier, len(answers))
    asked = torch.zeros_like(answers, dtype=torch.bool)
    orders = torch.zeros(len(answers), len(active), dtype=torch.long, device=answers.device)
    for step, rows in enumerate(active):
        if rows:
            _ask(histories, asked, answers, orders[:, step], rows)
    return orders


@torch.no_grad()
def roll_out(
    querier: Querier,
    classifier: Classifier,
    answers: Float[Tensor, "n k"],
    budget: int,
) -> RollOut:
    """Ask `budget` queries (<= k) of every image and record the posterior after each."""
    size = CPU_BLOCK if answers.is_cpu else GPU_BLOCK
    blocks = [_roll_out(querier, classifier, block, budget) for block in answers.split(size)]
    return RollOut(*(torch.cat(parts) for parts in zip(*blocks, strict=True)))


def _roll_out(querier: Querier, classifier: Classifier, answers: Tensor, budget: int) -> RollOut:
    rows = len(answers)
    asking, judging = growing_histories(querier, rows), growing_histories(classifier, rows)
    asked = torch.zeros_like(answers, dtype=torch.bool)
    order = torch.zeros(rows, budget, dtype=torch.long, device=answers.device)
    posteriors = [judging.logits(rows).softmax(dim=1)]
    for step in range(budget):
        given = _ask(asking, asked, answers, order[:, step], rows)
        judging.add(order[:, step], given)
        posteriors.append(judging.logits(rows).softmax(dim=1))
    return RollOut(order, answers.gather(1, order), torch.stack(posteriors, dim=1))


def _ask(
    histories: GrowingHistories, asked: Tensor, answers: Tensor, chosen: Tensor, rows: int
) -> Tensor:
    """One greedy step for the first `rows` images: write the choice, return the answers."""
    logits = histories.logits(rows).masked_fill_(asked[:rows], -torch.inf)
    queries = logits.argmax(dim=1)  # the first of equals
    chosen[:rows] = queries
    asked[:rows].scatter_(1, queries.unsqueeze(1), True)
    given = answers[:rows].gather(1, queries.unsqueeze(1)).squeeze(1)
    histories.add(queries, given)
    return given
