"""The engine computes what the naive implementation computes, from the same weights and draws."""

from __future__ import annotations

import copy

import pytest
import torch

from infopursuit.dictionary.learnable import LearnableDictionary
from infopursuit.pursuit.rollout import greedy_orders, roll_out
from infopursuit.vip.histories import prefix_masks, random_orders, sample_sizes
from infopursuit.vip.networks import HistoryNetwork
from infopursuit.vip.settings import VariationalSettings
from infopursuit.vip.training import rule_of
from infopursuit.vip.updates import Updates
from tests.benchmarks.naive import Naive
from tests.benchmarks.problems import problem

K, B, UPDATES = 24, 40, 4
SETTINGS = VariationalSettings(
    dictionary="alternating",
    hidden=(48, 24),
    learning_rate=3e-3,
    dictionary_learning_rate=0.1,
    temperature=(0.7, 0.7),
)


def both() -> tuple[Updates, Naive, torch.Tensor, torch.Tensor]:
    """The engine and the naive implementation with equal states, in float64; images, labels."""
    settings = SETTINGS
    images, universe, initial = problem(B, u=500, k=K, d=32, classes=5, topics=40)
    torch.manual_seed(1)
    querier = HistoryNetwork(K, K, settings.hidden).double()
    classifier = HistoryNetwork(K, 5, settings.hidden).double()
    for parameter in querier.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)  # opinions of its own
    dictionary = LearnableDictionary(universe.double(), initial).double()
    dictionary.snap()
    rule = rule_of(settings, dictionary, images, universe)
    engine = Updates(querier, classifier, dictionary, rule, settings, B)
    theta = dictionary.theta.detach().clone().requires_grad_()
    copies = copy.deepcopy((querier, classifier))
    naive = Naive(
        *copies,
        theta,
        universe.double(),
        torch.optim.AdamW(
            [p for network in copies for p in network.parameters()],
            settings.learning_rate,
            weight_decay=settings.weight_decay,
        ),
        torch.optim.Adam([theta], settings.dictionary_learning_rate),
        settings.temperature[0],
    )
    return engine, naive, images.embeddings.double(), images.labels


def draws(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.stack([sample_sizes(B, K, 128, generator) for _ in range(UPDATES + 1)])
    orders = random_orders((UPDATES + 1) * B, K, generator).view(UPDATES + 1, B, K)
    return sizes, orders


@pytest.mark.parametrize("phase", ["random", "biased"])
def test_steps_equal_the_naive_steps(phase: str) -> None:
    engine, naive, images, labels = both()
    initial = engine.dictionary.rows.clone()
    for step in range(6):
        sizes, orders = draws(step)
        if phase == "biased":  # one roll-out for all updates on the batch
            engine.roll_out(images, sizes)
            orders = engine.orders
            expected = [naive.biased_masks(images, drawn) for drawn in sizes]
        else:
            expected = list(map(naive.random_masks, sizes, orders))
        masks = prefix_masks(orders, sizes, K)
        engine.loss_sum.zero_()
        engine.update_networks(images, labels, masks[:UPDATES])
        engine.update_dictionary(images, labels, masks[UPDATES])
        losses = naive.alternating_step(images, labels, expected, UPDATES)
        assert torch.equal(masks.double(), torch.stack(expected))
        assert engine.loss_sum.item() == pytest.approx(sum(losses[:UPDATES]), rel=1e-5)
    torch.testing.assert_close(engine.dictionary.theta.detach(), naive.theta.detach())
    # The same texts: two of them are apart by far more than the rounding of their norms.
    torch.testing.assert_close(engine.dictionary(), naive.queries(), atol=1e-6, rtol=0)
    assert not torch.equal(engine.dictionary.rows, initial)
    for found, expected in zip(
        engine.querier.parameters(), naive.querier.parameters(), strict=True
    ):
        torch.testing.assert_close(found, expected)


def test_masks_of_a_roll_out_equal_the_naive_masks() -> None:
    engine, naive, images, _ = both()
    for seed in range(5):
        sizes = draws(seed)[0][0]
        answers = engine.answers(images).detach()
        orders = greedy_orders(engine.querier, answers, sizes, K)
        assert torch.equal(
            prefix_masks(orders, sizes, K).double(), naive.biased_masks(images, sizes)
        )


def test_evaluation_equals_the_naive_evaluation() -> None:
    engine, naive, images, _ = both()
    found = roll_out(engine.querier, engine.classifier, engine.answers(images).detach(), K)
    order, predicted = naive.evaluate(images, K)
    assert torch.equal(found.order, order)
    assert torch.equal(found.posteriors.argmax(dim=2), predicted)
