"""Training: Algorithm 1 of the paper, with its random and its biased phase.

    while not converged:
        for each of t updates:  update querier and classifier, dictionary frozen
        update the dictionary, querier and classifier frozen

A `fixed` dictionary is never updated, `joint` updates all three at once, `alternating` is the
algorithm. A phase is measured in updates of the networks, so that methods compare update for
update; with the schedule `plateau` it ends when held-out accuracy has stopped rising. All updates
between two batches share one mini-batch, and in the biased phase one roll-out.
"""

from __future__ import annotations

import logging
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from tqdm import tqdm

from infopursuit.pursuit.answers.rules import AnswerRule
from infopursuit.pursuit.dictionary.learnable import LearnableDictionary
from infopursuit.pursuit.vip.batches import (
    Batches,
    HistoryDraws,
    ImageRows,
    ImageShard,
    prefix_masks,
)
from infopursuit.pursuit.vip.checkpoints import Checkpoint
from infopursuit.pursuit.vip.cuda_graphs import CapturedCalls
from infopursuit.pursuit.vip.distributed import Execution
from infopursuit.pursuit.vip.early_stopping import (
    BestCheckpoint,
    EarlyStopping,
    mean_accuracy_by_budget,
)
from infopursuit.pursuit.vip.networks import HistoryNetwork
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.pursuit.vip.updates import Updates, answer_rule

logger = logging.getLogger("infopursuit")

Phase = Literal["random", "biased"]
# What a checkpoint keeps of a trainer besides its parts.
COUNTERS = ("updates", "random_ended", "dictionary_updates", "midway", "log", "losses")


class TrainingImages(NamedTuple):
    """Images of c classes to learn from or to select on: of unit norm, with labels 0..c-1."""

    embeddings: Float[Tensor, "n d"] | ImageRows
    labels: Int[Tensor, " n"]
    classes: int


class InitialDictionary(NamedTuple):
    """The texts that may become queries, of any float type, and the rows of the first k queries.

    Threshold answers are relative to `reference`; None for the universe. Questions of another kind,
    which stay as they are, have the `rule` by which rows answer them.
    """

    universe: Float[Tensor, "u d"]
    rows: Int[Tensor, " k"]
    reference: Float[Tensor, "v d"] | None = None
    rule: AnswerRule | None = None


