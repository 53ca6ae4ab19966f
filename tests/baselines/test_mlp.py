import numpy as np
import pytest
import torch

from infopursuit.baselines.baseline import Baseline
from infopursuit.baselines.mlp import MLP, MLPSettings
from infopursuit.datasets.labelled_images import LabelledImages, hold_out

SETTINGS = MLPSettings(
    hidden=32, updates=150, batch_size=64, learning_rate=1e-2, weight_decay=0.0, seed=0
)


def ring(n: int, seed: int) -> LabelledImages:
    """Two classes in turn around a circle, twice: no linear classifier tells them apart."""
    generator = torch.Generator().manual_seed(seed)
    angle = 2 * torch.pi * torch.rand(n, generator=generator)
    labels = (2 * angle / torch.pi).long() % 2
    points = torch.stack([angle.cos(), angle.sin()], dim=1)
    return LabelledImages(tuple(map(str, range(n))), labels, points, ("even", "odd"))


def accuracy(network: MLP, images: LabelledImages) -> float:
    return float(np.equal(network.predict(images.embeddings), images.labels.numpy()).mean())


def test_it_learns_what_no_linear_classifier_can() -> None:
    train, held_out = hold_out(ring(1000, 0), 0.2, 0)
    network = MLP(SETTINGS).fit(train, held_out)
    assert isinstance(network, Baseline)
    assert not network.network_.training
    assert network.held_out_accuracy_ > 0.85
    assert accuracy(network, ring(1000, 1)) > 0.85


def test_probabilities_are_those_of_the_predictions() -> None:
    train, held_out = hold_out(ring(300, 0), 0.2, 0)
    network = MLP(SETTINGS).fit(train, held_out)
    shares = network.predict_proba(held_out.embeddings)
    assert shares.sum(axis=1) == pytest.approx(np.ones(len(shares)), abs=1e-5)
    assert shares.argmax(axis=1).tolist() == network.predict(held_out.embeddings).tolist()


def test_the_weights_kept_are_those_of_the_reported_accuracy() -> None:
    train, held_out = hold_out(ring(300, 0), 0.2, 0)
    network = MLP(SETTINGS).fit(train, held_out)
    assert accuracy(network, held_out) == network.held_out_accuracy_


def test_repeats_are_bitwise_equal_and_leave_the_global_seed_alone() -> None:
    train, held_out = hold_out(ring(200, 0), 0.2, 0)
    before = torch.random.get_rng_state()
    first = MLP(SETTINGS).fit(train, held_out)
    assert torch.equal(before, torch.random.get_rng_state())
    torch.rand(3)
    second = MLP(SETTINGS).fit(train, held_out).network_.state_dict()
    for name, value in first.network_.state_dict().items():
        assert torch.equal(value, second[name]), name
