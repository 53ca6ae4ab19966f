"""A small run of training whose classes are planted."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch.nn.functional import normalize

from infopursuit.pursuit.vip.distributed import Execution
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.pursuit.vip.training import InitialDictionary, Trained, Trainer, TrainingImages

K, D, CLASSES = 8, 24, 6
SETTINGS = VariationalSettings(
    dictionary="alternating",
    hidden=(32, 16),
    random_updates=24,
    biased_updates=24,
    batch_size=32,
    learning_rate=5e-3,
    dictionary_learning_rate=1e-2,
    schedule="cosine",
    temperature=(1.0, 0.2),
    validate_every=12,
)


def planted(images: int, seed: int) -> tuple[TrainingImages, torch.Tensor]:
    """Images near one of six class points, and 60 texts, the last of them near classes."""
    points = normalize(torch.randn(CLASSES, D, generator=torch.Generator().manual_seed(1)), dim=1)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(images) % CLASSES
    noise = 0.1 * torch.randn(images, D, generator=generator)
    texts = normalize(torch.randn(60, D, generator=torch.Generator().manual_seed(2)), dim=1)
    texts[-2 * CLASSES :] = normalize(points.repeat(2, 1) + 0.1 * texts[-2 * CLASSES :], dim=1)
    return TrainingImages(normalize(points[labels] + noise, dim=1), labels, CLASSES), texts


def trainer(
    method: str = "alternating", seed: int = 0, device: str = "cpu", **chosen: object
) -> Trainer:
    """A run of 48 updates that is over in a second."""
    train, universe = planted(240, seed=10)
    validation, _ = planted(60, seed=11)
    settings = replace(SETTINGS, dictionary=method, **chosen)  # type: ignore[arg-type]
    dictionary = InitialDictionary(universe, torch.arange(K))
    return Trainer(train, validation, dictionary, settings, K, seed, Execution(device))


def weights(trained: Trained) -> list[torch.Tensor]:
    """The queries, and all weights of the networks."""
    networks = (trained.querier, trained.classifier)
    return [trained.queries, *(p for n in networks for p in n.state_dict().values())]
