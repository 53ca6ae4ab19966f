"""The loop of Information Pursuit: ask the best question, hear the answer, update the posterior.

Greedy roll-outs nest: a shorter history is a prefix of a longer one. So one roll-out records the
order once, and every history up to its length is read off it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.explanation.stopping import StoppingRule
from infopursuit.pursuit.querier import Classifier, Querier

# Images rolled out together. On a CPU enough to share masks, few enough to stay in the cache; on a
# GPU as many as hide the launches.
CPU_BLOCK, GPU_BLOCK = 1024, 8192
# Numbers that the posteriors of images at every budget may be at once; with many classes fewer
# images are looked at together.
POSTERIORS, FEWEST = 2**25, 32


class RollOut(NamedTuple):
    """What T steps of Information Pursuit did for n images.

    Attributes:
        order: the query asked at each step.
        answers: the answer it got.
        posteriors: the classifier's distribution after t = 0..T queries.
        best: the m queries of largest value at each step, the asked one first, unless it was
            forced; m is 0 unless they were wanted.
        values: of those, by the querier's criterion; -inf for queries that were asked before.
    """

    order: Int[Tensor, "n T"]
    answers: Float[Tensor, "n T"]
    posteriors: Float[Tensor, "n T1 c"]
    best: Int[Tensor, "n T m"]
    values: Float[Tensor, "n T m"]


class Ending(NamedTuple):
    """Where the questions to n images ended.

    Attributes:
        posterior: the classifier's distribution at the end.
        length: how many questions were asked.
        confident: whether the stopping rule held, rather than the questions running out.
    """

    posterior: Float[Tensor, "n c"]
    length: Int[Tensor, " n"]
    confident: Bool[Tensor, " n"]


def first_of_the_best(outputs: Float[Tensor, "b k"], rounding: float) -> Int[Tensor, " b"]:
    """The query to ask: of those within `rounding` of the largest output the first."""
    if not rounding:
        return outputs.argmax(dim=1)
    best = outputs.amax(dim=1, keepdim=True)
    return (outputs >= best - rounding).int().argmax(dim=1)


def ranked(outputs: Float[Tensor, "b k"], rounding: float, count: int) -> Int[Tensor, "b m"]:
    """The m = `count` best queries (<= k): the one to ask, what to ask without it, and so on."""
    taken = torch.zeros_like(outputs, dtype=torch.bool)
    places = []
    for _ in range(count):
        best = outputs.masked_fill(taken, -torch.inf).amax(dim=1, keepdim=True)
        equal = (outputs >= best - rounding) & ~taken
        places.append(equal.int().argmax(dim=1, keepdim=True))
        taken = taken.scatter(1, places[-1], True)
    return torch.cat(places, dim=1)


def images_at_once(budget: int, classes: int) -> int:
    """Of how many images the posteriors after 0..T queries are held together."""
    return max(FEWEST, min(CPU_BLOCK, POSTERIORS // ((budget + 1) * classes)))


class Asking:
    """b images that are asked one query after another, each given its answers so far."""

    def __init__(self, querier: Querier, answers: Float[Tensor, "b k"]) -> None:
        self.querier, self.answers = querier, answers
        self.histories = querier.incremental(len(answers))
        self.asked = torch.zeros_like(answers, dtype=torch.bool)

    def ask(
        self, rows: int, forced: int | None = None
    ) -> tuple[Int[Tensor, " r"], Float[Tensor, " r"], Float[Tensor, "r k"]]:
        """Ask one query of each of the first `rows` images: the queries, answers, and outputs.

        Args:
            rows: how many images.
            forced: ask this query of all of them; None for the best one of each.
        """
        outputs = self.histories.outputs(rows).masked_fill_(self.asked[:rows], -torch.inf)
        if forced is None:
            queries = first_of_the_best(outputs, self.querier.rounding)
        else:
            queries = torch.full((rows,), forced, dtype=torch.long, device=outputs.device)
        self.asked[:rows].scatter_(1, queries.unsqueeze(1), True)
        given = self.answers[:rows].gather(1, queries.unsqueeze(1)).squeeze(1)
        self.histories.add(queries, given)
        return queries, given, outputs

    def keep(self, rows: Int[Tensor, " r"]) -> None:
        """Go on with these images alone."""
        self.answers, self.asked = self.answers[rows], self.asked[rows]
        self.histories.keep(rows)


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


@torch.no_grad()
def asked_orders(
    querier: Querier, answers: Float[Tensor, "n k"], budget: int, first: int | None = None
) -> Int[Tensor, "n T"]:
    """The `order` of `roll_out` alone: no posterior is computed, nor are n T c numbers held.

    Args:
        querier: chooses the queries.
        answers: of the images to all k queries.
        budget: how many queries.
        first: the query that every image is asked first; None for the querier's choice.
    """
    blocks = answers.split(CPU_BLOCK if answers.is_cpu else GPU_BLOCK)
    return torch.cat([_orders(querier, each, [len(each)] * budget, first) for each in blocks])


def _orders(
    querier: Querier, answers: Tensor, active: list[int], first: int | None = None
) -> Tensor:
    """Orders of images of which the first `active[step]` are asked at each step."""
    asking = Asking(querier, answers)
    orders = torch.zeros(len(answers), len(active), dtype=torch.long, device=answers.device)
    for step, rows in enumerate(active):
        if rows:
            orders[:rows, step], _, _ = asking.ask(rows, first if step == 0 else None)
    return orders


@torch.no_grad()
def roll_out(
    querier: Querier,
    classifier: Classifier,
    answers: Float[Tensor, "n k"],
    budget: int,
    first: int | None = None,
    best: int = 0,
) -> RollOut:
    """Ask `budget` queries (<= k) of every image and record the posterior after each.

    Args:
        querier: chooses the queries.
        classifier: gives the posteriors.
        answers: of the images to all k queries.
        budget: how many queries.
        first: the query that every image is asked first; None for the querier's choice.
        best: how many of the best queries to record at each step.
    """
    size = CPU_BLOCK if answers.is_cpu else GPU_BLOCK
    blocks = [
        _roll_out(querier, classifier, block, budget, first, best) for block in answers.split(size)
    ]
    return RollOut(*(torch.cat(parts) for parts in zip(*blocks, strict=True)))


def _roll_out(
    querier: Querier,
    classifier: Classifier,
    answers: Tensor,
    budget: int,
    first: int | None,
    best: int,
) -> RollOut:
    rows, device = len(answers), answers.device
    asking, judging = Asking(querier, answers), classifier.incremental(rows)
    best = min(best, answers.shape[1])
    order = torch.zeros(rows, budget, dtype=torch.long, device=device)
    places = torch.zeros(rows, budget, best, dtype=torch.long, device=device)
    values = torch.zeros(rows, budget, best, device=device)
    posteriors = [judging.outputs(rows).softmax(dim=1)]
    for step in range(budget):
        queries, given, outputs = asking.ask(rows, first if step == 0 else None)
        order[:, step] = queries
        judging.add(queries, given)
        posteriors.append(judging.outputs(rows).softmax(dim=1))
        if best:
            top = ranked(outputs, querier.rounding, best)
            worth = querier.values(outputs).masked_fill(outputs == -torch.inf, -torch.inf)
            places[:, step], values[:, step] = top, worth.gather(1, top)
    return RollOut(order, answers.gather(1, order), torch.stack(posteriors, dim=1), places, values)


@torch.no_grad()
def ask_until(
    querier: Querier,
    classifier: Classifier,
    answers: Float[Tensor, "n k"],
    stop: StoppingRule,
    first: int | None = None,
) -> Ending:
    """Ask each image until the stopping rule holds; images that are done cost nothing more."""
    size = CPU_BLOCK if answers.is_cpu else GPU_BLOCK
    blocks = [_ask_until(querier, classifier, block, stop, first) for block in answers.split(size)]
    return Ending(*(torch.cat(parts) for parts in zip(*blocks, strict=True)))


def _ask_until(
    querier: Querier, classifier: Classifier, answers: Tensor, stop: StoppingRule, first: int | None
) -> Ending:
    count, budget = len(answers), stop.budget(answers.shape[1])
    asking, judging = Asking(querier, answers), classifier.incremental(count)
    posterior = judging.outputs(count).softmax(dim=1)
    ending = Ending(
        posterior.clone(),
        torch.zeros(count, dtype=torch.long, device=answers.device),
        torch.zeros(count, dtype=torch.bool, device=answers.device),
    )
    waiting = torch.arange(count, device=answers.device)  # images whose questions go on
    unchanged = torch.zeros_like(waiting)
    for step in range(budget + 1):
        holds = stop.holds(posterior, unchanged)
        done = holds if step < budget else torch.ones_like(holds)
        if done.any():
            rows = waiting[done]
            ending.posterior[rows], ending.length[rows] = posterior[done], step
            ending.confident[rows] = holds[done]
            left = (~done).nonzero().squeeze(1)
            waiting, unchanged, posterior = waiting[left], unchanged[left], posterior[left]
            if not len(waiting):
                break
            asking.keep(left)
            judging.keep(left)
        queries, given, _ = asking.ask(len(waiting), first if step == 0 else None)
        judging.add(queries, given)
        before = posterior.argmax(dim=1)
        posterior = judging.outputs(len(waiting)).softmax(dim=1)
        unchanged = torch.where(posterior.argmax(dim=1) == before, unchanged + 1, 0)
    return ending
