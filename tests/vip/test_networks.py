"""Both ways to keep the logits of growing histories give the network's own logits."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from infopursuit.vip.networks import DenseHistories, DistinctHistories, HistoryNetwork

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
