"""The loop of Information Pursuit: ask the best question, get the answer, update the posterior.

Greedy roll-outs nest: a shorter history is a prefix of a longer one. So one roll-out records the
order once, and every history up to its length is read off it.

Histories may start with answers that are known beforehand: these count as evidence, and are not
asked. A mask `known` (n, k) says which of the answers of each image they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.pursuit.querier import (
    Classifier,
    HistoryFunction,
    IncrementalHistories,
    Querier,
    Reader,
)
from infopursuit.pursuit.stopping import StoppingRule

# Images rolled out together. On a CPU enough to share masks, few enough to stay in the cache; on a
# GPU as many as hide the launches.
CPU_BLOCK, GPU_BLOCK = 1024, 8192
# Numbers that the posteriors of images at every budget may have at once; with many classes fewer
# images are looked at together.
POSTERIORS, FEWEST_IMAGES = 2**25, 32


class RollOut(NamedTuple):
    """What T steps of Information Pursuit did for n images.

    Attributes:
        order: the query asked at each step; -1 if none was left, as most answers were known.
        answers: the answer it got; NaN if none was left.
        posteriors: the classifier's distribution after t = 0..T queries, and what was known; the
            last one goes on if none is left.
        best: the m queries of largest value at each step, the asked one first, unless it was
            forced; m is 0 if they were not wanted.
        values: of those, by the querier's criterion; -inf for queries that were asked before, or
            known.
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
        held: whether the stopping rule held, rather than the questions running out.
    """

    posterior: Float[Tensor, "n c"]
    length: Int[Tensor, " n"]
    held: Bool[Tensor, " n"]


def in_blocks(
    run: Callable[..., Iterable[Tensor]],
    answers: Float[Tensor, "n k"],
    known: Bool[Tensor, "n k"] | None = None,
) -> Iterator[Tensor]:
    """Run a roll-out on some images at a time; yield each of its results for all images.

    `run` takes their answers and, if there is one, the mask of those that are known.
    """
    size = CPU_BLOCK if answers.is_cpu else GPU_BLOCK
    masks = () if known is None else (known.split(size),)
    for parts in zip(*map(run, answers.split(size), *masks), strict=True):
        yield torch.cat(parts)


def images_at_once(budget: int, classes: int) -> int:
    """Return of how many images the posteriors after 0..T queries are held together."""
    return max(FEWEST_IMAGES, min(CPU_BLOCK, POSTERIORS // ((budget + 1) * classes)))


def first_of_the_best(outputs: Float[Tensor, "b k"], rounding: float) -> Int[Tensor, " b"]:
    """Return the query to ask: of those within `rounding` of the largest output, the first."""
    if not rounding:
        return outputs.argmax(dim=1)
    best = outputs.amax(dim=1, keepdim=True)
    return (outputs >= best - rounding).int().argmax(dim=1)


def ranked(outputs: Float[Tensor, "b k"], rounding: float, count: int) -> Int[Tensor, "b m"]:
    """Return the m = `count` best queries (<= k): the one to ask, what to ask without it, ..."""
    taken = torch.zeros_like(outputs, dtype=torch.bool)
    places = []
    for _ in range(count):
        best = outputs.masked_fill(taken, -torch.inf).amax(dim=1, keepdim=True)
        equal = (outputs >= best - rounding) & ~taken
        places.append(equal.int().argmax(dim=1, keepdim=True))
        taken = taken.scatter(1, places[-1], True)
    return torch.cat(places, dim=1)


def any_left(querier: Querier, outputs: Float[Tensor, "b k"]) -> Bool[Tensor, " b"]:
    """Return whether there is a question to ask: not asked yet, and not implied by answers."""
    values = querier.values(outputs).masked_fill(outputs == -torch.inf, -torch.inf)
    return values.amax(dim=1) > -torch.inf


def started(
    function: HistoryFunction, answers: Float[Tensor, "b k"], known: Bool[Tensor, "b k"] | None
) -> IncrementalHistories:
    """Return b histories: empty, or with the answers that are known."""
    histories = function.incremental(len(answers))
    if known is not None:
        histories.start(answers, known)
    return histories


def followed(
    classifier: Classifier,
    querier: IncrementalHistories,
    answers: Float[Tensor, "b k"],
    known: Bool[Tensor, "b k"] | None,
) -> IncrementalHistories:
    """Return b histories of a classifier beside those of a querier, which `started` has made."""
    own = classifier.beside(querier) if isinstance(classifier, Reader) else None
    return started(classifier, answers, known) if own is None else own


class Asking:
    """b images that are asked one query after another, each given its answers so far."""

    def __init__(
        self,
        querier: Querier,
        answers: Float[Tensor, "b k"],
        known: Bool[Tensor, "b k"] | None = None,
    ) -> None:
        self.querier, self.answers = querier, answers
        self.histories = started(querier, answers, known)
        self.asked = torch.zeros_like(answers, dtype=torch.bool)
        if known is not None:
            self.asked |= known

    def ask(
        self, rows: int, forced: int | None = None
    ) -> tuple[Int[Tensor, " r"], Float[Tensor, " r"], Float[Tensor, "r k"]]:
        """Ask one query of each of the first `rows` images; return queries, answers, and outputs.

        All are asked `forced`, unless its answer is known, or each its best query.
        """
        outputs = self.histories.outputs(rows).masked_fill_(self.asked[:rows], -torch.inf)
        queries = first_of_the_best(outputs, self.querier.rounding)
        if forced is not None:
            queries = torch.where(self.asked[:rows, forced], queries, forced)
        self.asked[:rows].scatter_(1, queries.unsqueeze(1), True)
        answers = self.answers[:rows].gather(1, queries.unsqueeze(1)).squeeze(1)
        self.histories.add(queries, answers)
        return queries, answers, outputs

    def keep(self, rows: Int[Tensor, " r"]) -> None:
        """Go on with these images alone."""
        self.answers, self.asked = self.answers[rows], self.asked[rows]
        self.histories.keep(rows)


@torch.no_grad()
def greedy_orders(
    querier: Querier, answers: Float[Tensor, "b k"], lengths: Int[Tensor, " b"], longest: int
) -> Int[Tensor, "b longest"]:
    """Return the queries asked of each image, up to its own length (<= longest).

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
    """Return the `order` of `roll_out` alone: no posterior is computed, nor held."""
    (orders,) = in_blocks(
        lambda block: [_orders(querier, block, [len(block)] * budget, first)], answers
    )
    return orders


