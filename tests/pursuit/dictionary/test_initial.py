"""Texts to start from: forward selection against exact least squares, and the other choices."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from benchmarks.harness import memory_kb
from infopursuit.core.errors import InputError
from infopursuit.pursuit.dictionary import forward_selection as module
from infopursuit.pursuit.dictionary.forward_selection import forward_selection
from infopursuit.pursuit.dictionary.initial import random_texts
from infopursuit.texts.text_table import TextTable
from tests.pursuit.answers.drawn import counts, drawn

UNIVERSE = TextTable(
    ("four legs", "Striped body", "wings", "wheels", "long neck"), np.eye(5, dtype=np.float16), None
)


def selected_slowly(answers: Tensor, labels: Tensor, count: int, weights: Tensor) -> list[int]:
    """Each next column by solving every weighted least-squares problem from scratch."""
    weights = weights.double()
    share, root = (weights / weights.sum())[:, None], weights.sqrt()[:, None]
    members = one_hot(labels).double()
    target = members / (weights @ members).sqrt()
    target = root * (target - (share * target).sum(dim=0))
    columns = answers.double()
    columns = root * (columns - (share * columns).sum(dim=0))
    chosen: list[int] = []
    for _ in range(count):
        errors = {}
        for column in set(range(columns.shape[1])) - set(chosen):
            basis = columns[:, [*chosen, column]]
            fitted = basis @ torch.linalg.lstsq(basis, target).solution
            errors[column] = float((target - fitted).square().sum())
        chosen.append(min(errors, key=errors.__getitem__))
    return chosen


def planted(images: int = 90) -> tuple[Tensor, Tensor]:
    labels = torch.arange(images) % 5
    scores = drawn(5, 12, seed=2)[labels] @ drawn(12, 30, seed=3)
    return (scores + 4 * drawn(images, 30, seed=4) > 0).float(), labels


@pytest.mark.parametrize("block", [7, 256])
@pytest.mark.parametrize("soft", [False, True])
def test_forward_selection_is_orthogonal_matching_pursuit(
    soft: bool, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    answers, labels = planted()
    answers = answers + 0.3 * drawn(90, 30, seed=5) if soft else answers
    expected = selected_slowly(answers, labels, 12, torch.ones(90))
    assert forward_selection(answers, labels, 12) == expected
    assert forward_selection(answers.double(), labels, 12) == expected


def test_weights_are_those_of_the_least_squares_and_whole_ones_repeats() -> None:
    answers, labels = planted()
    weights = drawn(90, seed=6).abs().double() + 0.1
    expected = selected_slowly(answers, labels, 12, weights)
    assert forward_selection(answers, labels, 12, weights) == expected
    repeats = counts(90)
    rows = torch.arange(90).repeat_interleave(repeats)
    repeated = forward_selection(answers[rows], labels[rows], 12)
    assert forward_selection(answers, labels, 12, repeats.double()) == repeated
    assert repeated != expected
    ones = torch.ones(90, dtype=torch.float64)
    plain = forward_selection(answers, labels, 12)
    assert forward_selection(answers, labels, 12, ones) == plain


def test_random_texts_are_distinct_and_follow_the_seed() -> None:
    draws = {tuple(random_texts(UNIVERSE, 3, seed)) for seed in range(20)}
    assert len(draws) > 1
    assert all(len(set(draw)) == 3 and set(draw) <= set(UNIVERSE.texts) for draw in draws)
    assert random_texts(UNIVERSE, 3, 7) == random_texts(UNIVERSE, 3, 7)
    with pytest.raises(InputError, match="k is 6"):
        random_texts(UNIVERSE, 6, 0)


def test_many_classes_take_no_memory_for_images_times_classes() -> None:
    count = 40_000  # one-hot labels would take 6 GB
    before = memory_kb("VmHWM")
    assert len(forward_selection(torch.rand(count, 8), torch.arange(count), 3)) == 3
    assert memory_kb("VmHWM") - before < 2**19
