"""Roll-outs: the querier asks one query after another, each given the answers so far.

Greedy roll-outs nest: a shorter history is a prefix of a longer one. So one roll-out records the
order once, and every history up to its length is read off it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.pursuit.networks import GrowingHistory, HistoryNetwork


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
    querier: HistoryNetwork, answers: Float[Tensor, "b k"], lengths: Int[Tensor, " b"]
) -> Int[Tensor, "b longest"]:
    """The queries asked of each image from the empty history, up to its own length (<= k).

    Entries beyond an image's length are 0. Images are sorted by length and leave the batch when
    they are done. `lengths` is on the CPU, so that no step waits for the device.
    """
    longest = int(lengths.max())
    by_length = torch.argsort(lengths, descending=True, stable=True)
    active = (lengths.unsqueeze(0) > torch.arange(longest).unsqueeze(1)).sum(dim=1).tolist()
    rows = by_length.to(answers.device)
    answers = answers[rows]
    history = GrowingHistory(querier, len(answers))
    asked = torch.zeros_like(answers, dtype=torch.bool)
    orders = torch.zeros(len(answers), longest, dtype=torch.long, device=answers.device)
    for step, count in enumerate(active):
        _ask(history, asked, answers, orders[:, step], count)
    unsorted = torch.empty_like(orders)
    unsorted[rows] = orders
    return unsorted


@torch.no_grad()
def roll_out(
    querier: HistoryNetwork,
    classifier: HistoryNetwork,
    answers: Float[Tensor, "b k"],
    budget: int,
) -> RollOut:
    """Ask `budget` queries (<= k) of every image and record the posterior after each."""
    batch = len(answers)
    asking, judging = GrowingHistory(querier, batch), GrowingHistory(classifier, batch)
    asked = torch.zeros_like(answers, dtype=torch.bool)
    order = torch.zeros(batch, budget, dtype=torch.long, device=answers.device)
    posteriors = [judging.logits(batch).softmax(dim=1)]
    for step in range(budget):
        given = _ask(asking, asked, answers, order[:, step], batch)
        judging.add(order[:, step], given)
        posteriors.append(judging.logits(batch).softmax(dim=1))
    return RollOut(order, answers.gather(1, order), torch.stack(posteriors, dim=1))


def _ask(
    history: GrowingHistory,
    asked: Tensor,
    answers: Tensor,
    chosen: Tensor,
    count: int,
) -> Tensor:
    """One greedy step for the first `count` images: write the choice, return the answers."""
    logits = history.logits(count).masked_fill(asked[:count], -torch.inf)
    queries = logits.argmax(dim=1)  # the first of equals
    chosen[:count] = queries
    asked[:count].scatter_(1, queries.unsqueeze(1), True)
    given = answers[:count].gather(1, queries.unsqueeze(1)).squeeze(1)
    history.add(queries, given)
    return given
