"""Shards answer as the whole universe does, to the last tie."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.dictionary.nearest_texts import nearest_texts
from infopursuit.dictionary.sharded_texts import closest_shard, nearest_in_shard


@given(
    seed=st.integers(0, 2**31),
    cuts=st.lists(st.integers(1, 199), max_size=6, unique=True),
    distinct=st.integers(1, 200),
    dtype=st.sampled_from([torch.float16, torch.float32]),
)
def test_any_shards_in_any_order_give_the_unsharded_answer(
    seed: int, cuts: list[int], distinct: int, dtype: torch.dtype
) -> None:
    generator = torch.Generator().manual_seed(seed)
    texts = torch.nn.functional.normalize(torch.randn(distinct, 24, generator=generator))
    # Few distinct texts among many rows: the same text is in several shards.
    universe = texts[torch.randint(distinct, (200,), generator=generator)].to(dtype)
    theta = torch.randn(17, 24, generator=generator)
    theta[:5] = universe[torch.randint(200, (5,), generator=generator)].float()
    edges = [0, *sorted(cuts), 200]
    answers = [
        nearest_in_shard(theta, universe[start:end], start) for start, end in pairwise(edges)
    ]
    order = torch.randperm(len(answers), generator=generator).tolist()
    found = closest_shard(answers[index] for index in order)
    assert torch.equal(found, nearest_texts(theta, universe))


def test_texts_one_rounding_apart_in_different_shards() -> None:
    generator = torch.Generator().manual_seed(0)
    text = torch.randn(1, 768, generator=generator).double()
    universe = torch.cat([text, text, text])
    universe[1, 3] = torch.nextafter(text[0, 3], text[0, 3] + 1)
    theta = universe[1:2] * 1.5
    answers = [nearest_in_shard(theta, universe[row : row + 1], row) for row in range(3)]
    assert closest_shard(answers).tolist() == nearest_texts(theta, universe).tolist()


def test_no_shard_and_an_empty_one_are_told() -> None:
    theta = torch.ones(2, 3)
    with pytest.raises(ValueError, match="at least one shard"):
        closest_shard([])
    with pytest.raises(ValueError, match="starts at row 7: expected rows, found none"):
        nearest_in_shard(theta, torch.empty(0, 3), 7)
    with pytest.raises(ValueError, match="theta 1: expected finite numbers"):
        nearest_in_shard(torch.tensor([[1.0, 0.0], [torch.nan, 1.0]]), torch.ones(1, 2), 0)
