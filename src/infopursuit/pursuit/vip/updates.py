"""The updates of Algorithm 1 on one mini-batch: of the networks, of the dictionary, or of both.

Nothing here reads a value back from the device or branches on one: on a GPU each function runs as
one captured graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.datasets.labelled_images import spread_sample
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pursuit.answers.directions import fit_score_map
from infopursuit.pursuit.answers.moments import class_moments
from infopursuit.pursuit.answers.rules import (
    AnswerRule,
    MinMaxAnswers,
    SoftAnswers,
    ThresholdAnswers,
)
from infopursuit.pursuit.answers.thresholds import THRESHOLD_IMAGES, fit_thresholds
from infopursuit.pursuit.dictionary.learnable import LearnableDictionary
from infopursuit.pursuit.rollout import greedy_orders
from infopursuit.pursuit.vip.batches import ImageShard
from infopursuit.pursuit.vip.distributed import ALONE, Processes
from infopursuit.pursuit.vip.networks import HistoryNetwork
from infopursuit.pursuit.vip.settings import VariationalSettings


def straight_through_choice(
    logits: Float[Tensor, "b k"], asked: Float[Tensor, "b k"], temperature: float | Tensor
) -> Float[Tensor, "b k"]:
    """Return the one-hot of the best query not yet asked, with the gradient of the softmax."""
    soft = (logits.masked_fill(asked > 0, -torch.inf) / temperature).softmax(dim=1)
    hard = functional.one_hot(soft.detach().argmax(dim=1), soft.shape[1]).to(soft.dtype)
    return hard + (soft - soft.detach())


def pursuit_loss(
    querier: HistoryNetwork,
    classifier: HistoryNetwork,
    answers: Float[Tensor, "b k"],
    mask: Float[Tensor, "b k"],
    labels: Int[Tensor, " b"],
    temperature: float | Tensor = 1.0,
) -> Float[Tensor, ""]:
    """Return the objective of eq. (vip): cross-entropy on histories plus the query of the querier.

    Up to the entropy of the labels this is the KL divergence of eq. (vip). The gradient reaches
    the querier through both channels of the grown history.
    """
    choice = straight_through_choice(querier(answers, mask), mask, temperature)
    return functional.cross_entropy(classifier(answers, mask + choice), labels)


class Updates:
    """Networks and dictionary with their optimizers.

    The histories of an update come as masks of the queries asked, one for each image.
    """

    def __init__(
        self,
        querier: HistoryNetwork,
        classifier: HistoryNetwork,
        dictionary: LearnableDictionary,
        rule: Callable[[], AnswerRule],
        settings: VariationalSettings,
        batch: int,
        processes: Processes = ALONE,
    ) -> None:
        self.querier, self.classifier, self.dictionary = querier, classifier, dictionary
        self.rule, self.settings, self.processes = rule, settings, processes
        self.longest = settings.sizes(len(dictionary.rows)) - 1
        device = dictionary.theta.device
        on_gpu = device.type == "cuda"
        self.network_optimizer = torch.optim.AdamW(
            [*querier.parameters(), *classifier.parameters()],
            settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=True,
            capturable=on_gpu,
        )
        self.dictionary_optimizer = torch.optim.Adam(
            dictionary.parameters(),
            settings.dictionary_learning_rate,
            fused=True,
            capturable=on_gpu,
        )
        if on_gpu:  # a captured graph reads the rates where they are
            for group in self._groups():
                group["lr"] = torch.tensor(group["lr"], device=device)
        self.temperature = torch.tensor(settings.temperature[0], dtype=torch.float64, device=device)
        self.loss_sum = torch.zeros((), device=device)
        self.orders = torch.zeros(batch, self.longest, dtype=torch.long, device=device)

    def answers(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Return the answers of images to all k queries of the dictionary as it is now."""
        return self.rule().answers(images)

    def follow_schedules(self, done: float) -> None:
        """Set learning rates and temperature for the share of the phase that is done."""
        start, end = self.settings.temperature
        self.temperature.fill_(start + (end - start) * done)
        for optimizer, rate in (
            (self.network_optimizer, self.settings.learning_rate),
            (self.dictionary_optimizer, self.settings.dictionary_learning_rate),
        ):
            for group in optimizer.param_groups:
                now = self.settings.scheduled(rate, done)
                if isinstance(group["lr"], Tensor):
                    group["lr"].fill_(now)
                else:
                    group["lr"] = now

    @torch.no_grad()
    def roll_out(self, images: Float[Tensor, "b d"], sizes: Int[Tensor, "r b"]) -> None:
        """Roll the querier out, as long as any of the sizes, into `orders` (b, length)."""
        answers = self.answers(images)
        self.orders.copy_(greedy_orders(self.querier, answers, sizes.amax(dim=0), self.longest))

    def update_networks(
        self,
        images: Float[Tensor, "b d"],
        labels: Int[Tensor, " b"],
        masks: Float[Tensor, "r b k"],
    ) -> None:
        """Update querier and classifier r times with the dictionary frozen."""
        with torch.no_grad():
            answers = self.answers(images)
        for mask in masks:
            loss = self._loss(answers, labels, mask)
            self.loss_sum += self.processes.mean(loss.detach())
            self._step(loss, self.network_optimizer)

    def update_dictionary(
        self,
        images: Float[Tensor, "b d"],
        labels: Int[Tensor, " b"],
        mask: Float[Tensor, "b k"],
    ) -> None:
        """Update theta once with querier and classifier frozen."""
        self._move_theta(images, labels, mask, self.dictionary_optimizer)

    def update_all(
        self,
        images: Float[Tensor, "b d"],
        labels: Int[Tensor, " b"],
        mask: Float[Tensor, "b k"],
    ) -> None:
        """Update networks and theta together (`joint`)."""
        both = self.network_optimizer, self.dictionary_optimizer
        self.loss_sum += self._move_theta(images, labels, mask, *both)

    def _move_theta(
        self, images: Tensor, labels: Tensor, mask: Tensor, *optimizers: torch.optim.Optimizer
    ) -> Tensor:
        """Step the optimizers by a loss that reaches theta; snap theta and return the loss."""
        loss = self._loss(self.answers(images), labels, mask)
        self._step(loss, *optimizers)
        self.dictionary.snap()
        return self.processes.mean(loss.detach())

    def _loss(self, answers: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
        mask = mask.to(answers.dtype)
        return pursuit_loss(self.querier, self.classifier, answers, mask, labels, self.temperature)

    def _step(self, loss: Tensor, *optimizers: torch.optim.Optimizer) -> None:
        parameters = [p for o in optimizers for group in o.param_groups for p in group["params"]]
        for parameter in parameters:
            parameter.grad = None
        loss.backward(inputs=parameters)
        self.processes.average_gradients(parameters)
        for optimizer in optimizers:
            optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        """Return the state besides the modules."""
        return {
            "network_optimizer": self.network_optimizer.state_dict(),
            "dictionary_optimizer": self.dictionary_optimizer.state_dict(),
            "loss_sum": self.loss_sum,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        rates = [group["lr"] for group in self._groups()]
        self.network_optimizer.load_state_dict(state["network_optimizer"])
        self.dictionary_optimizer.load_state_dict(state["dictionary_optimizer"])
        # The schedule sets the rates of every batch: they stay numbers, or tensors on the device.
        for group, rate in zip(self._groups(), rates, strict=True):
            group["lr"] = rate
        self.loss_sum.copy_(state["loss_sum"])

    def _groups(self) -> list[dict[str, Any]]:
        return self.network_optimizer.param_groups + self.dictionary_optimizer.param_groups


def answer_rule(
    settings: VariationalSettings,
    dictionary: LearnableDictionary,
    images: ImageShard,
    labels: Int[Tensor, " n"],
    reference: Float[Tensor, "v d"],
) -> Callable[[], AnswerRule]:
    """Return a function that gives the answer rule of the dictionary as it is when called.

    Thresholds are fitted on at most THRESHOLD_IMAGES of the n training images.
    """
    if settings.answers == "threshold":  # of a dictionary that stays as it is
        queries = dictionary().detach()
        sample = spread_sample(labels, THRESHOLD_IMAGES)
        shown = images.take(sample.to(images.own.device)).cpu()
        texts = UnitMatrix(reference, "texts")
        rows = UnitMatrix(shown, "images")
        rule = fit_threshold_rule(queries.cpu(), texts, rows, labels[sample])
        fitted = rule.to(queries.device)
        return lambda: fitted
    kind = MinMaxAnswers if settings.answers == "minmax" else SoftAnswers
    return lambda: kind(dictionary())


def fit_threshold_rule(
    queries: Float[Tensor, "k d"],
    universe: UnitMatrix,
    images: UnitMatrix,
    labels: Int[Tensor, " n"],
) -> ThresholdAnswers:
    """Fit directions and thresholds of queries on training images with labels 0..c-1.

    Scores are relative to what the texts of `universe` have in common.
    """
    scatter = class_moments(images.blocks(), labels).discounted
    directions = fit_score_map(universe, scatter, int(labels.max()) + 1).directions(queries)
    scores = images.tensor() @ directions.T
    return ThresholdAnswers(directions, fit_thresholds(scores, labels))
