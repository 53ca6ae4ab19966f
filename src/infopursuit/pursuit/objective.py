"""The variational objective of Information Pursuit, eq. (vip), on a batch of histories."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.pursuit.networks import HistoryNetwork


def straight_through_choice(
    logits: Float[Tensor, "b k"], asked: Float[Tensor, "b k"], temperature: float | Tensor
) -> Float[Tensor, "b k"]:
    """One-hot of the best query not yet asked, with the gradient of the softmax."""
    soft = (logits.masked_fill(asked > 0, -torch.inf) / temperature).softmax(dim=1)
    hard = functional.one_hot(soft.detach().argmax(dim=1), soft.shape[1]).to(soft.dtype)
    return hard + (soft - soft.detach())


def pursuit_loss(
    querier: HistoryNetwork,
    classifier: HistoryNetwork,
    answers: Float[Tensor, "b k"],
    mask: Float[Tensor, "b k"],
    labels: Int[Tensor, " b"],
    temperature: float | Tensor = 1.0,
) -> Float[Tensor, ""]:
    """Cross-entropy of the classifier on each history plus the query that the querier adds to it.

    Up to the entropy of the labels this is the KL divergence of eq. (vip). The gradient reaches
    the querier through both channels of the grown history.
    """
    choice = straight_through_choice(querier(answers, mask), mask, temperature)
    return functional.cross_entropy(classifier(answers, mask + choice), labels)
