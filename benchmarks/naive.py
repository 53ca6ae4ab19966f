"""V-IP training as one would first write it down: the oracle and the baseline of the engine.

Every forward searches the whole universe for the nearest text of each theta. In the biased phase
the whole batch is rolled out to the longest drawn history, with the full network at every step; to
be timed, anew for every update. Weights, optimizers and drawn sizes come from outside, so that the
engine can start from the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize, one_hot

from infopursuit.pursuit.vip.networks import HistoryNetwork


class Naive:
    """Networks, theta and universe; `theta` is a leaf tensor (k, d), the universe float (u, d)."""

    def __init__(
        self,
        querier: HistoryNetwork,
        classifier: HistoryNetwork,
        theta: Tensor,
        universe: Tensor,
        network_optimizer: torch.optim.Optimizer,
        dictionary_optimizer: torch.optim.Optimizer,
        temperature: float,
    ) -> None:
        self.querier, self.classifier = querier, classifier
        self.theta, self.universe = theta, universe
        self.half_norms = universe.square().sum(dim=1) / 2
        self.network_optimizer = network_optimizer
        self.dictionary_optimizer = dictionary_optimizer
        self.temperature = temperature

    def queries(self) -> Tensor:
        """The nearest text of each theta, straight-through."""
        closeness = torch.addmm(-self.half_norms, self.theta.detach(), self.universe.T)
        texts = normalize(self.universe[closeness.argmax(dim=1)], dim=1)
        return texts + (self.theta - self.theta.detach())

    def answers(self, images: Tensor) -> Tensor:
        """Hard min-max answers (b, k), straight-through."""
        scores = images @ self.queries().T
        low, high = scores.amin(dim=1, keepdim=True), scores.amax(dim=1, keepdim=True)
        soft = (scores - low) / (high - low)
        return (soft > 0.5).to(soft.dtype) + (soft - soft.detach())

    def random_masks(self, sizes: Tensor, orders: Tensor) -> Tensor:
        """The first sizes[i] queries of orders[i]."""
        place = orders.argsort(dim=1)
        return (place < sizes.unsqueeze(1)).to(self.theta.dtype)

    @torch.no_grad()
    def biased_masks(self, images: Tensor, sizes: Tensor) -> Tensor:
        """Greedy roll-outs of the whole batch; an image's mask stops growing at its size."""
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
        """Cross-entropy after the one query that the querier adds."""
        answers = self.answers(images)
        logits = self.querier(answers, masks).masked_fill(masks > 0, -torch.inf)
        soft = (logits / self.temperature).softmax(dim=1)
        hard = one_hot(soft.argmax(dim=1), soft.shape[1]).to(soft.dtype)
        choice = hard + (soft - soft.detach())
        return cross_entropy(self.classifier(answers, masks + choice), labels)

    def update(self, loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
        """One gradient step."""
        self.network_optimizer.zero_grad()
        self.dictionary_optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def alternating_step(
        self, images: Tensor, labels: Tensor, masks: Iterable[Tensor], updates: int
    ) -> list[float]:
        """`updates` updates of the networks, then one of the dictionary: the losses of all.

        Each takes the next of the masks (b, k). A generator that rolls the querier out makes the
        next one when it is due, after the updates before; a list was made before all of them.
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
        """Orders (n, T) and predicted labels (n, T + 1), batch by batch."""
        parts = [self._evaluate(part, budget) for part in images.split(batch)]
        orders, predicted = zip(*parts, strict=True)
        return torch.cat(orders), torch.cat(predicted)

    def _evaluate(self, images: Tensor, budget: int) -> tuple[Tensor, Tensor]:
        """Full networks at every step."""
        answers = self.answers(images)
        mask = torch.zeros_like(answers)
        order, predicted = [], [self.classifier(answers, mask).argmax(dim=1)]
        for _ in range(budget):
            logits = self.querier(answers, mask).masked_fill(mask > 0, -torch.inf)
            order.append(logits.argmax(dim=1))
            mask = mask.scatter(1, order[-1].unsqueeze(1), 1.0)
            predicted.append(self.classifier(answers, mask).argmax(dim=1))
        return torch.stack(order, dim=1), torch.stack(predicted, dim=1)
