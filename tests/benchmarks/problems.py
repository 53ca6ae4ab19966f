"""Made-up embeddings of any size that behave like CLIP's: clustered, with a common mean."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

from infopursuit.vip.training import TrainingImages


class Problem(NamedTuple):
    """Images with labels, a universe (u, d) float16, and the rows the dictionary starts from."""

    images: TrainingImages
    universe: Tensor
    initial: Tensor


def problem(
    images: int, u: int, k: int, d: int = 768, classes: int = 10, topics: int = 2000, seed: int = 0
) -> Problem:
    """Texts around `topics` centres, cosines of about 0.65 between any two; images near classes."""
    mean, centres, universe = _texts(u, d, topics, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    labels = torch.arange(images) % classes
    points = _noise(generator, d) + 0.6 * _noise(generator, classes, d)
    points = points + 0.4 * centres[torch.arange(classes) % len(centres)] + 0.2 * mean
    embeddings = normalize(points[labels] + 0.6 * _noise(generator, images, d), dim=1)
    initial = torch.randperm(u, generator=generator)[:k]
    return Problem(TrainingImages(embeddings, labels, classes), universe, initial)


@lru_cache(maxsize=1)
def _texts(u: int, d: int, topics: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """The mean of all texts (d,), the centres of the topics, and u texts around them."""
    generator = torch.Generator().manual_seed(seed)
    mean, centres = _noise(generator, d), _noise(generator, min(topics, u), d)
    universe = torch.empty(u, d, dtype=torch.float16)
    for start in range(0, u, 65536):
        rows = min(65536, u - start)
        topic = torch.randint(len(centres), (rows,), generator=generator)
        texts = 1.4 * mean + 0.8 * centres[topic] + 0.6 * _noise(generator, rows, d)
        universe[start : start + rows] = normalize(texts, dim=1).half()
    return mean, centres, universe


def _noise(generator: torch.Generator, *shape: int) -> Tensor:
    """Gaussian vectors of about unit norm."""
    return torch.randn(*shape, generator=generator) / shape[-1] ** 0.5
