"""Model selection: the area under the accuracy-budget curve on images not trained on."""

from __future__ import annotations

import copy
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from infopursuit.pursuit.querier import Classifier, Querier
from infopursuit.pursuit.rollout import GPU_BLOCK, images_at_once, roll_out
from infopursuit.vip.processes import ALONE, Processes


@torch.no_grad()
def curve_area(
    querier: Querier,
    classifier: Classifier,
    answers: Float[Tensor, "n k"],
    labels: Int[Tensor, " n"],
    budget: int,
    classes: int,
    processes: Processes = ALONE,
) -> float:
    """AUC: the mean of the accuracies after t = 1..budget queries, in [0, 1].

    Each process brings images of its own (or none); the mean is over all of them.
    """
    correct = torch.zeros((), dtype=torch.long, device=labels.device)
    size = images_at_once(budget, classes) if answers.is_cpu else GPU_BLOCK
    for some, truth in zip(answers.split(size), labels.split(size), strict=True):
        predicted = roll_out(querier, classifier, some, budget).posteriors.argmax(dim=2)
        correct += (predicted[:, 1:] == truth.unsqueeze(1)).sum()
    count = torch.tensor(len(labels), device=labels.device)
    return processes.sum(correct).item() / (processes.sum(count).item() * budget)


class Selection:
    """The best weights so far; the earlier of equals."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.weights: dict[str, dict[str, Tensor]] = {}

    def consider(
        self, area: float, phase: str, updates: int, modules: dict[str, nn.Module]
    ) -> None:
        """Keep a copy of the modules' weights if their AUC is the best yet."""
        if self.facts and area <= self.facts["validation_auc"]:
            return
        self.facts = {"phase": phase, "updates": updates, "validation_auc": area}
        self.weights = copy.deepcopy(
            {name: dict(module.state_dict()) for name, module in modules.items()}
        )

    def apply(self, modules: dict[str, nn.Module]) -> None:
        """Put the selected weights back into the modules."""
        for name, module in modules.items():
            module.load_state_dict(self.weights[name])
