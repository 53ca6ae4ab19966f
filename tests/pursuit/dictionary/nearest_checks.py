"""Nearest texts on a device, against the exact search on the CPU. Needs torch alone."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from infopursuit.pursuit.dictionary.learnable import LearnableDictionary
from infopursuit.pursuit.dictionary.nearest_texts import closeness, nearest_texts


def check_nearest(device: str, u: int = 5_000, k: int = 64, d: int = 768) -> None:
    """As close as the exact ones up to the rounding of float32, and the same in float64."""
    generator = torch.Generator().manual_seed(0)
    universe = normalize(torch.randn(u, d, generator=generator), dim=1).half()
    theta = universe[:k].float() + 0.02 * torch.randn(k, d, generator=generator)
    exact = nearest_texts(theta, universe)
    there = universe.to(device)
    in_double = nearest_texts(theta.double().to(device), there).cpu()
    assert torch.equal(in_double, exact)
    rounded = nearest_texts(theta.to(device), there).cpu()
    assert lead(theta, universe, rounded) <= 1e-5


def lead(theta: Tensor, universe: Tensor, rows: Tensor) -> float:
    """By how much the exact nearest texts are closer, at most, than those in `rows`; 0 if equal."""
    points, exact = theta.double(), nearest_texts(theta, universe)
    ahead = closeness(points, universe[exact]) - closeness(points, universe[rows])
    return float(ahead.max())


def check_snap(device: str) -> None:
    """A dictionary whose thetas were moved onto other texts stands for those."""
    generator = torch.Generator().manual_seed(1)
    universe = normalize(torch.randn(500, 32, generator=generator), dim=1).half()
    moved = torch.randperm(500, generator=generator)[:20].to(device)
    dictionary = LearnableDictionary(universe.to(device), torch.arange(20, device=device))
    dictionary = dictionary.to(device)
    with torch.no_grad():
        dictionary.theta.copy_(universe.to(device)[moved].float())
    dictionary.snap()
    assert torch.equal(dictionary.rows, moved)
