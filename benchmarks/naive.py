"""V-IP training as one would first write it down: the oracle and the baseline of the engine.

Every forward pass searches the whole universe for the nearest text of each theta. In the biased
phase the whole batch is rolled out to the longest drawn history, with the full network at every
step; when it is timed, again for every update. Weights and drawn sizes are given, so that the
engine can start from the same ones.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize, one_hot

from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.pursuit.vip.updates import Updates


class Naive:
    """Networks and dictionary with the weights of an engine, and a float universe (u, d).

    They are on the device of the universe; `theta` is a leaf tensor (k, d).
    """

    def __init__(
        self, engine: Updates, universe: Tensor, settings: VariationalSettings, fused: bool = False
    ) -> None:
        networks = copy.deepcopy((engine.querier, engine.classifier))
        self.querier, self.classifier = (network.to(universe.device) for network in networks)
        theta = engine.dictionary.theta.detach().to(universe.device)
        self.theta, self.universe = theta.clone().requires_grad_(), universe
        self.half_norms = universe.square().sum(dim=1) / 2
        self.network_optimizer = torch.optim.AdamW(
            [parameter for network in networks for parameter in network.parameters()],
            settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=fused,
        )
        rate = settings.dictionary_learning_rate
        self.dictionary_optimizer = torch.optim.Adam([self.theta], rate, fused=fused)
        self.temperature = settings.temperature[0]

    def queries(self) -> Tensor:
        """Return the nearest text of each theta, straight-through."""
        closeness = torch.addmm(-self.half_norms, self.theta.detach(), self.universe.T)
        texts = normalize(self.universe[closeness.argmax(dim=1)], dim=1)
        return texts + (self.theta - self.theta.detach())

    def answers(self, images: Tensor) -> Tensor:
        """Return hard min-max answers (b, k), straight-through."""
        scores = images @ self.queries().T
        low, high = scores.amin(dim=1, keepdim=True), scores.amax(dim=1, keepdim=True)
        soft = (scores - low) / (high - low)
        return (soft > 0.5).to(soft.dtype) + (soft - soft.detach())

    def random_masks(self, sizes: Tensor, orders: Tensor) -> Tensor:
        """Return the first sizes[i] queries of orders[i] as masks."""
        place = orders.argsort(dim=1)
        return (place < sizes.unsqueeze(1)).to(self.theta.dtype)

    @torch.no_grad()
    def biased_masks(self, images: Tensor, sizes: Tensor) -> Tensor:
        """Roll the whole batch out greedily; an image's mask stops growing at its size."""
        answers = self.answers(images)
        asked = torch.zeros_like(answers)
        masks = torch.zeros_like(answers)
        for step in range(int(sizes.max())):
            logits = self.querier(answers, asked).masked_fill(asked > 0, -torch.inf)
            choice = one_hot(logits.argmax(dim=1), answers.shape[1]).to(answers.dtype)
            asked = asked + choice
            masks = torch.where((sizes > step).unsqueeze(1), asked, masks)
        return masks

    def loss(self, images: Tensor, labels: Tensor, masks: Tensor) -> Tensor:
        """Return the cross-entropy after the one query that the querier adds."""
        answers = self.answers(images)
        logits = self.querier(answers, masks).masked_fill(masks > 0, -torch.inf)
        soft = (logits / self.temperature).softmax(dim=1)
        hard = one_hot(soft.argmax(dim=1), soft.shape[1]).to(soft.dtype)
        choice = hard + (soft - soft.detach())
        return cross_entropy(self.classifier(answers, masks + choice), labels)

    def update(self, loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
        """Make one gradient step."""
        self.network_optimizer.zero_grad()
        self.dictionary_optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def alternating_step(
        self, images: Tensor, labels: Tensor, masks: Iterable[Tensor], updates: int
    ) -> list[float]:
        """Make `updates` updates of the networks, then one of the dictionary; return all losses.

        Each update takes the next of the masks (b, k). If these come from a generator that rolls
        out the querier, each sees the updates before it.
        """
        losses = []
        for update, mask in enumerate(masks):
            loss = self.loss(images, labels, mask)
            last = update == updates
            self.update(loss, self.dictionary_optimizer if last else self.network_optimizer)
            losses.append(loss.item())
        return losses

    @torch.no_grad()
    def evaluate(self, images: Tensor, budget: int, batch: int = 256) -> tuple[Tensor, Tensor]:
        """Return orders (n, T) and predicted labels (n, T + 1), batch by batch."""
        parts = [self._evaluate(part, budget) for part in images.split(batch)]
        orders, predicted = zip(*parts, strict=True)
        return torch.cat(orders), torch.cat(predicted)

    def _evaluate(self, images: Tensor, budget: int) -> tuple[Tensor, Tensor]:
        answers = self.answers(images)
        mask = torch.zeros_like(answers)
        order, predicted = [], [self.classifier(answers, mask).argmax(dim=1)]
        for _ in range(budget):
            logits = self.querier(answers, mask).masked_fill(mask > 0, -torch.inf)
            order.append(logits.argmax(dim=1))
            mask = mask.scatter(1, order[-1].unsqueeze(1), 1.0)
            predicted.append(self.classifier(answers, mask).argmax(dim=1))
        return torch.stack(order, dim=1), torch.stack(predicted, dim=1)
