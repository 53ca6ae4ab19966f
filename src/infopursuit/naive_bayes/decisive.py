"""The few answers that decide: chosen among all, so that alone they lead to the same belief.

After all k answers of an image the posterior is p. A set S of its answers grows by one at a time,
by the answer a_i that brings the posterior of S closest to p. What it gains is

    KL(p || P(y | S)) - KL(p || P(y | S, a_i))
        = sum_y p(y) log P(a_i | y) - log sum_y P(y | S) P(a_i | y)

where both posteriors are tempered by the number of answers (`AnswerTable`). The sums over classes
are products of matrices for all answers at once. An answer that follows from one that is chosen
already (turtle, after sea turtle) comes after all that do not.

Such a set is a sufficient input subset of the decision (Carter et al., "What made you do this?",
AISTATS 2019, who take inputs away in place of adding them). It is no pursuit: every question has
been answered before the first is chosen.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.naive_bayes.model import ROUNDING, InformationGain, NaiveBayes
from infopursuit.pursuit.rollout import CPU_BLOCK, GPU_BLOCK, RollOut, first_of_the_best


class Enough(NamedTuple):
    """How many of the chosen answers are enough.

    Attributes:
        counts: of each image.
        decided: whether they are enough, rather than all that were chosen.
    """

    counts: Int[Tensor, " n"]
    decided: Bool[Tensor, " n"]


@torch.no_grad()
def decisive_answers(
    classifier: NaiveBayes,
    answers: Float[Tensor, "n k"],
    budget: int,
    querier: InformationGain | None = None,
) -> RollOut:
    """The `budget` (<= k) answers of each image that decide most, the most decisive first.

    Answers that follow from others come after all others, those of not sure after them. An answer
    between two levels is chosen as the nearer one, and its own evidence is added up.

    Args:
        classifier: the table.
        answers: to all k queries.
        budget: how many answers.
        querier: says what the gain of each query counts, and which queries need no asking after
            which (`worth`, `put_off`); None for 1 each, and none.

    Returns:
        `best` is the answer itself, and `values` its gain, in nats.
    """
    size = CPU_BLOCK if answers.is_cpu else GPU_BLOCK
    blocks = [_decisive(classifier, block, budget, querier) for block in answers.split(size)]
    return RollOut(*(torch.cat(parts) for parts in zip(*blocks, strict=True)))


def _decisive(
    classifier: NaiveBayes, answers: Tensor, budget: int, querier: InformationGain | None
) -> RollOut:
    rows, device = len(answers), answers.device
    worth, put_off = (None, None) if querier is None else (querier.worth, querier.put_off)
    table = classifier.exact
    level = table.level_of(answers)
    unsure = 2 * level == table.levels - 1
    goal = believed(classifier, answers)
    expected = _at_level(torch.stack([goal @ each.T for each in table.log_likelihood]), level)
    history = classifier.incremental(rows)
    taken, late = torch.zeros_like(unsure), torch.zeros_like(unsure)
    order = torch.zeros(rows, budget, dtype=torch.long, device=device)
    values = torch.zeros(rows, budget, dtype=torch.float64, device=device)
    posteriors = [history.outputs(rows).softmax(dim=1)]
    for step in range(budget):
        wear = 1 + (step + 1) / table.independent_answers
        now = (history.sum / wear).softmax(dim=1)
        likely = (table.log_likelihood / wear).exp()
        surprise = _at_level(torch.stack([now @ each.T for each in likely]), level).log()
        gains = expected / wear - surprise
        counted = gains if worth is None else torch.where(gains > 0, gains * worth, gains)
        open_ = _first_with_any(~(taken | unsure | late), ~(taken | unsure), ~taken)
        chosen = first_of_the_best(counted.masked_fill(~open_, -torch.inf), ROUNDING)
        given = answers.gather(1, chosen.unsqueeze(1)).squeeze(1)
        order[:, step] = chosen
        values[:, step] = gains.gather(1, chosen.unsqueeze(1)).squeeze(1)
        taken.scatter_(1, chosen.unsqueeze(1), True)
        if put_off is not None:
            late |= put_off.after(chosen, given)
        history.add(chosen, given)
        posteriors.append(history.outputs(rows).softmax(dim=1))
    return RollOut(
        order,
        answers.gather(1, order),
        torch.stack(posteriors, dim=1),
        order.unsqueeze(2),
        values.unsqueeze(2),
    )


@torch.no_grad()
def believed(classifier: NaiveBayes, answers: Float[Tensor, "n k"]) -> Float[Tensor, "n c"]:
    """The posterior after all k answers, in float64."""
    return classifier(answers, torch.ones_like(answers)).double().softmax(dim=1)


def enough(
    posteriors: Float[Tensor, "n T1 c"], goal: Float[Tensor, "n c"], probability: float
) -> Enough:
    """After how many answers the class of all answers leads and is probable enough.

    That is `probability`, or what it is after all answers, where that is less.

    Args:
        posteriors: after 0..T of the chosen answers.
        goal: after all answers.
        probability: in (0, 1].
    """
    leader = goal.argmax(dim=1, keepdim=True)
    needed = goal.gather(1, leader).clamp_max(probability)
    leads = posteriors.argmax(dim=2) == leader
    reached = posteriors.gather(2, leader.unsqueeze(1).expand(-1, posteriors.shape[1], -1))
    met = leads & (reached.squeeze(2) >= needed)
    last = posteriors.shape[1] - 1
    decided = met.any(dim=1)
    return Enough(torch.where(decided, met.int().argmax(dim=1), last), decided)


def _first_with_any(*masks: Bool[Tensor, "n k"]) -> Bool[Tensor, "n k"]:
    """Of each row that of the first mask that has a True there; the last where none has."""
    found = masks[-1]
    for mask in reversed(masks[:-1]):
        found = torch.where(mask.any(dim=1, keepdim=True), mask, found)
    return found


def _at_level(values: Float[Tensor, "v n k"], level: Int[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """Of each answer the value at its level."""
    return values.gather(0, level.unsqueeze(0)).squeeze(0)