def _orders(
    querier: Querier, answers: Tensor, active: list[int], first: int | None = None
) -> Tensor:
    """Return the orders of images of which the first `active[step]` are asked at each step."""
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
    known: Bool[Tensor, "n k"] | None = None,
) -> RollOut:
    """Ask `budget` queries (<= k) of every image and record the posterior after each.

    Args:
        querier: chooses the queries.
        classifier: gives the posteriors.
        answers: of the images to all k queries.
        budget: how many queries, without those whose answers are known.
        first: the query that every image is asked first; None for the querier's choice.
        best: how many of the best queries to record at each step.
        known: which of the answers are known before the first query; None for none.
    """

    def run(block: Tensor, mask: Tensor | None = None) -> RollOut:
        if mask is None:
            active = [len(block)] * budget
            return _roll_out(querier, classifier, block, active, first, best)
        left = (~mask).sum(dim=1)
        by_left = torch.argsort(left, descending=True, stable=True)
        steps = torch.arange(budget, device=left.device).unsqueeze(1)
        active = (left > steps).sum(dim=1).tolist()
        done = _roll_out(querier, classifier, block[by_left], active, first, best, mask[by_left])
        place = torch.argsort(by_left)
        return RollOut(*(each[place] for each in done))

    return RollOut(*in_blocks(run, answers, known))


