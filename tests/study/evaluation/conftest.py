"""A small untrained pursuit with networks, a fitted model, and images they can be asked about."""

import pytest
import torch
from torch.nn import functional

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.pursuit.answers.rules import MinMaxAnswers
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.vip.networks import HistoryNetwork

K, D, NAMES = 7, 5, ("cat", "dog", "owl")
QUERIES = tuple(f"query {i}" for i in range(K))


def texts() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return functional.normalize(torch.randn(K, D, generator=generator), dim=1)


@pytest.fixture
def pursuit() -> Pursuit:
    torch.manual_seed(0)
    networks = HistoryNetwork(K, K, (8, 4)).eval(), HistoryNetwork(K, 3, (8, 4)).eval()
    return Pursuit(QUERIES, NAMES, MinMaxAnswers(texts()), *networks)


@pytest.fixture
def images() -> LabelledImages:
    generator = torch.Generator().manual_seed(1)
    points = functional.normalize(torch.randn(20, D, generator=generator), dim=1)
    return LabelledImages(tuple(map(str, range(20))), torch.arange(20) % 3, points, NAMES)
