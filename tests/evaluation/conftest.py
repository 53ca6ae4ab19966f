"""A small untrained model and images it can be asked about."""

import pytest
import torch
from torch.nn import functional

from infopursuit.pursuit.images import LabelledImages
from infopursuit.pursuit.model import TrainedModel
from infopursuit.pursuit.networks import HistoryNetwork

K, D, NAMES = 7, 5, ("cat", "dog", "owl")


@pytest.fixture
def model() -> TrainedModel:
    torch.manual_seed(0)
    return TrainedModel(
        querier=HistoryNetwork(K, K, (8, 4)).eval(),
        classifier=HistoryNetwork(K, 3, (8, 4)).eval(),
        embeddings=functional.normalize(torch.randn(K, D), dim=1),
        queries=tuple(f"query {i}" for i in range(K)),
        class_names=NAMES,
        budget=5,
        settings={"recipe": {"answers": "minmax", "hidden": [8, 4], "select_on": "held_out"}},
        evolution={},
    )


@pytest.fixture
def images() -> LabelledImages:
    generator = torch.Generator().manual_seed(1)
    points = functional.normalize(torch.randn(20, D, generator=generator), dim=1)
    return LabelledImages(tuple(map(str, range(20))), torch.arange(20) % 3, points, NAMES)
