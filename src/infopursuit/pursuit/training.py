"""Training: Algorithm 1 of the paper, with its random and its biased stage.

    while not converged:
        for each of t updates:  update querier and classifier, dictionary frozen
        update the dictionary, querier and classifier frozen

A `fixed` dictionary is never updated, `joint` updates all three at once, `alternating` is the
algorithm. A stage is measured in updates of the networks, so that methods compare update for
update. All updates between two batches share one mini-batch.
"""

from __future__ import annotations

import logging
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from tqdm import tqdm

from infopursuit.dictionary.learnable import LearnableDictionary
from infopursuit.pursuit.answers import AnswerRule, fit_threshold_rule
from infopursuit.pursuit.batches import Batches
from infopursuit.pursuit.captured import CapturedCalls
from infopursuit.pursuit.checkpoints import Checkpoint
from infopursuit.pursuit.growing_histories import Classifier, Querier
from infopursuit.pursuit.histories import HistoryDraws
from infopursuit.pursuit.images import LabelledImages
from infopursuit.pursuit.networks import HistoryNetwork
from infopursuit.pursuit.processes import ALONE, ImageShard, Processes
from infopursuit.pursuit.recipe import Recipe
from infopursuit.pursuit.selection import Selection, curve_area
from infopursuit.pursuit.updates import Updates

logger = logging.getLogger("infopursuit")

STAGES = ("random", "biased")


