"""The loop of Information Pursuit for one image, each history computed from its start."""

from __future__ import annotations

from typing import NamedTuple

import torch

from infopursuit.pursuit.pursuit import Pursuit


class Asked(NamedTuple):
    order: list[int]
    posteriors: list[torch.Tensor]
    ranked: list[list[int]]  # queries not asked yet at each step, the best first
    values: list[torch.Tensor]  # of all queries at each step


@torch.no_grad()
def ask(
    pursuit: Pursuit, answers: torch.Tensor, budget: int, known: torch.Tensor | None = None
) -> Asked:
    """Ask `budget` queries of the image with these answers (k,), those left after the known."""
    mask = torch.zeros_like(answers) if known is None else known.to(answers)
    found = Asked([], [_posterior(pursuit, answers, mask)], [], [])
    for step in range(min(budget, int((mask == 0).sum()))):
        outputs = pursuit.querier(answers[None], mask[None])[0].masked_fill(mask > 0, -torch.inf)
        left = [query for query in range(len(mask)) if not mask[query]]
        found.ranked.append(sorted(left, key=lambda query, of=outputs: -float(of[query])))
        found.values.append(pursuit.querier.values(outputs[None])[0])
        forced = step == 0 and pursuit.first in left
        query = pursuit.first if forced and pursuit.first is not None else found.ranked[-1][0]
        mask[query] = 1
        found.order.append(query)
        found.posteriors.append(_posterior(pursuit, answers, mask))
    return found


def _posterior(pursuit: Pursuit, answers: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return pursuit.classifier(answers[None], mask[None])[0].softmax(dim=0)
