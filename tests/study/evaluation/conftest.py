"""A small untrained pursuit with networks, a fitted model, and images they can be asked about."""

import pytest
import torch
from torch.nn import functional

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.provenance import RunProvenance
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


@pytest.fixture
def model(images: LabelledImages) -> InformationPursuitClassifier:
    """Naive Bayes, with the provenance that the stage train gives it."""
    names = [NAMES[label] for label in images.labels.tolist()]
    fitted = InformationPursuitClassifier(QUERIES, texts(), queries=list(QUERIES))
    fitted.fit(images.embeddings, names)
    settings = {"method": "naive_bayes", "select_on": "held_out"}
    fitted.provenance_ = RunProvenance(
        "menagerie", "llm", "naive_bayes", 0, settings, 5, "clip", {}
    ).as_values()
    return fitted
