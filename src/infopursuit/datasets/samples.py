"""Which images of many: those held out, and samples of a stated size."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from infopursuit.core.errors import InputError

# Of each class, where it has them: one to learn from, and one to hold out.
LEAST_OF_A_CLASS = 2


def held_out_rows(
    labels: Int[Tensor, " n"], class_names: Sequence[str], share: float, seed: int
) -> tuple[Int[Tensor, " m"], Int[Tensor, " h"]]:
    """The rows to train on and those to hold out, both sorted; as `hold_out` draws them.

    Raises:
        InputError: a class has fewer than two images.
    """
    generator = torch.Generator().manual_seed(seed)
    kept: list[Tensor] = []
    held: list[Tensor] = []
    for label, name in enumerate(class_names):
        rows = torch.nonzero(labels == label).squeeze(1)
        if len(rows) < 2:
            raise InputError(
                f"class {name!r} has {len(rows)} training images; expected at least 2, "
                "one of them held out for selection"
            )
        rows = rows[torch.randperm(len(rows), generator=generator)]
        count = min(max(1, round(share * len(rows))), len(rows) - 1)
        held.append(rows[:count])
        kept.append(rows[count:])
    return torch.cat(kept).sort().values, torch.cat(held).sort().values


def even_sample(
    labels: Int[Tensor, " n"], size: int, generator: torch.Generator
) -> Int[Tensor, " m"]:
    """Sorted places of at most `size` images, of each class as many as of any other, or all."""
    if len(labels) <= size:
        return torch.arange(len(labels))
    turn = _turns(labels, torch.randperm(len(labels), generator=generator))
    return turn.argsort(stable=True)[:size].sort().values


def spread_sample(labels: Int[Tensor, " n"], size: int, seed: int = 0) -> Int[Tensor, " m"]:
    """Sorted places of about `size` images, of each class in proportion to its images.

    So a mean over the sample estimates the mean over all. The size is that asked for, less the
    fractions that classes lose by rounding down, plus what rare classes have more than their share:
    each has LEAST_OF_A_CLASS images, or all.
    """
    if len(labels) <= size:
        return torch.arange(len(labels))
    counts = torch.bincount(labels)
    shares = torch.maximum(counts * size // len(labels), counts.clamp(max=LEAST_OF_A_CLASS))
    generator = torch.Generator().manual_seed(seed)
    turn = _turns(labels, torch.randperm(len(labels), generator=generator))
    return torch.nonzero(turn < shares[labels]).squeeze(1)


def _turns(labels: Int[Tensor, " n"], order: Int[Tensor, " n"]) -> Int[Tensor, " n"]:
    """The how-many-eth of its class each image is, in an order of all images."""
    by_class = order[labels[order].argsort(stable=True)]
    counts = torch.bincount(labels)
    starts = counts.cumsum(0) - counts
    turn = torch.empty_like(labels)
    turn[by_class] = torch.arange(len(labels)) - starts[labels[by_class]]
    return turn
