"""Three clusters of embeddings, one a class."""

import torch
from torch.nn import functional

from infopursuit.datasets.labelled_images import LabelledImages

NAMES = ("cat", "dog", "owl")
CENTRES = functional.normalize(torch.tensor([[1.0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]]), dim=1)


def blobs(n: int, seed: int, noise: float = 0.05) -> LabelledImages:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 3
    moved = CENTRES[labels] + noise * torch.randn(n, 4, generator=generator)
    points = functional.normalize(moved, dim=1)
    return LabelledImages(tuple(map(str, range(n))), labels, points, NAMES)
