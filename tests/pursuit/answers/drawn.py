"""Random numbers that are the same in every run."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize


def drawn(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal, float32."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def unit(*shape: int, seed: int = 0) -> Tensor:
    """Rows of unit norm."""
    return normalize(drawn(*shape, seed=seed), dim=1)


def counts(size: int, most: int = 3, seed: int = 0) -> Tensor:
    """(size,) whole numbers from 1 to `most`: weights that are repeats."""
    return torch.randint(1, most + 1, (size,), generator=torch.Generator().manual_seed(seed))
