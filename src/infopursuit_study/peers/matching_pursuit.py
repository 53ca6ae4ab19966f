"""Optimised orthogonal matching pursuit of many signals at once."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

# Signals whose correlations are held at once.
BLOCK = 256
# An atom with less of its norm left is a combination of those chosen.
NOTHING_NEW = 1e-4


class Pursued(NamedTuple):
    """The t atoms that each signal chose, in order, and their inner products with it."""

    order: Int[Tensor, "n t"]
    inner: Float[Tensor, "n t"]


def matching_pursuit(
    signals: Float[Tensor, "n d"],
    atoms: Float[Tensor, "m d"],
    count: int,
    gram: Float[Tensor, "m m"],
) -> Pursued:
    """Choose `count` atoms for each signal, one by one; `gram` has their inner products.

    With P the projection onto what the chosen atoms do not span, and x a signal, the next atom a
    has the largest |<P a, x>| / |P a|. That is Information Pursuit where signals are Gaussian
    (IP-OMP; Chattopadhyay, Pilgrim and Vidal, NeurIPS 2023), which signal processing calls
    optimised OMP.
    Correlations are updated, never computed again: O(count^2 n m).
    """
    chosen = [_pursued(block @ atoms.T, gram, count) for block in signals.split(BLOCK)]
    return Pursued(*(torch.cat(parts) for parts in zip(*chosen, strict=True)))


def _pursued(inner: Float[Tensor, "b m"], gram: Float[Tensor, "m m"], count: int) -> Pursued:
    rows = torch.arange(len(inner))
    correlation = inner.clone()
    left = gram.diagonal().expand_as(inner).clone()  # squared norms of what is left of each atom
    basis = inner.new_zeros(len(inner), count, inner.shape[1])  # of the chosen atoms, times all
    order = torch.zeros(len(inner), count, dtype=torch.long)
    for step in range(count):
        gain = correlation.abs() / left.clamp_min(NOTHING_NEW**2).sqrt()
        gain = gain.masked_fill(left <= NOTHING_NEW, -1.0)
        gain.scatter_(1, order[:, :step], -1.0)
        best = gain.argmax(dim=1)
        order[:, step] = best
        before = basis[:, :step]
        share = gram[best] - torch.einsum("bj,bjm->bm", before[rows, :, best], before)
        size = left[rows, best].clamp_min(NOTHING_NEW**2).sqrt()
        share = share / size.unsqueeze(1)
        basis[:, step] = share
        correlation = correlation - share * (correlation[rows, best] / size).unsqueeze(1)
        left = (left - share.square()).clamp_min(0)
    return Pursued(order, inner.gather(1, order))


def coefficients(pursued: Pursued, atoms: Float[Tensor, "m d"], count: int) -> Float[Tensor, "n t"]:
    """Return the least-squares coefficients of the first `count` atoms of each signal."""
    chosen = atoms[pursued.order[:, :count]]  # (n, t, d)
    gram = chosen @ chosen.transpose(1, 2)
    gram = gram + 1e-6 * torch.eye(count)
    return torch.linalg.solve(gram, pursued.inner[:, :count].unsqueeze(2)).squeeze(2)
