"""A few answers that suffice: chosen from all, so that alone they lead to the same posterior.

After all k answers of an image the posterior is p. A set S of its answers grows by one at a time,
by the answer a_i that brings the posterior of S closest to p. What it gains is

    KL(p || P(y | S)) - KL(p || P(y | S, a_i))
        = sum_y p(y) log P(a_i | y) - log sum_y P(y | S) P(a_i | y)

where both posteriors are tempered by the number of answers (`AnswerTable`). The sums over classes
are products of matrices for all answers at once. An answer that follows from a chosen one (turtle,
after sea turtle) comes after all that do not, and no explanation shows it.

Such a set is a sufficient input subset of the decision (Carter et al., "What made you do this?",
AISTATS 2019, who remove inputs instead of adding them). It is not a pursuit: every question has
been answered before the first one is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.pursuit.answers.rules import NOT_SURE
from infopursuit.pursuit.explanation import Explanation, rounded
from infopursuit.pursuit.naive_bayes.model import ROUNDING, InformationGain, NaiveBayes
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.rollout import RollOut, first_of_the_best, in_blocks
from infopursuit.pursuit.stopping import Ended, StoppingRule


@torch.no_grad()
def full_posterior(classifier: NaiveBayes, answers: Float[Tensor, "n k"]) -> Float[Tensor, "n c"]:
    """Return the posterior after all k answers, in float64."""
    return classifier(answers, torch.ones_like(answers)).double().softmax(dim=1)


@torch.no_grad()
def sufficient_subset(
    classifier: NaiveBayes,
    answers: Float[Tensor, "n k"],
    budget: int,
    querier: InformationGain | None = None,
    goal: Callable[[NaiveBayes, Tensor], Tensor] = full_posterior,
) -> RollOut:
    """Choose the `budget` (<= k) answers that decide most, the most decisive first.

    Redundant answers come after all others, and answers of not sure after them. An answer between
    two levels is chosen as the nearer one, and its own evidence is added up.

    Args:
        goal: gives the posteriors (n, c) to come close to, in float64.

    Returns:
        In `best` the answer itself, and in `values` its gain in nats, -inf if it is implied.
    """
    return RollOut(
        *in_blocks(
            lambda block: _sufficient_subset(
                classifier, block, budget, querier, goal(classifier, block)
            ),
            answers,
        )
    )


def _sufficient_subset(
    classifier: NaiveBayes,
    answers: Tensor,
    budget: int,
    querier: InformationGain | None,
    goal: Tensor,
) -> RollOut:
    rows, device = len(answers), answers.device
    weights = None if querier is None else querier.query_weights
    redundant = None if querier is None else querier.redundant
    table = classifier.exact
    if table is None:
        raise InputError(
            "answers that decide: what an answer says depends on the others, as classes have "
            "subclasses; expected a model with rates='counted' or 'fitted'"
        )
    level = table.level_of(answers)
    # With an even number of levels none of them is "not sure": such an answer is a gap of a table.
    gap = (answers == NOT_SURE) & (2 * level != table.levels - 1)
    unsure = (2 * level == table.levels - 1) | gap
    expected = _at_level(torch.stack([goal @ each.T for each in table.log_likelihood]), level)
    history = classifier.incremental(rows)
    taken, late = torch.zeros_like(unsure), torch.zeros_like(unsure)
    order = torch.zeros(rows, budget, dtype=torch.long, device=device)
    values = torch.zeros(rows, budget, dtype=torch.float64, device=device)
    posteriors = [history.outputs(rows).softmax(dim=1)]
    for step in range(budget):
        divisor = table.divisor(step + 1)
        now = table.logits(history.sum, divisor).softmax(dim=1)
        likely = (table.log_likelihood / divisor).exp()
        surprise = _at_level(torch.stack([now @ each.T for each in likely]), level).log()
        gains = (expected / divisor - surprise).masked_fill(gap, 0.0)
        weighted = gains if weights is None else torch.where(gains > 0, gains * weights, gains)
        eligible = _first_with_any(~(taken | unsure | late), ~(taken | late), ~taken)
        chosen = first_of_the_best(weighted.masked_fill(~eligible, -torch.inf), ROUNDING)
        given = answers.gather(1, chosen.unsqueeze(1)).squeeze(1)
        order[:, step] = chosen
        implied = late.gather(1, chosen.unsqueeze(1)).squeeze(1)
        gained = gains.gather(1, chosen.unsqueeze(1)).squeeze(1)
        values[:, step] = gained.masked_fill(implied, -torch.inf)
        taken.scatter_(1, chosen.unsqueeze(1), True)
        if redundant is not None:
            late |= redundant.mask_after(chosen, given)
        history.add(chosen, given)
        posteriors.append(history.outputs(rows).softmax(dim=1))
    return RollOut(
        order,
        answers.gather(1, order),
        torch.stack(posteriors, dim=1),
        order.unsqueeze(2),
        values.unsqueeze(2),
    )


def sufficient_counts(
    posteriors: Float[Tensor, "n T1 c"], goal: Float[Tensor, "n c"], probability: float
) -> tuple[Int[Tensor, " n"], Bool[Tensor, " n"]]:
    """Return after how many answers the class of all answers leads and is probable enough.

    That is what a `StoppingRule` of `probability` needs, or what it is after all answers, if that
    is less.

    Returns:
        The count of each image, and whether it suffices; if not, the count is T.
    """
    leader = goal.argmax(dim=1, keepdim=True)
    before, first = posteriors[:, 0].max(dim=1)
    needed = StoppingRule(probability).needed(leader.squeeze(1), first, before).unsqueeze(1)
    needed = torch.minimum(goal.gather(1, leader), needed.to(goal.dtype))
    leads = posteriors.argmax(dim=2) == leader
    reached = posteriors.gather(2, leader.unsqueeze(1).expand(-1, posteriors.shape[1], -1))
    met = leads & (reached.squeeze(2) >= needed)
    sufficient = met.any(dim=1)
    most = posteriors.shape[1] - 1
    return torch.where(sufficient, met.int().argmax(dim=1), most), sufficient


def _first_with_any(*masks: Bool[Tensor, "n k"]) -> Bool[Tensor, "n k"]:
    """Return, for each row, its part of the first mask with a True in it, else of the last mask."""
    result = masks[-1]
    for mask in reversed(masks[:-1]):
        result = torch.where(mask.any(dim=1, keepdim=True), mask, result)
    return result


def _at_level(values: Float[Tensor, "v n k"], level: Int[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """Return the value of each answer at its level."""
    return values.gather(0, level.unsqueeze(0)).squeeze(0)


def decided(
    pursuit: Pursuit,
    answers: Float[Tensor, "n k"],
    probability: float,
    most: int,
    stop: StoppingRule,
    images: Sequence[str],
    true_classes: Sequence[str | None] | None = None,
    overridden: Sequence[int] = (),
) -> list[Explanation]:
    """Explain n images by at most `most` of their answers, until a class is this probable.

    Args:
        pursuit: with naive Bayes.
        answers: of n images to all k queries.
        probability: that is enough, in (0, 1].
        most: the largest number of answers.
        stop: when a pursuit asks no more, to compare with.
        images: n ids or paths.
        true_classes: n class names, None if unknown.
        overridden: queries whose answers a person gave.
    """
    k = len(pursuit.queries)
    classifier = cast(NaiveBayes, pursuit.classifier)
    querier = cast(InformationGain, pursuit.querier)
    rolled = sufficient_subset(classifier, answers, min(most, k), querier)
    goal = full_posterior(classifier, answers)
    counts, sufficient = sufficient_counts(rolled.posteriors, goal, probability)
    new = (rolled.values[:, :, 0] > -torch.inf).sum(dim=1)
    counts, sufficient = counts.minimum(new), sufficient & (counts <= new)
    rule = StoppingRule(probability, stability=None)
    ended: list[Ended] = [
        ("probability" if rule.now(course[: count + 1]) else "all answers")
        if suffices
        else "maximum"
        for course, count, suffices in zip(
            rolled.posteriors, counts.tolist(), sufficient.tolist(), strict=True
        )
    ]
    explained = pursuit.explanations_from_rollout(
        rolled, counts, ended, answers, images, true_classes, overridden, k
    )
    asked = pursuit.ask_until(answers, stop)

    def outcome(posterior: Tensor, count: int) -> tuple[str, float, int]:
        leader = int(posterior.argmax())
        (probability,) = rounded([float(posterior[leader])])
        return pursuit.class_names[leader], probability, count

    return [
        replace(
            each,
            compared={
                "asked": outcome(asked.posterior[row], int(asked.length[row])),
                "all": outcome(goal[row], k),
            },
        )
        for row, each in enumerate(explained)
    ]
