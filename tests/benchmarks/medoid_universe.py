"""A clustered universe on disk, and how well medoids stand for it. Needs torch and numpy alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import normalize

BLOCK = 8192


def write_universe(path: Path, u: int, d: int, concepts: int = 3000, seed: int = 0) -> None:
    """Unit rows in float16: concepts within topics, a few of them very frequent (Zipf's law).

    Two texts of a concept have a cosine of 0.6 to 0.8, two of any kind one of about 0.3. The
    directions differ in how much they vary, as those of an embedding do.
    """
    generator = torch.Generator().manual_seed(seed)
    spread = torch.arange(1.0, d + 1) ** -0.25
    spread /= spread.norm()

    def noise(rows: int) -> torch.Tensor:
        return torch.randn(rows, d, generator=generator) * spread

    def drawn(kinds: int, count: int, power: float) -> torch.Tensor:
        weights = torch.arange(1.0, kinds + 1) ** -power
        return torch.multinomial(weights, count, replacement=True, generator=generator)

    topics = noise(60)
    own = 0.55 * noise(concepts)
    centres = normalize(0.65 * noise(1) + 0.55 * topics[drawn(60, concepts, 0.7)] + own, dim=1)
    shared = 0.6 + 0.2 * torch.rand(concepts, 1, generator=generator)
    rows = np.lib.format.open_memmap(path, "w+", np.float16, (u, d))
    for start in range(0, u, BLOCK):
        concept = drawn(concepts, min(BLOCK, u - start), 1)
        share = shared[concept]
        texts = share.sqrt() * centres[concept] + (1 - share).sqrt() * noise(len(concept))
        rows[start : start + BLOCK] = normalize(texts, dim=1).half().numpy()
    rows.flush()


def deviation(points: np.ndarray, medoids: np.ndarray) -> float:
    """Sum of the distances of all points to the nearest medoid."""
    centres = torch.from_numpy(points[medoids]).float()
    is_medoid = np.zeros(len(points), dtype=bool)
    is_medoid[medoids] = True
    total = 0.0
    for start in range(0, len(points), BLOCK):
        part = torch.from_numpy(points[start : start + BLOCK]).float()
        squares = part.square().sum(dim=1)[:, None] + centres.square().sum(dim=1)
        nearest = (squares - 2 * part @ centres.T).amin(dim=1).clamp(min=0).sqrt()
        nearest[torch.from_numpy(is_medoid[start : start + BLOCK])] = 0
        total += float(nearest.sum(dtype=torch.float64))
    return total