def _roll_out(
    querier: Querier,
    classifier: Classifier,
    answers: Tensor,
    active: list[int],
    first: int | None,
    best: int,
    known: Tensor | None = None,
) -> RollOut:
    """Ask the first `active[step]` images at each step; the others have no query left."""
    count, budget, device = len(answers), len(active), answers.device
    asking = Asking(querier, answers, known)
    histories = followed(classifier, asking.histories, answers, known)
    best = min(best, answers.shape[1])
    order = torch.full((count, budget), -1, dtype=torch.long, device=device)
    places = torch.zeros(count, budget, best, dtype=torch.long, device=device)
    values = torch.full((count, budget, best), -torch.inf, device=device)
    posteriors = [histories.outputs(count).softmax(dim=1)]
    for step, rows in enumerate(active):
        if not rows:
            posteriors.append(posteriors[-1])
            continue
        queries, answered, outputs = asking.ask(rows, first if step == 0 else None)
        order[:rows, step] = queries
        histories.add(queries, answered)
        after = histories.outputs(rows).softmax(dim=1)
        posteriors.append(after if rows == count else torch.cat([after, posteriors[-1][rows:]]))
        if best:
            top = ranked(outputs, querier.rounding, best)
            meant = querier.values(outputs).masked_fill(outputs == -torch.inf, -torch.inf)
            places[:rows, step], values[:rows, step] = top, meant.gather(1, top)
    answered = answers.gather(1, order.clamp_min(0)).masked_fill(order < 0, torch.nan)
    return RollOut(order, answered, torch.stack(posteriors, dim=1), places, values)


@torch.no_grad()
def ask_until(
    querier: Querier,
    classifier: Classifier,
    answers: Float[Tensor, "n k"],
    stop: StoppingRule,
    first: int | None = None,
    known: Bool[Tensor, "n k"] | None = None,
) -> Ending:
    """Ask each image until the stopping rule holds; images that are done cost nothing more.

    What is known counts as evidence, and as no question; the posterior before any question is the
    one after it.
    """

    def run(block: Tensor, mask: Tensor | None = None) -> Ending:
        return _ask_until(querier, classifier, block, stop, first, mask)

    return Ending(*in_blocks(run, answers, known))


def _ask_until(
    querier: Querier,
    classifier: Classifier,
    answers: Tensor,
    stop: StoppingRule,
    first: int | None,
    known: Tensor | None,
) -> Ending:
    count, budget = len(answers), stop.budget(answers.shape[1])
    asking = Asking(querier, answers, known)
    histories = followed(classifier, asking.histories, answers, known)
    posterior = histories.outputs(count).softmax(dim=1)
    # If nothing is known, all images have the same.
    prior = posterior[:1] if known is None else posterior
    ending = Ending(
        posterior.clone(),
        torch.zeros(count, dtype=torch.long, device=answers.device),
        torch.zeros(count, dtype=torch.bool, device=answers.device),
    )
    waiting = torch.arange(count, device=answers.device)  # images whose questions go on
    unchanged = torch.zeros_like(waiting)

    def end(over: Tensor, holds: Tensor) -> Tensor:
        """Write where images end, and go on with the others; return which of them these are."""
        nonlocal waiting, unchanged, posterior, prior
        rows, left = waiting[over], (~over).nonzero().squeeze(1)
        ending.posterior[rows], ending.length[rows] = posterior[over], step
        ending.held[rows] = holds[over]
        waiting, unchanged, posterior = waiting[left], unchanged[left], posterior[left]
        prior = prior if known is None else prior[left]
        asking.keep(left)
        histories.keep(left)
        return left

    for step in range(budget + 1):
        holds = stop.holds(posterior, unchanged, prior)
        done = holds if step < budget else torch.ones_like(holds)
        if done.any() and not len(end(done, holds)):
            break
        queries, given, outputs = asking.ask(len(waiting), first if step == 0 else None)
        over = ~any_left(querier, outputs)
        if over.any():  # what is left is implied by what was said
            left = end(over, torch.zeros_like(over))
            if not len(left):
                break
            queries, given = queries[left], given[left]
        histories.add(queries, given)
        before = posterior.argmax(dim=1)
        posterior = histories.outputs(len(waiting)).softmax(dim=1)
        unchanged = torch.where(posterior.argmax(dim=1) == before, unchanged + 1, 0)
    return ending