class Trained(NamedTuple):
    """The selected networks and dictionary, and how they came about.

    Attributes:
        querier: g with the selected weights.
        classifier: f with the selected weights.
        queries: (k, d) unit-norm embeddings of the selected dictionary.
        rule: how images answer them.
        rows: for `initial`, `midway` and `final` (selected) the universe rows of the k texts.
        selected: stage, updates and AUC of the selection.
        log: one row a validation: stage, updates, loss, validation_auc, distinct_queries, ...
    """

    querier: Querier
    classifier: Classifier
    queries: Float[Tensor, "k d"]
    rule: AnswerRule
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
        budget: T of the validation curve.
        seed: of weights, order of images and histories.
        device: where to compute; images and, on a GPU, the universe move there once.
        processes: those that train this run together.
        reference: texts that threshold answers are relative to, where it is not the universe.
    """

    def __init__(
        self,
        train: LabelledImages,
        validation: LabelledImages,
        universe: Float[Tensor, "u d"],
        initial: Int[Tensor, " k"],
        recipe: Recipe,
        budget: int,
        seed: int,
        device: torch.device | str = "cpu",
        processes: Processes = ALONE,
        reference: Float[Tensor, "v d"] | None = None,
    ) -> None:
        self.recipe, self.budget, self.device = recipe, budget, device
        self.processes = processes
        self.k, classes = len(initial), len(train.class_names)
        self.images = ImageShard(train.embeddings, processes, device)
        self.labels = train.labels.to(device)
        own = slice(processes.rank, None, processes.count)
        self.validation = (
            validation.embeddings[own].to(device),
            validation.labels[own].to(device),
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.querier = HistoryNetwork(self.k, self.k, recipe.hidden).to(device)
            self.classifier = HistoryNetwork(self.k, classes, recipe.hidden).to(device)
        self.dictionary = LearnableDictionary(
            universe.to(device), initial.to(device), recipe.quantize_queries
        ).to(device)
        self.initial = initial
        self.batches = Batches(len(train.labels), recipe.batch_size, seed)
        self.histories = HistoryDraws(self.k, recipe.max_history, seed, device)
        self.part = processes.part(self.batches.size)
        self.step = Updates(
            self.querier,
            self.classifier,
            self.dictionary,
            recipe,
            self.batches.size // processes.count,
            processes,
            self._rule(train, universe if reference is None else reference),
        )
        self.call = CapturedCalls()
        self.selection = Selection()
        self.updates = 0
        self.dictionary_updates = 0
        self.losses = 0
        self.midway: Tensor | None = None
        self.log: list[dict[str, Any]] = []

    def _rule(self, train: LabelledImages, reference: Tensor) -> AnswerRule | None:
        """The answers of a dictionary that stays, on the device."""
        if self.recipe.answers != "threshold":
            return None
        queries = self.dictionary().detach().cpu()
        rule = fit_threshold_rule(queries, reference, train.embeddings, train.labels)
        return rule.to(self.device)

    # -- Algorithm 1 ------------------------------------------------------------------------

    def train(self, checkpoint: Checkpoint) -> Trained:
        """Run both stages, from the last checkpoint if there is one, and return the selection."""
        checkpoint.restore(self)
        quiet = self.processes.rank > 0 or None  # None: quiet unless it is a terminal
        with tqdm(total=self.recipe.updates, initial=self.updates, disable=quiet) as progress:
            while self.updates < self.recipe.updates:
                done = self.updates
                self.train_on_batch()
                progress.update(self.updates - done)
                if self.processes.rank == 0:
                    checkpoint.save_if_due(self)
        return self._selected()

    def train_on_batch(self) -> None:
        """The updates that share one mini-batch: t of the networks, one of the dictionary."""
        stage, done, remaining = self._stage()
        self.step.follow_schedules(done)
        alternating = self.recipe.dictionary == "alternating"
        updates = min(self.recipe.network_updates if alternating else 1, remaining)
        learns = alternating and updates == self.recipe.network_updates
        images, labels = self._next_images()
        sizes, orders = self._histories(stage, images, updates + learns)

        if self.recipe.dictionary == "joint":
            self.call(self.step.update_all, images, labels, sizes, *orders)
            self.dictionary_updates += 1
        else:
            of_networks = [value[:updates] for value in (sizes, *orders)]
            self.call(self.step.update_networks, images, labels, *of_networks)
        self.updates += updates
        self.losses += updates
        self._after_updates(stage, updates)
        if learns:
            of_dictionary = [value[-1:] for value in (sizes, *orders)]
            self.call(self.step.update_dictionary, images, labels, *of_dictionary)
            self.dictionary_updates += 1

    # -- the pieces it is made of -----------------------------------------------------------

    def _next_images(self) -> tuple[Float[Tensor, "b d"], Int[Tensor, " b"]]:
        """This process's part of the next batch."""
        rows = self.batches.next().to(self.device, non_blocking=True)
        return self.images.take(rows)[self.part], self.labels[rows[self.part]]

    def _histories(self, stage: str, images: Tensor, updates: int) -> tuple[Tensor, list[Tensor]]:
        """Sizes (r, h, b) for r updates and, unless every update rolls out, the orders."""
        histories = self.recipe.histories_per_rollout if stage == "biased" else 1
        sizes = self.histories.sizes(updates, histories, self.batches.size)[..., self.part]
        if stage == "random":
            orders = self.histories.orders(updates, self.batches.size)
            return sizes, [orders[:, :, self.part]]
        if self.recipe.rollouts == "per_update":
            return sizes, []
        self.call(self.step.roll_out, images, sizes)
        return sizes, [self.step.orders]

    def _stage(self) -> tuple[str, float, int]:
        """The stage of the next update, the share of it that is done, the updates it has left."""
        random, biased = self.recipe.random_updates, self.recipe.biased_updates
        if self.updates < random:
            return STAGES[0], self.updates / random, random - self.updates
        return STAGES[1], (self.updates - random) / biased, self.recipe.updates - self.updates

    # -- selection and checkpoints ----------------------------------------------------------

    def _after_updates(self, stage: str, updates: int) -> None:
        if self.midway is None and self.updates >= self.recipe.updates / 2:
            self.midway = self.dictionary.rows.clone()
        due = self.updates % self.recipe.validate_every < updates
        if due or self.updates == self.recipe.updates:
            self._validate(stage)

    @torch.no_grad()
    def _validate(self, stage: str) -> None:
        images, labels = self.validation
        answers = self.step.answers(images)
        area = curve_area(
            self.querier, self.classifier, answers, labels, self.budget, self.processes
        )
        self.log.append(
            {
                "stage": stage,
                "updates": self.updates,
                "dictionary_updates": self.dictionary_updates,
                "loss": self.step.loss_sum.item() / self.losses,
                "validation_auc": area,
                "distinct_queries": len(self.dictionary.rows.unique()),
                "queries_changed": int((self.dictionary.rows.cpu() != self.initial).sum()),
            }
        )
        self.step.loss_sum.zero_()
        self.losses = 0
        self.selection.consider(area, stage, self.updates, self._modules())

    def _modules(self) -> dict[str, nn.Module]:
        return {
            "querier": self.querier,
            "classifier": self.classifier,
            "dictionary": self.dictionary,
        }

    def _selected(self) -> Trained:
        if self.dictionary_updates and self.processes.rank == 0:
            logger.info(
                "nearest texts: %.1f %% of the searches needed the whole universe",
                100 * self.dictionary.full_search_share,
            )
        self.selection.apply(self._modules())
        with torch.no_grad():
            queries = self.dictionary().cpu()
        kind: Literal["minmax", "soft"] = "soft" if self.recipe.answers == "soft" else "minmax"
        rule = self.step.rule.to("cpu") if self.step.rule else AnswerRule(kind, queries)
        assert self.midway is not None  # set at the latest by the last update
        rows = {"initial": self.initial, "midway": self.midway, "final": self.dictionary.rows}
        return Trained(
            self.querier.cpu(),
            self.classifier.cpu(),
            queries,
            rule,
            {name: found.cpu() for name, found in rows.items()},
            self.selection.facts,
            self.log,
        )

    def state_dict(self) -> dict[str, Any]:
        """The whole state of the run between two batches."""
        return {
            **{name: module.state_dict() for name, module in self._modules().items()},
            "step": self.step.state_dict(),
            "batches": self.batches.state_dict(),
            "histories": self.histories.state_dict(),
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
        self.step.load_state_dict(state["step"])
        self.batches.load_state_dict(state["batches"])
        self.histories.load_state_dict(state["histories"])
        self.selection.facts = state["selection"]["facts"]
        self.selection.weights = state["selection"]["weights"]
        self.updates = state["updates"]
        self.dictionary_updates = state["dictionary_updates"]
        self.midway = state["midway"]
        self.log = state["log"]
        self.losses = state["losses"]
