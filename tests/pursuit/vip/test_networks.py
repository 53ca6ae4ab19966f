"""Histories are drawn uniformly, and both ways to keep their logits give the network's own."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from infopursuit.pursuit.vip.histories import prefix_masks, random_orders, sample_sizes
from infopursuit.pursuit.vip.networks import DenseHistories, DistinctHistories, HistoryNetwork

K, OUTPUTS = 9, 5


def network(seed: int = 0) -> HistoryNetwork:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = HistoryNetwork(K, OUTPUTS, (12, 6)).double()
        for parameter in made.parameters():
            parameter.data += 0.2 * torch.randn_like(parameter)
    return made


def grown(histories, net: HistoryNetwork, answers: Tensor, orders: Tensor, rows: list[int]) -> None:
    """Ask `orders` of the first rows[step] images; compare with the whole network every step."""
    masks = torch.zeros_like(answers)
    for step, count in enumerate(rows):
        queries = orders[:count, step]
        histories.add(queries, answers[:count].gather(1, queries[:, None])[:, 0])
        masks[:count].scatter_(1, queries[:, None], 1.0)
        expected = net(answers[:count], masks[:count])
        torch.testing.assert_close(histories.outputs(count), expected)


@given(
    batch=st.integers(1, 20),
    soft=st.booleans(),
    shared=st.booleans(),
    seed=st.integers(0, 10_000),
    drops=st.lists(st.integers(0, 3), min_size=K, max_size=K),
)
@pytest.mark.parametrize("kind", [DenseHistories, DistinctHistories])
def test_logits_are_the_network_s(
    kind: type, batch: int, soft: bool, shared: bool, seed: int, drops: list[int]
) -> None:
    generator = torch.Generator().manual_seed(seed)
    answers = torch.rand(batch, K, generator=generator, dtype=torch.float64)
    if not soft:
        answers = (answers > 0.6).double()
    if shared:  # all images are asked the same sets, in orders of their own
        halves = torch.arange(K) >= 4
        keys = torch.rand(batch, K, generator=generator) + halves
    else:
        keys = torch.rand(batch, K, generator=generator)
    rows, left = [], batch
    for drop in drops:
        left = max(1, left - drop)
        rows.append(left)
    net = network()
    grown(kind(net, batch), net, answers, keys.argsort(dim=1), rows)


def test_keys_that_collide_cost_time_only() -> None:
    net = network()
    generator = torch.Generator().manual_seed(3)
    answers = torch.randint(2, (14, K), generator=generator).double()
    orders = torch.rand(14, K, generator=generator).argsort(dim=1)
    same = torch.full((K,), 12345)  # after an even number of queries all sets have the key 0
    grown(DistinctHistories(net, 14, keys=same), net, answers, orders, [14] * K)


def test_equal_sets_are_computed_once() -> None:
    net = network()
    histories = DistinctHistories(net, 6)
    for queries in ([0, 0, 0, 1, 1, 1], [1, 1, 2, 0, 0, 2]):
        histories.add(torch.tensor(queries), torch.ones(6, dtype=torch.float64))
    assert len(histories.mask_first) == 3  # {0, 1}, {0, 2}, {1, 2}


@given(st.integers(1, 40), st.integers(1, 200), st.integers(0, 1000))
def test_sizes_leave_a_query_to_ask(k: int, max_history: int, seed: int) -> None:
    sizes = sample_sizes(50, k, max_history, torch.Generator().manual_seed(seed))
    assert sizes.shape == (50,)
    assert sizes.min() >= 0
    assert sizes.max() <= min(max_history, k) - 1


def test_sizes_are_uniform() -> None:
    sizes = sample_sizes(60_000, 20, 12, torch.Generator().manual_seed(0))
    counts = torch.bincount(sizes, minlength=12)
    assert counts.shape == (12,)
    assert ((counts - 5000).abs() < 5 * 5000**0.5).all()


def test_random_orders_choose_every_query_alike() -> None:
    orders = random_orders(20_000, 10, torch.Generator().manual_seed(1))
    assert torch.equal(orders.sort(dim=1).values, torch.arange(10).expand(20_000, 10))
    masks = prefix_masks(orders, torch.full((20_000,), 3), 10)
    assert ((masks.mean(dim=0) - 0.3).abs() < 0.02).all()


@given(st.integers(1, 12), st.integers(0, 1000))
def test_prefix_masks_nest(k: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    orders = torch.rand(5, k, generator=generator).argsort(dim=1)
    before = torch.zeros(5, k)
    for size in range(k + 1):
        masks = prefix_masks(orders, torch.full((5,), size), k)
        expected = torch.zeros(5, k)
        for row in range(5):
            expected[row, orders[row, :size]] = 1
        assert torch.equal(masks, expected)
        assert (masks >= before).all()
        before = masks


def test_one_roll_out_gives_the_histories_of_several_updates() -> None:
    orders = torch.tensor([[2, 0, 1], [1, 2, 0]])
    sizes = torch.tensor([[0, 1], [2, 3], [1, 0]])
    masks = prefix_masks(orders, sizes, 3)
    assert torch.equal(masks, torch.stack([prefix_masks(orders, each, 3) for each in sizes]))
    assert masks[1].tolist() == [[1, 0, 1], [1, 1, 1]]
