"""Training: Algorithm 1 of the paper, with its random and its biased stage.

    while not converged:
        for each of t updates:  update querier and classifier, dictionary frozen
        update the dictionary, querier and classifier frozen

`fixed` never updates the dictionary, `joint` updates all three at once, `alternating` is the
algorithm. A stage is measured in updates of the networks, so that methods compare update for
update. All updates between two batches share one mini-batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from tqdm import tqdm

from infopursuit.dictionary.learnable import LearnableDictionary
from infopursuit.pursuit.answers import minmax_answers
from infopursuit.pursuit.batches import Batches
from infopursuit.pursuit.checkpoints import Checkpoint
from infopursuit.pursuit.histories import prefix_masks, random_masks, sample_sizes
from infopursuit.pursuit.images import LabelledImages
from infopursuit.pursuit.networks import HistoryNetwork
from infopursuit.pursuit.objective import pursuit_loss
from infopursuit.pursuit.recipe import Recipe
from infopursuit.pursuit.rollout import greedy_orders
from infopursuit.pursuit.selection import Selection, curve_area

STAGES = ("random", "biased")


class Trained(NamedTuple):
    """The selected networks and dictionary, and how they came about.

    Attributes:
        querier: g with the selected weights.
        classifier: f with the selected weights.
        queries: (k, d) unit-norm embeddings of the selected dictionary.
        rows: for `initial`, `midway` and `final` (selected) the universe rows of the k texts.
        selected: stage, updates and AUC of the selection.
        log: one row a validation: stage, updates, loss, validation_auc, distinct_queries, ...
    """

    querier: HistoryNetwork
    classifier: HistoryNetwork
    queries: Float[Tensor, "k d"]
    rows: dict[str, Int[Tensor, " k"]]
    selected: dict[str, Any]
    log: list[dict[str, Any]]


class Trainer:
    """One run. Its whole state goes into checkpoints, so that a killed run resumes exactly.

    Args:
        train: images to learn from, without the held-out ones.
        validation: images to select on.
        universe: (u, d) embeddings of all texts.
        initial: (k,) rows of the universe that the dictionary starts from.
        method: `fixed`, `alternating` or `joint`.
        budget: T of the validation curve.
        seed: of weights, order of images and histories.
        device: where to compute; images and universe move there once.
    """

    def __init__(
        self,
        train: LabelledImages,
        validation: LabelledImages,
        universe: Float[Tensor, "u d"],
        initial: Int[Tensor, " k"],
        recipe: Recipe,
        method: str,
        budget: int,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.recipe, self.method, self.budget, self.device = recipe, method, budget, device
        self.k, classes = len(initial), len(train.class_names)
        self.images, self.labels = train.embeddings.to(device), train.labels.to(device)
        self.validation = (validation.embeddings.to(device), validation.labels.to(device))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.querier = HistoryNetwork(self.k, self.k, recipe.hidden).to(device)
            self.classifier = HistoryNetwork(self.k, classes, recipe.hidden).to(device)
        self.dictionary = LearnableDictionary(
            universe.to(device), initial.to(device), recipe.quantize_queries
        ).to(device)
        self.initial = initial
        networks = [*self.querier.parameters(), *self.classifier.parameters()]
        self.network_optimizer = torch.optim.AdamW(
            networks, recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True
        )
        self.dictionary_optimizer = torch.optim.Adam(
            self.dictionary.parameters(), recipe.dictionary_learning_rate, fused=True
        )
        self.generator = torch.Generator().manual_seed(seed)
        self.batches = Batches(len(train.labels), recipe.batch_size, seed)
        self.selection = Selection()
        self.updates = 0
        self.dictionary_updates = 0
        self.midway: Tensor | None = None
        self.log: list[dict[str, Any]] = []
        self.losses: list[Tensor] = []
        self.temperature = recipe.temperature[0]

    # -- Algorithm 1 ------------------------------------------------------------------------

    def train(self, checkpoint: Checkpoint) -> Trained:
        """Run both stages, from the last checkpoint if there is one, and return the selection."""
        checkpoint.restore(self)
        with tqdm(total=self.recipe.updates, initial=self.updates, disable=None) as progress:
            while self.updates < self.recipe.updates:
                done = self.updates
                self._train_on_batch()
                progress.update(self.updates - done)
                checkpoint.save_if_due(self)
        return self._selected()

    def _train_on_batch(self) -> None:
        """The updates that share one mini-batch: t of the networks, one of the dictionary."""
        stage, remaining = self._stage()
        rows = self.batches.next().to(self.device)
        images, labels = self.images[rows], self.labels[rows]
        count = min(self.recipe.network_updates if self.method == "alternating" else 1, remaining)
        learns = self.method == "alternating" and count == self.recipe.network_updates
        masks = self._histories(stage, images, count + learns)
        for _ in range(count):
            self._follow_schedules(stage)
            if self.method == "joint":
                self._update_networks_and_dictionary(images, labels, next(masks))
            else:
                self._update_networks(images, labels, next(masks))
            self.updates += 1
            self._after_update(stage)
        if learns:
            self._update_dictionary(images, labels, next(masks))

    def _update_networks(self, images: Tensor, labels: Tensor, mask: Tensor) -> None:
        with torch.no_grad():
            answers = self.answers(images)
        loss = self._loss(answers, labels, mask)
        self.losses.append(loss.detach())
        _step(loss, self.network_optimizer)

    def _update_dictionary(self, images: Tensor, labels: Tensor, mask: Tensor) -> None:
        for network in (self.querier, self.classifier):
            network.requires_grad_(False)
        _step(self._loss(self.answers(images), labels, mask), self.dictionary_optimizer)
        for network in (self.querier, self.classifier):
            network.requires_grad_(True)
        self.dictionary.snap()
        self.dictionary_updates += 1

    def _update_networks_and_dictionary(self, images: Tensor, labels: Tensor, mask: Tensor) -> None:
        loss = self._loss(self.answers(images), labels, mask)
        self.losses.append(loss.detach())
        _step(loss, self.network_optimizer, self.dictionary_optimizer)
        self.dictionary.snap()
        self.dictionary_updates += 1

    # -- the pieces it is made of -----------------------------------------------------------

    def answers(self, images: Float[Tensor, "b d"]) -> Float[Tensor, "b k"]:
        """Answers of images to all k queries of the dictionary as it is now."""
        return minmax_answers(images @ self.dictionary().T, hard=self.recipe.answers == "minmax")

    def _loss(self, answers: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
        return pursuit_loss(self.querier, self.classifier, answers, mask, labels, self.temperature)

    def _histories(self, stage: str, images: Tensor, count: int) -> Iterator[Tensor]:
        """The masks (b, k) of `count` updates, drawn when they are asked for.

        With `per_batch` roll-outs one roll-out, as long as the longest history of each image,
        serves all of them.
        """
        sizes = [
            sample_sizes(len(images), self.k, self.recipe.max_history, self.generator)
            for _ in range(count)
        ]
        shared = None
        if stage == "biased" and self.recipe.rollouts == "per_batch":
            shared = self._orders(images, torch.stack(sizes).amax(dim=0))
        for drawn in sizes:
            if stage == "random":
                yield random_masks(drawn, self.k, self.generator).to(self.device)
            else:
                orders = shared if shared is not None else self._orders(images, drawn)
                yield prefix_masks(orders, drawn.to(self.device), self.k)

    @torch.no_grad()
    def _orders(self, images: Tensor, lengths: Tensor) -> Tensor:
        return greedy_orders(self.querier, self.answers(images), lengths)

    def _stage(self) -> tuple[str, int]:
        """The stage of the next update, and how many updates of the networks it has left."""
        if self.updates < self.recipe.random_updates:
            return STAGES[0], self.recipe.random_updates - self.updates
        return STAGES[1], self.recipe.updates - self.updates

    def _follow_schedules(self, stage: str) -> None:
        """Set learning rates and temperature for the share of the stage that is done."""
        recipe = self.recipe
        if stage == STAGES[0]:
            done = self.updates / recipe.random_updates
        else:
            done = (self.updates - recipe.random_updates) / recipe.biased_updates
        start, end = recipe.temperature
        self.temperature = start + (end - start) * done
        factor = 0.5 * (1 + math.cos(math.pi * done)) if recipe.schedule == "cosine" else 1.0
        for optimizer, rate in (
            (self.network_optimizer, recipe.learning_rate),
            (self.dictionary_optimizer, recipe.dictionary_learning_rate),
        ):
            for group in optimizer.param_groups:
                group["lr"] = rate * factor

    # -- selection and checkpoints ----------------------------------------------------------

    def _after_update(self, stage: str) -> None:
        if self.midway is None and self.updates >= self.recipe.updates / 2:
            self.midway = self.dictionary.rows.clone()
        if self.updates % self.recipe.validate_every == 0 or self.updates == self.recipe.updates:
            self._validate(stage)

    @torch.no_grad()
    def _validate(self, stage: str) -> None:
        images, labels = self.validation
        area = curve_area(self.querier, self.classifier, self.answers(images), labels, self.budget)
        loss = torch.stack(self.losses).mean().item()
        self.losses.clear()
        self.log.append(
            {
                "stage": stage,
                "updates": self.updates,
                "dictionary_updates": self.dictionary_updates,
                "loss": loss,
                "validation_auc": area,
                "distinct_queries": len(self.dictionary.rows.unique()),
                "queries_changed": int((self.dictionary.rows.cpu() != self.initial).sum()),
            }
        )
        self.selection.consider(area, stage, self.updates, self._modules())

    def _modules(self) -> dict[str, nn.Module]:
        return {
            "querier": self.querier,
            "classifier": self.classifier,
            "dictionary": self.dictionary,
        }

    def _selected(self) -> Trained:
        self.selection.apply(self._modules())
        with torch.no_grad():
            queries = self.dictionary().cpu()
        assert self.midway is not None  # set at the latest by the last update
        rows = {"initial": self.initial, "midway": self.midway, "final": self.dictionary.rows}
        return Trained(
            self.querier.cpu(),
            self.classifier.cpu(),
            queries,
            {name: found.cpu() for name, found in rows.items()},
            self.selection.facts,
            self.log,
        )

    def state_dict(self) -> dict[str, Any]:
        """The whole state of the run between two batches."""
        return {
            **{name: module.state_dict() for name, module in self._modules().items()},
            "network_optimizer": self.network_optimizer.state_dict(),
            "dictionary_optimizer": self.dictionary_optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "batches": self.batches.state_dict(),
            "selection": {"facts": self.selection.facts, "weights": self.selection.weights},
            "updates": self.updates,
            "dictionary_updates": self.dictionary_updates,
            "midway": self.midway,
            "log": self.log,
            "losses": self.losses,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        for name, module in self._modules().items():
            module.load_state_dict(state[name])
        self.network_optimizer.load_state_dict(state["network_optimizer"])
        self.dictionary_optimizer.load_state_dict(state["dictionary_optimizer"])
        self.generator.set_state(state["generator"])
        self.batches.load_state_dict(state["batches"])
        self.selection.facts = state["selection"]["facts"]
        self.selection.weights = state["selection"]["weights"]
        self.updates = state["updates"]
        self.dictionary_updates = state["dictionary_updates"]
        self.midway = state["midway"]
        self.log = state["log"]
        self.losses = state["losses"]


def _step(loss: Tensor, *optimizers: torch.optim.Optimizer) -> None:
    for optimizer in optimizers:
        optimizer.zero_grad(set_to_none=True)
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
