import numpy as np
import pytest
import torch
from torch.nn import functional

from infopursuit.errors import InputError
from infopursuit.evaluation import plain
from infopursuit.evaluation.plain import (
    greedy_rows,
    mean_text,
    plain_answers,
    plain_baselines,
    plain_metrics,
    stratified_sample,
)
from infopursuit.pursuit.images import LabelledImages, hold_out

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


def test_texts_chosen_greedily_tell_the_class_and_random_ones_do_not() -> None:
    train, held_out = hold_out(images(320, 0), 0.1, 0)
    found = plain_baselines(universe(), train, held_out, images(160, 1), 12, 0)
    assert sorted(found.random) == sorted(found.greedy) == [5, 10, 12]
    assert found.random[5].shape == (plain.DRAWS, 160)
    assert found.greedy[5].shape == (1, 160)
    assert found.greedy[5].mean() > 0.95
    assert found.random[5].mean() < 0.6


@pytest.mark.parametrize(
    ("limits", "shown"),
    [({}, 320), ({"CANDIDATES": 10, "BLOCK": 7}, 320), ({"IMAGES": 120}, 120)],
    ids=["all texts and images", "the most informative texts", "a sample of the images"],
)
def test_greedy_choice_begins_with_the_planted_texts(
    monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], shown: int
) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(plain, name, value)
    texts, sample = universe(), stratified_sample(images(320, 0), 0)
    assert len(sample.ids) == shown
    rows = greedy_rows(texts, mean_text(texts), sample, 8).tolist()
    assert sorted(rows[:3]) == PLANTED
    assert len(set(rows)) == len(rows) == 8


def test_the_mean_text_is_that_of_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "BLOCK", 7)
    texts = universe()
    torch.testing.assert_close(mean_text(texts), texts.float().mean(dim=0))


def test_answers_turn_at_the_median_of_the_training_images() -> None:
    points = torch.tensor([[1.0, 0], [2, 0], [3, 0], [4, 0]])
    train = LabelledImages(("a", "b", "c", "d"), torch.arange(4), points, NAMES[:4])
    test = LabelledImages(("e", "f"), torch.arange(2), torch.tensor([[2.5, 0], [1, 9]]), NAMES[:4])
    asked, told = plain_answers(torch.tensor([[1.0, 0], [-1, 0], [0, 1]]), [train, test])
    assert asked.embeddings.tolist() == [[0, 1, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0]]
    assert told.embeddings.tolist() == [[1, 1, 0], [0, 1, 1]]
    assert told.ids == ("e", "f")


def test_metrics_at_each_budget_and_with_intervals_at_the_largest() -> None:
    hits = np.random.default_rng(0).random((5, 400)) < np.linspace(0.5, 0.9, 5)[:, None]
    found = plain.PlainBaselines({5: ~hits, 8: hits}, {5: ~hits[:1], 8: hits[:1]})
    metrics = plain_metrics(found, 8, 200)
    assert set(metrics) == {
        f"plain_{name}_{at}"
        for name in ("random", "greedy")
        for at in ("at_5", "at_T", "at_T_low", "at_T_high")
    }
    assert metrics["plain_random_at_5"] == pytest.approx((~hits).mean())
    assert metrics["plain_greedy_at_T"] == pytest.approx(hits[0].mean())
    width = {
        name: metrics[f"plain_{name}_at_T_high"] - metrics[f"plain_{name}_at_T_low"]
        for name in ("random", "greedy")
    }
    assert 0 < width["greedy"] < width["random"], "draws differ more than images do"


def test_more_texts_than_the_universe_has_are_refused() -> None:
    train, held_out = hold_out(images(32, 0), 0.2, 0)
    with pytest.raises(InputError, match="budget of 61 texts; expected at most 60"):
        plain_baselines(universe(), train, held_out, held_out, 61, 0)
