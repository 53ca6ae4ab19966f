"""Slow, obvious versions of what the engine does, written from the definitions."""

from __future__ import annotations

import torch
from torch import Tensor


def answers(images: Tensor, queries: Tensor, hard: bool) -> Tensor:
    """Eqs. (soft query answers) and (hard answer), one image and one query at a time."""
    result = torch.zeros(len(images), len(queries), dtype=images.dtype)
    for i, image in enumerate(images):
        cosines = [torch.dot(image, q) / (image.norm() * q.norm()) for q in queries]
        low, high = min(cosines), max(cosines)
        for j, cosine in enumerate(cosines):
            soft = (cosine - low) / (high - low) if high > low else torch.zeros(())
            result[i, j] = float(soft > 0.5) if hard else soft
    return result


def network(module: torch.nn.Module, given: Tensor, mask: Tensor) -> Tensor:
    """The architecture of the appendix for one history (k,), channel by channel."""
    outputs = []
    for channel in (given * mask, mask):
        x = module.first.weight @ channel + module.first.bias
        norm, _, second, norm2, _ = module.rest
        x = torch.relu(torch.nn.functional.layer_norm(x, x.shape, norm.weight, norm.bias))
        x = second.weight @ x + second.bias
        x = torch.relu(torch.nn.functional.layer_norm(x, x.shape, norm2.weight, norm2.bias))
        outputs.append(x)
    return module.head.weight @ torch.cat(outputs) + module.head.bias


@torch.no_grad()
def greedy_order(querier: torch.nn.Module, given: Tensor, steps: int) -> tuple[list[int], float]:
    """The queries asked of one image, and the smallest lead of a choice over the runner-up."""
    order: list[int] = []
    margin = float("inf")
    for _ in range(steps):
        mask = torch.zeros_like(given)
        mask[order] = 1
        logits = network(querier, given, mask)
        logits[order] = -torch.inf
        best = logits.topk(min(2, len(logits))).values
        if len(best) == 2:
            margin = min(margin, float(best[0] - best[1]))
        order.append(int(logits.argmax()))
    return order, margin


@torch.no_grad()
def loss(
    querier: torch.nn.Module,
    classifier: torch.nn.Module,
    given: Tensor,
    masks: Tensor,
    labels: Tensor,
) -> float:
    """Mean cross-entropy after the one query that the querier adds to each history."""
    total = 0.0
    for row, mask, label in zip(given, masks, labels, strict=True):
        logits = network(querier, row, mask).masked_fill(mask.bool(), -torch.inf)
        grown = mask.clone()
        grown[logits.argmax()] = 1
        total -= float(network(classifier, row, grown).log_softmax(0)[label])
    return total / len(labels)
