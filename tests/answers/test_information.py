"""Information against its definition: sums over classes and answers."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from infopursuit.answers.information import (
    binary_entropy,
    entropy,
    information_gain,
)
from tests.answers.drawn import drawn


def gain_slowly(posterior: Tensor, likelihood: Tensor) -> float:
    """Mutual information of a class (c,) and an answer (v, c)."""
    total = 0.0
    for of_answer in likelihood:
        joint = posterior * of_answer
        total += float((joint * (joint / joint.sum() / posterior).log()).sum())
    return total


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_information_gain_is_the_mutual_information_of_answer_and_class(levels: int) -> None:
    posterior = drawn(3, 4).double().softmax(dim=1)
    likelihood = drawn(levels, 5, 4, seed=1).double().softmax(dim=0)
    gains = information_gain(posterior, likelihood, entropy(likelihood))
    for image in range(3):
        for query in range(5):
            expected = gain_slowly(posterior[image], likelihood[:, query])
            assert math.isclose(float(gains[image, query]), expected, rel_tol=1e-9)


def test_an_answer_that_all_classes_give_alike_tells_nothing() -> None:
    likelihood = torch.tensor([0.2, 0.5, 0.3]).view(3, 1, 1).expand(3, 2, 4)
    gains = information_gain(torch.full((1, 4), 0.25), likelihood, entropy(likelihood))
    torch.testing.assert_close(gains, torch.zeros(1, 2), atol=1e-6, rtol=0)


def test_an_answer_never_given_is_no_nan() -> None:
    likelihood = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]], [[0.0, 0.0]]])
    gains = information_gain(torch.full((1, 2), 0.5), likelihood, entropy(likelihood))
    torch.testing.assert_close(gains, torch.full((1, 1), math.log(2)))


def test_entropy_is_zero_where_nothing_is_open() -> None:
    assert binary_entropy(torch.tensor([0.0, 1.0])).tolist() == [0.0, 0.0]
    assert math.isclose(float(binary_entropy(torch.tensor(0.5))), math.log(2), rel_tol=1e-6)
    certain = torch.tensor([1.0, 0.0, 0.0]).view(3, 1, 1)
    assert entropy(certain).item() == 0
    assert math.isclose(entropy(torch.full((3, 1, 1), 1 / 3)).item(), math.log(3), rel_tol=1e-6)
