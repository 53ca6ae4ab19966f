import torch

from infopursuit.evaluation.black_box import (
    BlackBoxSettings,
    correct_predictions,
    train_black_box,
)
from infopursuit.pursuit.images import LabelledImages, hold_out

SETTINGS = BlackBoxSettings(
    hidden=32, updates=150, batch_size=64, learning_rate=1e-2, weight_decay=0.0, seed=0
)


def ring(n: int, seed: int) -> LabelledImages:
    """Two classes in turn around a circle, twice: no linear classifier tells them apart."""
    generator = torch.Generator().manual_seed(seed)
    angle = 2 * torch.pi * torch.rand(n, generator=generator)
    labels = (2 * angle / torch.pi).long() % 2
    points = torch.stack([angle.cos(), angle.sin()], dim=1)
    return LabelledImages(tuple(map(str, range(n))), labels, points, ("even", "odd"))


def test_it_learns_what_no_linear_classifier_can() -> None:
    train, held_out = hold_out(ring(1000, 0), 0.2, 0)
    network, accuracy = train_black_box(train, held_out, SETTINGS)
    assert not network.training
    assert accuracy > 0.85
    assert correct_predictions(network, ring(1000, 1)).double().mean() > 0.85


def test_the_weights_kept_are_those_of_the_reported_accuracy() -> None:
    train, held_out = hold_out(ring(300, 0), 0.2, 0)
    network, accuracy = train_black_box(train, held_out, SETTINGS)
    assert float(correct_predictions(network, held_out).double().mean()) == accuracy


def test_repeats_are_bitwise_equal_and_leave_the_global_seed_alone() -> None:
    train, held_out = hold_out(ring(200, 0), 0.2, 0)
    before = torch.random.get_rng_state()
    first, _ = train_black_box(train, held_out, SETTINGS)
    assert torch.equal(before, torch.random.get_rng_state())
    torch.rand(3)
    second, _ = train_black_box(train, held_out, SETTINGS)
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name
