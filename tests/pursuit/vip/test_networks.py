"""Networks and their loss by the definitions, histories drawn uniformly, logits of growing ones."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from infopursuit.pursuit.parts import CLASSIFIERS, Sizes, check_tensors
from infopursuit.pursuit.rollout import greedy_orders
from infopursuit.pursuit.vip.batches import prefix_masks, random_orders
from infopursuit.pursuit.vip.networks import DenseHistories, DistinctHistories, HistoryNetwork
from infopursuit.pursuit.vip.updates import pursuit_loss, straight_through_choice
from tests.pursuit.vip import reference

K, OUTPUTS, IMAGES = 9, 5, 40


def network(outputs: int = OUTPUTS) -> HistoryNetwork:
    with torch.random.fork_rng():
        torch.manual_seed(outputs)
        made = HistoryNetwork(K, outputs, (12, 6)).double()
        for parameter in made.parameters():  # LayerNorm starts as the identity: move it away
            parameter.data += 0.2 * torch.randn_like(parameter)
    return made


def bits(seed: int, share: float = 0.5) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(IMAGES, K, generator=generator) < share).double()


def test_a_network_equals_the_definition_and_does_not_see_what_was_not_asked() -> None:
    answers, mask, net = bits(5), bits(6), network()
    expected = [reference.network(net, *row) for row in zip(answers, mask, strict=True)]
    torch.testing.assert_close(net(answers, mask), torch.stack(expected))
    changed = torch.where(mask > 0, answers, 1 - answers)
    assert torch.equal(net(answers, mask), net(changed, mask))


def test_orders_equal_a_roll_out_of_each_image_by_itself() -> None:
    answers, lengths, querier = bits(5), torch.arange(IMAGES) % (K + 1), network(K)
    orders = greedy_orders(querier, answers, lengths, K)
    for row in range(IMAGES):
        order, margin = reference.greedy_order(querier, answers[row], int(lengths[row]))
        assert margin > 1e-9, "a near tie would make this test meaningless"
        assert orders[row, : len(order)].tolist() == order


def test_loss_equals_the_definition() -> None:
    networks, answers, masks = (network(K), network()), bits(5), bits(8, 0.4)
    masks[:, 0] = 0  # something is left to ask
    labels = torch.arange(IMAGES) % OUTPUTS
    loss = pursuit_loss(*networks, answers, masks, labels)
    assert loss.item() == pytest.approx(reference.loss(*networks, answers, masks, labels))


def test_choice_is_one_hot_and_never_asks_twice() -> None:
    logits = torch.randn(40, 7, generator=torch.Generator().manual_seed(2), requires_grad=True)
    asked = (torch.arange(7) < 6).float().roll(3).expand(40, 7)
    choice = straight_through_choice(logits, asked, temperature=0.5)
    assert torch.equal(choice.detach(), 1 - asked)
    open_choice = straight_through_choice(logits, torch.zeros(40, 7), temperature=0.5)
    assert torch.equal(open_choice.detach().argmax(dim=1), logits.argmax(dim=1))
    (open_choice * torch.randn(40, 7)).sum().backward()
    assert logits.grad is not None
    assert logits.grad.abs().sum() > 0


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


def test_another_architecture_is_a_subclass() -> None:
    class Narrow(HistoryNetwork):
        kind = "narrow"

        @staticmethod
        def layers(hidden: tuple[int, int]) -> nn.Module:
            return nn.ReLU()

        @classmethod
        def widths(cls, tensors: Mapping[str, Tensor]) -> tuple[int, int]:
            return (len(tensors["first.bias"]),) * 2

    made, sizes = Narrow(K, OUTPUTS, (12, 12)).eval(), Sizes(K, OUTPUTS, 1, outputs=OUTPUTS)
    tensors = made.tensors()
    check_tensors("classifier", tensors, CLASSIFIERS.of("narrow").shapes(sizes, tensors))
    again = CLASSIFIERS.of("narrow").from_tensors(tensors, sizes)
    answers, mask = torch.rand(5, K), (torch.rand(5, K) < 0.5).float()
    torch.testing.assert_close(again(answers, mask), made(answers, mask))
