"""Logistic regressions on the answers to the same texts for every image."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from infopursuit_study.peers import fixed_order
from infopursuit_study.peers.fixed_order import (
    DRAWS,
    FixedOrder,
    mean_text,
    selected_rows,
    stratified_sample,
    text_orders,
)

NAMES = tuple(f"class {i}" for i in range(8))
D, PLANTED = 24, [7, 31, 40]


def images(n: int, seed: int) -> LabelledImages:
    """Eight classes; their three bits are the signs of the first three coordinates."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 8
    bits = torch.stack([(labels >> bit) % 2 for bit in range(3)], dim=1) * 2.0 - 1
    noise = torch.randn(n, D - 3, generator=generator)
    points = functional.normalize(torch.cat([bits, noise], dim=1), dim=1)
    return LabelledImages(tuple(map(str, range(n))), labels, points, NAMES)


def universe() -> torch.Tensor:
    """Sixty texts of noise, but for three that each ask for a bit; all share a direction."""
    generator = torch.Generator().manual_seed(9)
    texts = torch.randn(60, D, generator=generator)
    texts[:, :3] = 0
    texts[PLANTED] = torch.eye(3, D) * 4
    texts[:, 3] = 2
    return functional.normalize(texts, dim=1).half()


def accuracy(directions: torch.Tensor) -> float:
    train, held_out = hold_out(images(320, 0), 0.1, 0)
    test = images(160, 1)
    baseline = FixedOrder(directions).fit(train, held_out)
    return float(np.equal(baseline.predict(test.embeddings), test.labels.numpy()).mean())


def test_selected_texts_tell_the_class_and_random_ones_do_not() -> None:
    orders = text_orders(universe(), images(320, 0), 12, 0)
    assert list(orders) == ["random_texts", "selected_texts"]
    assert [len(texts) for texts in orders["random_texts"]] == [12] * DRAWS
    (selected,) = orders["selected_texts"]
    assert accuracy(selected[:5]) > 0.95
    assert np.mean([accuracy(texts[:5]) for texts in orders["random_texts"]]) < 0.6


@pytest.mark.parametrize(
    ("limits", "shown"),
    [({}, 320), ({"CANDIDATES": 10, "BLOCK": 7}, 320), ({"IMAGES": 120}, 120)],
    ids=["all texts and images", "the most informative texts", "a sample of the images"],
)
def test_selection_begins_with_the_planted_texts(
    monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], shown: int
) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(fixed_order, name, value)
    texts, sample = universe(), stratified_sample(images(320, 0), 0)
    assert len(sample.ids) == shown
    rows = selected_rows(texts, mean_text(texts), sample, 8).tolist()
    assert sorted(rows[:3]) == PLANTED
    assert len(set(rows)) == len(rows) == 8


def test_the_mean_text_is_that_of_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed_order, "BLOCK", 7)
    texts = universe()
    torch.testing.assert_close(mean_text(texts), texts.float().mean(dim=0))


def test_answers_turn_at_the_median_of_the_training_images() -> None:
    points = torch.tensor([[1.0, 0], [2, 0], [3, 0], [4, 0]])
    train = LabelledImages(("a", "b", "c", "d"), torch.arange(4), points, NAMES[:4])
    baseline = FixedOrder(torch.tensor([[1.0, 0], [-1, 0], [0, 1]])).fit(train, train)
    asked = baseline.answers(points)
    assert asked.tolist() == [[0, 1, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0]]
    assert baseline.answers(torch.tensor([[2.5, 0], [1, 9]])).tolist() == [[1, 1, 0], [0, 1, 1]]


def test_more_texts_than_the_universe_has_are_refused() -> None:
    with pytest.raises(InputError, match="budget of 61 texts; expected at most 60"):
        text_orders(universe(), images(32, 0), 61, 0)
