"""The engine computes what the naive implementation computes, from the same weights and draws."""

from __future__ import annotations

import copy

import pytest
import torch

from infopursuit.dictionary.learnable import LearnableDictionary
from infopursuit.pursuit.histories import prefix_masks, random_orders, sample_sizes
from infopursuit.pursuit.networks import HistoryNetwork
from infopursuit.pursuit.recipe import Recipe
from infopursuit.pursuit.rollout import greedy_orders, roll_out
from infopursuit.pursuit.updates import Updates
from tests.benchmarks.naive import Naive
from tests.benchmarks.problems import problem

K, B, UPDATES = 24, 40, 4
RECIPE = Recipe(
    hidden=(48, 24), learning_rate=3e-3, dictionary_learning_rate=0.1, temperature=(0.7, 0.7)
)


def both(recipe: Recipe = RECIPE) -> tuple[Updates, Naive, torch.Tensor, torch.Tensor]:
    """The engine and the naive implementation with equal states, in float64; images, labels."""
    images, universe, initial = problem(B, u=500, k=K, d=32, classes=5, topics=40)
    torch.manual_seed(1)
    querier = HistoryNetwork(K, K, recipe.hidden).double()
    classifier = HistoryNetwork(K, 5, recipe.hidden).double()
    for parameter in querier.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)  # opinions of its own
    dictionary = LearnableDictionary(universe.double(), initial).double()
    dictionary.snap()
    engine = Updates(querier, classifier, dictionary, recipe, B)
    theta = dictionary.theta.detach().clone().requires_grad_()
    copies = copy.deepcopy((querier, classifier))
    naive = Naive(
        *copies,
        theta,
        universe.double(),
        torch.optim.AdamW(
            [p for network in copies for p in network.parameters()],
            recipe.learning_rate,
            weight_decay=recipe.weight_decay,
        ),
        torch.optim.Adam([theta], recipe.dictionary_learning_rate),
        recipe.temperature[0],
    )
    return engine, naive, images.embeddings.double(), images.labels


def draws(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.stack([sample_sizes(B, K, 128, generator) for _ in range(UPDATES + 1)])
    orders = random_orders((UPDATES + 1) * B, K, generator).view(UPDATES + 1, 1, B, K)
    return sizes, orders


@pytest.mark.parametrize("stage", ["random", "biased"])
def test_steps_equal_the_naive_steps(stage: str) -> None:
    engine, naive, images, labels = both()
    initial = engine.dictionary.rows.clone()
    for step in range(6):
        sizes, orders = draws(step)
        drawn = () if stage == "biased" else (orders,)
        engine.loss_sum.zero_()
        engine.update_networks(images, labels, sizes[:UPDATES], *(o[:UPDATES] for o in drawn))
        engine.update_dictionary(images, labels, sizes[UPDATES:], *(o[UPDATES:] for o in drawn))
        losses, _ = naive.alternating_step(
            images, labels, sizes.squeeze(1), *(o.squeeze(1) for o in drawn)
        )
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
        sizes = draws(seed)[0][0, 0]
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
