"""What held-out images decide while training: which weights are kept, and when a phase ends."""

from __future__ import annotations

import copy
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from infopursuit.pursuit.querier import Classifier, Querier
from infopursuit.pursuit.rollout import GPU_BLOCK, images_at_once, roll_out
from infopursuit.pursuit.vip.distributed import ALONE, Processes
from infopursuit.pursuit.vip.settings import FALLS


@torch.no_grad()
def mean_accuracy_by_budget(
    querier: Querier,
    classifier: Classifier,
    answers: Float[Tensor, "n k"],
    labels: Int[Tensor, " n"],
    budget: int,
    classes: int,
    processes: Processes = ALONE,
) -> float:
    """Return the mean of the accuracies after t = 1..budget queries, in [0, 1].

    It is the area under the accuracy-budget curve, and called `validation_auc` in files. Each
    process brings its own images (or none); the mean is over all of them.
    """
    correct = torch.zeros((), dtype=torch.long, device=labels.device)
    size = images_at_once(budget, classes) if answers.is_cpu else GPU_BLOCK
    for block, truth in zip(answers.split(size), labels.split(size), strict=True):
        predicted = roll_out(querier, classifier, block, budget).posteriors.argmax(dim=2)
        correct += (predicted[:, 1:] == truth.unsqueeze(1)).sum()
    count = torch.tensor(len(labels), device=labels.device)
    return processes.sum(correct).item() / (processes.sum(count).item() * budget)


class EarlyStopping:
    """The schedule `plateau`: rates fall when held-out accuracy stops rising, then a phase ends.

    After `patience` updates without a better accuracy the rates fall to FACTOR of what they were.
    After FALLS falls the phase ends instead of another fall. With a patience of 0 nothing happens.
    """

    def __init__(self, patience: int, begin: int = 0) -> None:
        self.patience = patience
        self.falls, self.best, self.best_at = 0, -1.0, begin

    def consider(self, accuracy: float, updates: int) -> None:
        """Take note of a held-out accuracy."""
        if accuracy > self.best:
            self.best, self.best_at = accuracy, updates
        elif self.patience and updates - self.best_at >= self.patience:
            self.falls, self.best_at = self.falls + 1, updates

    @property
    def over(self) -> bool:
        """Whether the phase has ended."""
        return self.falls > FALLS

    @property
    def done(self) -> float:
        """Return the share of the falls that the rates have had, in [0, 1]."""
        return self.falls / FALLS

    def state_dict(self) -> dict[str, Any]:
        return {"falls": self.falls, "best": self.best, "since": self.best_at}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.falls, self.best, self.best_at = state["falls"], state["best"], state["since"]


class BestCheckpoint:
    """The best weights so far; of equals the earlier ones."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.weights: dict[str, dict[str, Tensor]] = {}

    def consider(
        self, accuracy: float, phase: str, updates: int, modules: dict[str, nn.Module]
    ) -> None:
        """Keep a copy of the modules' weights if their held-out accuracy is the best yet."""
        if self.facts and accuracy <= self.facts["validation_auc"]:
            return
        self.facts = {"phase": phase, "updates": updates, "validation_auc": accuracy}
        self.weights = copy.deepcopy(
            {name: dict(module.state_dict()) for name, module in modules.items()}
        )

    def apply(self, modules: dict[str, nn.Module]) -> None:
        """Put the best weights back into the modules."""
        for name, module in modules.items():
            module.load_state_dict(self.weights[name])
