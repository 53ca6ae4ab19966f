"""Where rounding in float32 changes what a roll-out asks: how many images, how close a call."""

from __future__ import annotations

import torch

from infopursuit.pursuit.rollout import roll_out
from infopursuit.vip.histories import prefix_masks
from tests.benchmarks.engine_step import EngineStep
from tests.benchmarks.naive import Naive


@torch.no_grad()
def margins(engine: EngineStep, naive: Naive, images: int = 1024) -> dict[str, float]:
    """Compare the orders of engine and naive implementation, which have the same weights.

    Returns:
        other_orders: the share of images asked in another order at all.
        closest_calls: of those, the largest lead (in logits) of a choice over the other one where
            the two first part.
    """
    updates = engine.updates
    answers = updates.answers(engine.images[:images])
    k = answers.shape[1]
    budget = min(128, k)
    found = roll_out(updates.querier, updates.classifier, answers, budget).order
    expected, _ = naive.evaluate(engine.images[:images], budget)
    differs = found != expected
    some = differs.any(dim=1).nonzero().squeeze(1)
    if not len(some):
        return {"other_orders": 0.0, "closest_calls": 0.0}
    first = differs[some].long().argmax(dim=1)
    logits = naive.querier(answers[some], prefix_masks(expected[some], first, k))
    at = first.unsqueeze(1)
    choices = torch.cat((expected[some].gather(1, at), found[some].gather(1, at)), dim=1)
    leads = logits.gather(1, choices).diff(dim=1).abs()
    return {"other_orders": len(some) / images, "closest_calls": leads.max().item()}
