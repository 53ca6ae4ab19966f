"""The updates of Algorithm 1 on one mini-batch: of the networks, of the dictionary, or of both.

Nothing here reads a value back from the device or branches on one: on a GPU each function runs as
one captured graph.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.dictionary.learnable import LearnableDictionary
from infopursuit.pursuit.answers import AnswerRule, minmax_answers
from infopursuit.pursuit.histories import prefix_masks
from infopursuit.pursuit.networks import HistoryNetwork
from infopursuit.pursuit.objective import pursuit_loss
from infopursuit.pursuit.processes import ALONE, Processes
from infopursuit.pursuit.recipe import Recipe
from infopursuit.pursuit.rollout import greedy_orders


class Updates:
    """Networks and dictionary with their optimizers.

    The histories of r updates come as `sizes` (r, h, b), h sizes for each image, and `orders`
    (r or 1, h or 1, b, length), whose prefixes of those sizes they are; without `orders` the
    querier is rolled out for every update. `batch` is b, in this process. `rule` answers for a
    dictionary that stays as it is; without it answers follow theta.
    """

    def __init__(
        self,
        querier: HistoryNetwork,
        classifier: HistoryNetwork,
        dictionary: LearnableDictionary,
        recipe: Recipe,
        batch: int,
        processes: Processes = ALONE,
        rule: AnswerRule | None = None,
    ) -> None:
        self.rule = rule
        self.querier, self.classifier, self.dictionary = querier, classifier, dictionary
        self.recipe, self.processes = recipe, processes
        self.k = len(dictionary.rows)
        self.longest = min(recipe.max_history, self.k) - 1
        device = dictionary.theta.device
        on_gpu = device.type == "cuda"
        self.network_optimizer = torch.optim.AdamW(
            [*querier.parameters(), *classifier.parameters()],
            recipe.learning_rate,
            weight_decay=recipe.weight_decay,
            fused=True,
            capturable=on_gpu,
        )
        self.dictionary_optimizer = torch.optim.Adam(
            dictionary.parameters(),
            recipe.dictionary_learning_rate,
            fused=True,
            capturable=on_gpu,
        )
        if on_gpu:  # a captured graph reads the rates where they are
            for group in self._groups():
                group["lr"] = torch.tensor(group["lr"], device=device)
        self.temperature = torch.tensor(recipe.temperature[0], dtype=torch.float64, device=device)
        self.loss_sum = torch.zeros((), device=device)
        self.orders = torch.zeros(1, 1, batch, self.longest, dtype=torch.long, device=device)

    def answers(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Answers of images to all k queries of the dictionary as it is now."""
        if self.rule is not None:
            return self.rule.answers(self.rule.scores(images))
        return minmax_answers(images @ self.dictionary().T, hard=self.recipe.answers == "minmax")

    def follow_schedules(self, done: float) -> None:
        """Set learning rates and temperature for the share of the stage that is done."""
        start, end = self.recipe.temperature
        self.temperature.fill_(start + (end - start) * done)
        for optimizer, rate in (
            (self.network_optimizer, self.recipe.learning_rate),
            (self.dictionary_optimizer, self.recipe.dictionary_learning_rate),
        ):
            for group in optimizer.param_groups:
                now = self.recipe.scheduled(rate, done)
                if isinstance(group["lr"], Tensor):
                    group["lr"].fill_(now)
                else:
                    group["lr"] = now

    @torch.no_grad()
    def roll_out(self, images: Float[Tensor, "b d"], sizes: Int[Tensor, "r h b"]) -> None:
        """One roll-out, as long as any of the sizes, into `orders` (1, 1, b, length)."""
        self.orders.copy_(self._orders(self.answers(images), sizes.flatten(0, 1)))

    def update_networks(
        self,
        images: Float[Tensor, "b d"],
        labels: Int[Tensor, " b"],
        sizes: Int[Tensor, "r h b"],
        orders: Int[Tensor, "r2 h2 b length"] | None = None,
    ) -> None:
        """r updates of querier and classifier with the dictionary frozen."""
        with torch.no_grad():
            answers = self.answers(images)
        for update, drawn in enumerate(sizes):
            masks = self._masks(answers, drawn, _pick(orders, update))
            loss = self._loss(answers, labels, masks)
            self.loss_sum += self.processes.mean(loss.detach())
            self._step(loss, self.network_optimizer)

    def update_dictionary(
        self,
        images: Float[Tensor, "b d"],
        labels: Int[Tensor, " b"],
        sizes: Int[Tensor, "1 h b"],
        orders: Int[Tensor, "1 h2 b length"] | None = None,
    ) -> None:
        """One update of theta with querier and classifier frozen."""
        self._move_theta(images, labels, sizes, orders, self.dictionary_optimizer)

    def update_all(
        self,
        images: Float[Tensor, "b d"],
        labels: Int[Tensor, " b"],
        sizes: Int[Tensor, "1 h b"],
        orders: Int[Tensor, "1 h2 b length"] | None = None,
    ) -> None:
        """One update of networks and theta together (`joint`)."""
        both = self.network_optimizer, self.dictionary_optimizer
        self.loss_sum += self._move_theta(images, labels, sizes, orders, *both)

    def _move_theta(
        self,
        images: Tensor,
        labels: Tensor,
        sizes: Tensor,
        orders: Tensor | None,
        *optimizers: torch.optim.Optimizer,
    ) -> Tensor:
        """A step of the optimizers by a loss whose gradient reaches theta; snaps, returns it."""
        answers = self.answers(images)
        masks = self._masks(answers.detach(), sizes[0], _pick(orders, 0))
        loss = self._loss(answers, labels, masks)
        self._step(loss, *optimizers)
        self.dictionary.snap()
        return self.processes.mean(loss.detach())

    @torch.no_grad()
    def _masks(self, answers: Tensor, sizes: Tensor, orders: Tensor | None) -> Tensor:
        """The asked queries (h, b, k) of one update."""
        if orders is None:
            orders = self._orders(answers, sizes)
        return prefix_masks(orders.expand(*sizes.shape, -1), sizes, self.k)

    def _orders(self, answers: Tensor, sizes: Tensor) -> Tensor:
        return greedy_orders(self.querier, answers, sizes.amax(dim=0), self.longest)

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on from here, beside the modules."""
        return {
            "network_optimizer": self.network_optimizer.state_dict(),
            "dictionary_optimizer": self.dictionary_optimizer.state_dict(),
            "loss_sum": self.loss_sum,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        rates = [group["lr"] for group in self._groups()]
        self.network_optimizer.load_state_dict(state["network_optimizer"])
        self.dictionary_optimizer.load_state_dict(state["dictionary_optimizer"])
        # The schedule sets the rates of every batch: they stay numbers, or tensors on the device.
        for group, rate in zip(self._groups(), rates, strict=True):
            group["lr"] = rate
        self.loss_sum.copy_(state["loss_sum"])

    def _groups(self) -> list[dict[str, Any]]:
        return self.network_optimizer.param_groups + self.dictionary_optimizer.param_groups

    def _loss(self, answers: Tensor, labels: Tensor, masks: Tensor) -> Tensor:
        """The objective averaged over the h histories of every image."""
        histories = len(masks)
        return pursuit_loss(
            self.querier,
            self.classifier,
            answers.repeat(histories, 1),
            masks.flatten(0, 1).to(answers.dtype),
            labels.repeat(histories),
            self.temperature,
        )

    def _step(self, loss: Tensor, *optimizers: torch.optim.Optimizer) -> None:
        """One step of the optimizers; gradients of nothing else are computed."""
        parameters = [p for o in optimizers for group in o.param_groups for p in group["params"]]
        for parameter in parameters:
            parameter.grad = None
        loss.backward(inputs=parameters)
        self.processes.average_gradients(parameters)
        for optimizer in optimizers:
            optimizer.step()


def _pick(orders: Tensor | None, update: int) -> Tensor | None:
    return None if orders is None else orders[update % len(orders)]
