import pytest
import torch

from infopursuit.pursuit.rollout import greedy_orders, roll_out
from infopursuit.vip.networks import HistoryNetwork
from infopursuit.vip.updates import pursuit_loss, straight_through_choice
from tests.vip import reference

K, CLASSES, IMAGES = 11, 4, 23


@pytest.fixture
def networks() -> tuple[HistoryNetwork, HistoryNetwork]:
    torch.manual_seed(3)
    querier = HistoryNetwork(K, K, (16, 8)).double()
    classifier = HistoryNetwork(K, CLASSES, (16, 8)).double()
    for network in (querier, classifier):  # LayerNorm starts as the identity: move it away
        for parameter in network.parameters():
            parameter.data += 0.1 * torch.randn_like(parameter)
    return querier, classifier


@pytest.fixture
def answers() -> torch.Tensor:
    return torch.randint(2, (IMAGES, K), generator=torch.Generator().manual_seed(5)).double()


def test_network_equals_the_definition(networks, answers) -> None:
    mask = torch.randint(2, (IMAGES, K), generator=torch.Generator().manual_seed(6)).double()
    for network in networks:
        expected = torch.stack(
            [reference.network(network, *pair) for pair in zip(answers, mask, strict=True)]
        )
        torch.testing.assert_close(network(answers, mask), expected)


def test_unasked_answers_do_not_reach_the_networks(networks, answers) -> None:
    mask = torch.zeros(IMAGES, K, dtype=torch.float64)
    mask[:, :4] = 1
    changed = answers.clone()
    changed[:, 4:] = 1 - changed[:, 4:]
    for network in networks:
        assert torch.equal(network(answers, mask), network(changed, mask))


def test_orders_equal_a_roll_out_of_each_image_by_itself(networks, answers) -> None:
    lengths = torch.arange(IMAGES) % (K + 1)
    orders = greedy_orders(networks[0], answers, lengths, K)
    for row in range(IMAGES):
        order, margin = reference.greedy_order(networks[0], answers[row], int(lengths[row]))
        assert margin > 1e-9, "a near tie would make this test meaningless"
        assert orders[row, : len(order)].tolist() == order


def test_roll_out_asks_every_query_once_and_judges_each_prefix(networks, answers) -> None:
    querier, classifier = networks
    result = roll_out(querier, classifier, answers, K)
    assert result.order.sort(dim=1).values.tolist() == [list(range(K))] * IMAGES
    assert torch.equal(result.answers, answers.gather(1, result.order))
    for step in range(K + 1):
        mask = torch.zeros_like(answers).scatter_(1, result.order[:, :step], 1)
        expected = classifier(answers, mask).softmax(dim=1)
        torch.testing.assert_close(result.posteriors[:, step], expected)


def test_ties_go_to_the_lowest_query() -> None:
    querier = HistoryNetwork(5, 5, (4, 3))
    torch.nn.init.zeros_(querier.head.weight)
    torch.nn.init.zeros_(querier.head.bias)
    orders = greedy_orders(querier, torch.zeros(2, 5), torch.tensor([5, 3]), longest=5)
    assert orders[0].tolist() == [0, 1, 2, 3, 4]
    assert orders[1, :3].tolist() == [0, 1, 2]


def test_loss_equals_the_definition(networks, answers) -> None:
    generator = torch.Generator().manual_seed(8)
    masks = (torch.rand(IMAGES, K, generator=generator) < 0.4).double()
    masks[:, 0] = 0  # something is left to ask
    labels = torch.randint(CLASSES, (IMAGES,), generator=generator)
    found = pursuit_loss(*networks, answers, masks, labels)
    assert found.item() == pytest.approx(reference.loss(*networks, answers, masks, labels))


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