class Trained(NamedTuple):
    """The selected networks and dictionary on the CPU, and how they came about.

    Attributes:
        rule: how images answer the queries.
        rows: for `initial`, `midway` and `final` (selected) the universe rows of the k texts.
        selected: phase, updates and held-out accuracy of the selection.
        log: one row a validation: phase, updates, loss, validation_auc, distinct_queries, ...
    """

    querier: HistoryNetwork
    classifier: HistoryNetwork
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
        dictionary: what it starts from.
        settings: how to train.
        budget: T of the validation curve, at most k.
        seed: of weights, order of images and histories.
        execution: where to compute.
    """

    def __init__(
        self,
        train: TrainingImages,
        validation: TrainingImages,
        dictionary: InitialDictionary,
        settings: VariationalSettings,
        budget: int,
        seed: int = 0,
        execution: Execution | None = None,
    ) -> None:
        self.settings, self.budget, self.initial = settings, budget, dictionary.rows
        execution = Execution() if execution is None else execution
        self.device, self.processes = device, processes = execution.device, execution.processes
        self.k = k = len(dictionary.rows)
        self.images = ImageShard(train.embeddings, processes, device)
        self.labels, self.classes = train.labels.to(device), train.classes
        self.held_out = ImageShard(validation.embeddings, processes, device)
        self.held_out_labels = validation.labels[self.held_out.place].to(device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.querier = HistoryNetwork(k, k, settings.hidden).to(device)
            self.classifier = HistoryNetwork(k, train.classes, settings.hidden).to(device)
        universe, rows, reference, given = dictionary
        self.dictionary = LearnableDictionary(
            universe.to(device), rows.to(device), settings.quantize_queries
        ).to(device)
        self.batches = Batches(len(train.labels), settings.batch_size, seed)
        self.histories = HistoryDraws(k, settings.sizes(k), self.batches.size, seed, device)
        self.part = processes.part(self.batches.size)
        texts = universe if reference is None else reference
        if given is None:
            rule = answer_rule(settings, self.dictionary, self.images, train.labels, texts)
        else:
            fixed = given.to(device)
            rule = lambda: fixed  # noqa: E731
        self.step = Updates(
            self.querier,
            self.classifier,
            self.dictionary,
            rule,
            settings,
            self.batches.size // processes.count,
            processes,
        )
        self.call = CapturedCalls()
        self.best = BestCheckpoint()
        self.updates = 0
        # The updates before the biased phase, once the random phase is over.
        self.random_ended = None if settings.random_updates else 0
        self.early_stopping = self._early_stopping()
        self.dictionary_updates = 0
        self.losses = 0
        self.midway: Tensor | None = None
        self.log: list[dict[str, Any]] = []

    # -- Algorithm 1 ------------------------------------------------------------------------

    def train(self, checkpoint: Checkpoint | None = None) -> Trained:
        """Run both phases, from the last checkpoint if there is one, and return the selection."""
        if checkpoint is not None:
            checkpoint.restore(self)
        quiet = self.processes.rank > 0 or None  # None: quiet unless it is a terminal
        with tqdm(total=self.settings.updates, initial=self.updates, disable=quiet) as progress:
            while not self._over():
                progress.update(self.train_on_batch())
                if checkpoint is not None and self.processes.rank == 0:
                    checkpoint.save_if_due(self)
        return self._selected()

    def train_on_batch(self) -> int:
        """Make the updates that share one mini-batch: t of the networks, one of theta; return t."""
        step, method = self.step, self.settings.dictionary
        phase, done, left = self._phase()
        step.follow_schedules(done)
        t = min(self.settings.network_updates if method == "alternating" else 1, left)
        learns = method == "alternating" and t == self.settings.network_updates
        images, labels = self._next_images()
        masks = self._histories(phase, images, t + learns)
        if method == "joint":
            self.call(step.update_all, images, labels, masks[0])
            self.dictionary_updates += 1
        else:
            self.call(step.update_networks, images, labels, masks[:t])
        self._after_updates(phase, t)
        if learns:
            self.call(step.update_dictionary, images, labels, masks[t])
            self.dictionary_updates += 1
        return t

    # -- parts of an update -----------------------------------------------------------------

    def _phase(self) -> tuple[Phase, float, int]:
        """Return the phase of the next update, the share of it that is done, and its updates left.

        With `plateau` the share counts the falls of the rates.
        """
        if self.random_ended is None:
            phase, begun, most = "random", 0, self.settings.random_updates
        else:
            phase, begun, most = "biased", self.random_ended, self.settings.biased_updates
        done = (self.updates - begun) / most
        if self.settings.schedule == "plateau":
            done = self.early_stopping.done
        return phase, done, begun + most - self.updates

    def _over(self) -> bool:
        if self.random_ended is None:
            return False
        left = self.random_ended + self.settings.biased_updates - self.updates
        return left <= 0 or self.early_stopping.over

    def _early_stopping(self) -> EarlyStopping:
        patience = self.settings.patience if self.settings.schedule == "plateau" else 0
        return EarlyStopping(patience, self.updates)

    def _next_images(self) -> tuple[Float[Tensor, "b d"], Int[Tensor, " b"]]:
        rows = self.batches.next().to(self.device, non_blocking=True)
        return self.images.take(rows)[self.part], self.labels[rows[self.part]]

    def _histories(self, phase: Phase, images: Tensor, updates: int) -> Float[Tensor, "r b k"]:
        """Return masks for r updates: random histories, or prefixes of one roll-out."""
        sizes = self.histories.sizes(updates)[:, self.part]
        if phase == "random":
            return prefix_masks(self.histories.orders(updates)[:, self.part], sizes, self.k)
        self.call(self.step.roll_out, images, sizes)
        return prefix_masks(self.step.orders, sizes, self.k)

    # -- selection and checkpoints ----------------------------------------------------------

    def _after_updates(self, phase: Phase, updates: int) -> None:
        self.updates += updates
        self.losses += updates
        left = self._phase()[2]
        due = self.updates % self.settings.validate_every < updates
        if due or (left == 0 and (phase == "biased" or not self.settings.biased_updates)):
            self._validate(phase)
        if phase == "random" and (left == 0 or self.early_stopping.over):
            self.random_ended, self.early_stopping = self.updates, self._early_stopping()
        # It is not known when half of the updates are done that `plateau` will take.
        halfway = self.updates >= self.settings.updates / 2
        if self.settings.schedule == "plateau":
            halfway = self.random_ended is not None
        if self.midway is None and halfway:
            self.midway = self.dictionary.rows.clone()

    @torch.no_grad()
    def _validate(self, phase: Phase) -> None:
        answers, labels = self.step.answers(self.held_out.own), self.held_out_labels
        networks = self.querier, self.classifier
        accuracy = mean_accuracy_by_budget(
            *networks, answers, labels, self.budget, self.classes, self.processes
        )
        self.log.append(
            {
                "phase": phase,
                "updates": self.updates,
                "dictionary_updates": self.dictionary_updates,
                "loss": self.step.loss_sum.item() / self.losses,
                "validation_auc": accuracy,
                "distinct_queries": len(self.dictionary.rows.unique()),
                "queries_changed": int((self.dictionary.rows.cpu() != self.initial).sum()),
            }
        )
        self.step.loss_sum.zero_()
        self.losses = 0
        self.best.consider(accuracy, phase, self.updates, self._modules())
        self.early_stopping.consider(accuracy, self.updates)

    def _modules(self) -> dict[str, nn.Module]:
        return {
            "querier": self.querier,
            "classifier": self.classifier,
            "dictionary": self.dictionary,
        }

    @torch.no_grad()
    def _selected(self) -> Trained:
        if self.dictionary_updates and self.processes.rank == 0:
            logger.info(
                "nearest texts: %.1f %% of the searches needed the whole universe",
                100 * self.dictionary.full_search_share,
            )
        self.best.apply(self._modules())
        assert self.midway is not None  # set at the latest by the last update
        rows = {"initial": self.initial, "midway": self.midway, "final": self.dictionary.rows}
        return Trained(
            self.querier.cpu(),
            self.classifier.cpu(),
            self.dictionary().cpu(),
            self.step.rule().to("cpu"),
            {name: found.cpu() for name, found in rows.items()},
            self.best.facts,
            self.log,
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state of the run between two batches."""
        return {
            **{name: module.state_dict() for name, module in self._modules().items()},
            "step": self.step.state_dict(),
            "batches": self.batches.state_dict(),
            "histories": self.histories.state_dict(),
            "selection": {"facts": self.best.facts, "weights": self.best.weights},
            "plateau": self.early_stopping.state_dict(),
            **{name: getattr(self, name) for name in COUNTERS},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        for name, module in self._modules().items():
            module.load_state_dict(state[name])
        self.step.load_state_dict(state["step"])
        self.batches.load_state_dict(state["batches"])
        self.histories.load_state_dict(state["histories"])
        self.best.facts = state["selection"]["facts"]
        self.best.weights = state["selection"]["weights"]
        for name in COUNTERS:
            setattr(self, name, state[name])
        self.early_stopping = self._early_stopping()
        self.early_stopping.load_state_dict(state["plateau"])
