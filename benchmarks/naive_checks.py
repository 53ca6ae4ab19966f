"""The engine on a device against the naive implementation on the CPU, in float64.

Both have the same weights and draws, so that histories are equal, and losses and weights up to the
rounding of float64. Needs torch alone.
"""

from __future__ import annotations

import copy
import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from benchmarks.made_up import problem
from benchmarks.naive import Naive
from infopursuit.pursuit.dictionary.learnable import LearnableDictionary
from infopursuit.pursuit.rollout import greedy_orders, roll_out
from infopursuit.pursuit.vip.batches import ImageShard, prefix_masks, random_orders, sample_sizes
from infopursuit.pursuit.vip.cuda_graphs import CapturedCalls
from infopursuit.pursuit.vip.distributed import ALONE
from infopursuit.pursuit.vip.networks import HistoryNetwork
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.pursuit.vip.updates import Updates, answer_rule

K, B, UPDATES = 24, 40, 4
SETTINGS = VariationalSettings(
    dictionary="alternating",
    hidden=(48, 24),
    learning_rate=3e-3,
    dictionary_learning_rate=0.1,
    temperature=(0.7, 0.7),
)


class Both(NamedTuple):
    """Engine and naive implementation with equal states, and images with their labels.

    Attributes:
        engine: on the device.
        naive: on the CPU.
        images: (B, d) float64, on the CPU.
        labels: (B,), on the CPU.
    """

    engine: Updates
    naive: Naive
    images: Tensor
    labels: Tensor


def both(device: str) -> Both:
    """In float64."""
    made = problem(B, u=500, k=K, d=32, classes=5, topics=40)
    torch.manual_seed(1)
    querier = HistoryNetwork(K, K, SETTINGS.hidden).double()
    classifier = HistoryNetwork(K, 5, SETTINGS.hidden).double()
    for parameter in querier.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)  # opinions of its own
    copies = copy.deepcopy((querier, classifier))
    universe = made.universe.double()
    there = universe.to(device)
    dictionary = LearnableDictionary(there, made.initial.to(device)).double().to(device)
    dictionary.snap()
    shard = ImageShard(made.images.embeddings, ALONE, universe.device)
    rule = answer_rule(SETTINGS, dictionary, shard, made.images.labels, universe)
    engine = Updates(querier.to(device), classifier.to(device), dictionary, rule, SETTINGS, B)
    theta = dictionary.theta.detach().cpu().clone().requires_grad_()
    naive = Naive(
        *copies,
        theta,
        universe,
        torch.optim.AdamW(
            [p for network in copies for p in network.parameters()],
            SETTINGS.learning_rate,
            weight_decay=SETTINGS.weight_decay,
        ),
        torch.optim.Adam([theta], SETTINGS.dictionary_learning_rate),
        SETTINGS.temperature[0],
    )
    return Both(engine, naive, made.images.embeddings.double(), made.images.labels)


def draws(seed: int) -> tuple[Tensor, Tensor]:
    """Sizes (UPDATES + 1, B) and orders (UPDATES + 1, B, K) of the histories of one batch."""
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.stack([sample_sizes(B, K, 128, generator) for _ in range(UPDATES + 1)])
    orders = random_orders((UPDATES + 1) * B, K, generator).view(UPDATES + 1, B, K)
    return sizes, orders


def check_steps(device: str, phase: Literal["random", "biased"], steps: int = 6) -> None:
    """Histories, losses, weights and dictionary after each step; later steps replay on a GPU."""
    engine, naive, images, labels = both(device)
    call = CapturedCalls()
    images_there, labels_there = images.to(device), labels.to(device)
    initial = engine.dictionary.rows.clone()
    for step in range(steps):
        sizes, orders = draws(step)
        if phase == "biased":  # one roll-out for all updates on the batch
            call(engine.roll_out, images_there, sizes.to(device))
            masks = prefix_masks(engine.orders, sizes.to(device), K)
            expected = [naive.biased_masks(images, drawn) for drawn in sizes]
        else:
            masks = prefix_masks(orders.to(device), sizes.to(device), K)
            expected = list(map(naive.random_masks, sizes, orders))
        assert torch.equal(masks.double().cpu(), torch.stack(expected)), "other histories"
        engine.loss_sum.zero_()
        call(engine.update_networks, images_there, labels_there, masks[:UPDATES])
        loss = engine.loss_sum.item()
        call(engine.update_dictionary, images_there, labels_there, masks[UPDATES])
        losses = naive.alternating_step(images, labels, expected, UPDATES)
        assert math.isclose(loss, sum(losses[:UPDATES]), rel_tol=1e-5), "another loss"
    torch.testing.assert_close(engine.dictionary.theta.detach().cpu(), naive.theta.detach())
    # The same texts: two of them are apart by far more than the rounding of their norms.
    queries = engine.dictionary().detach().cpu()
    torch.testing.assert_close(queries, naive.queries().detach(), atol=1e-6, rtol=0)
    assert not torch.equal(engine.dictionary.rows, initial), "the dictionary did not learn"
    for found, of_naive in zip(
        engine.querier.parameters(), naive.querier.parameters(), strict=True
    ):
        torch.testing.assert_close(found.detach().cpu(), of_naive.detach())


def check_histories(device: str) -> None:
    """The histories of roll-outs."""
    engine, naive, images, _ = both(device)
    answers = engine.answers(images.to(device)).detach()
    for seed in range(5):
        sizes = draws(seed)[0][0]
        orders = greedy_orders(engine.querier, answers, sizes.to(device), K)
        masks = prefix_masks(orders, sizes.to(device), K)
        assert torch.equal(masks.double().cpu(), naive.biased_masks(images, sizes))


def check_evaluation(device: str) -> None:
    """Every query and every prediction of whole roll-outs."""
    engine, naive, images, _ = both(device)
    answers = engine.answers(images.to(device)).detach()
    found = roll_out(engine.querier, engine.classifier, answers, K)
    order, predicted = naive.evaluate(images, K)
    assert torch.equal(found.order.cpu(), order)
    assert torch.equal(found.posteriors.argmax(dim=2).cpu(), predicted)
