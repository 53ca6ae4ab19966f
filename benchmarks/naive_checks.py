"""The engine on a device against the naive implementation on the CPU, in float64.

Both have the same weights and draws, so that histories are equal, and losses and weights are equal
up to the rounding of float64. Needs torch alone.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from benchmarks.made_up import problem
from benchmarks.naive import Naive
from infopursuit.pursuit.dictionary.learnable import LearnableDictionary
from infopursuit.pursuit.rollout import roll_out
from infopursuit.pursuit.vip.batches import ImageShard, prefix_masks, random_orders, sample_sizes
from infopursuit.pursuit.vip.cuda_graphs import CapturedCalls
from infopursuit.pursuit.vip.distributed import ALONE
from infopursuit.pursuit.vip.networks import HistoryNetwork
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.pursuit.vip.updates import Updates, answer_rule

K, B, UPDATES, STEPS = 24, 40, 4, 6
SETTINGS = VariationalSettings(
    dictionary="alternating",
    hidden=(48, 24),
    learning_rate=3e-3,
    dictionary_learning_rate=0.1,
    temperature=(0.7, 0.7),
)


class Both(NamedTuple):
    """The engine on the device; on the CPU the naive implementation, B images and their labels."""

    engine: Updates
    naive: Naive
    images: Tensor
    labels: Tensor


def both(device: str) -> Both:
    """Make both implementations in float64, with equal states."""
    made = problem(B, u=500, k=K, d=32, classes=5, topics=40)
    torch.manual_seed(1)
    querier = HistoryNetwork(K, K, SETTINGS.hidden).double()
    classifier = HistoryNetwork(K, 5, SETTINGS.hidden).double()
    for parameter in querier.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)  # so that it prefers some queries
    universe = made.universe.double()
    dictionary = LearnableDictionary(universe.to(device), made.initial.to(device)).double()
    dictionary = dictionary.to(device)
    dictionary.snap()
    shard = ImageShard(made.images.embeddings, ALONE, universe.device)
    rule = answer_rule(SETTINGS, dictionary, shard, made.images.labels, universe)
    engine = Updates(querier.to(device), classifier.to(device), dictionary, rule, SETTINGS, B)
    images = shard.own.double()
    return Both(engine, Naive(engine, universe, SETTINGS), images, made.images.labels)


def draws(seed: int) -> tuple[Tensor, Tensor]:
    """Draw sizes (UPDATES + 1, B) and orders (UPDATES + 1, B, K) of histories of one batch."""
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.stack([sample_sizes(B, K, 128, generator) for _ in range(UPDATES + 1)])
    orders = random_orders((UPDATES + 1) * B, K, generator).view(UPDATES + 1, B, K)
    return sizes, orders


def check_steps(device: str, phase: Literal["random", "biased"]) -> None:
    """Check histories, losses, weights and dictionary; later steps are replayed on a GPU."""
    engine, naive, images, labels = both(device)
    call = CapturedCalls()
    batch = images.to(device), labels.to(device)
    initial = engine.dictionary.rows.clone()
    for step in range(STEPS):
        sizes, orders = draws(step)
        if phase == "biased":  # one roll-out for all updates on the batch
            call(engine.roll_out, batch[0], sizes.to(device))
            masks = prefix_masks(engine.orders, sizes.to(device), K)
            expected = [naive.biased_masks(images, drawn) for drawn in sizes]
        else:
            masks = prefix_masks(orders.to(device), sizes.to(device), K)
            expected = list(map(naive.random_masks, sizes, orders))
        assert torch.equal(masks.double().cpu(), torch.stack(expected)), "other histories"
        engine.loss_sum.zero_()
        call(engine.update_networks, *batch, masks[:UPDATES])
        loss = engine.loss_sum.item()
        call(engine.update_dictionary, *batch, masks[UPDATES])
        losses = naive.alternating_step(images, labels, expected, UPDATES)
        assert math.isclose(loss, sum(losses[:UPDATES]), rel_tol=1e-5), "another loss"
    torch.testing.assert_close(engine.dictionary.theta.detach().cpu(), naive.theta.detach())
    # The same texts: two of them are apart by far more than the rounding of their norms.
    queries = engine.dictionary().detach().cpu()
    torch.testing.assert_close(queries, naive.queries().detach(), atol=1e-6, rtol=0)
    assert not torch.equal(engine.dictionary.rows, initial), "the dictionary did not learn"
    for parameter, expected in zip(
        engine.querier.parameters(), naive.querier.parameters(), strict=True
    ):
        torch.testing.assert_close(parameter.detach().cpu(), expected.detach())


def check_evaluation(device: str) -> None:
    """Check every query and every prediction of whole roll-outs."""
    engine, naive, images, _ = both(device)
    answers = engine.answers(images.to(device)).detach()
    rolled = roll_out(engine.querier, engine.classifier, answers, K)
    order, predicted = naive.evaluate(images, K)
    assert torch.equal(rolled.order.cpu(), order)
    assert torch.equal(rolled.posteriors.argmax(dim=2).cpu(), predicted)
