"""Model selection: the area under the accuracy-budget curve on images not trained on."""

from __future__ import annotations

import copy
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from infopursuit.pursuit.networks import HistoryNetwork
from infopursuit.pursuit.rollout import roll_out


@torch.no_grad()
def curve_area(
    querier: HistoryNetwork,
    classifier: HistoryNetwork,
    answers: Float[Tensor, "n k"],
    labels: Int[Tensor, " n"],
    budget: int,
    batch: int = 1024,
) -> float:
    """AUC: the mean of the accuracies after t = 1..budget queries, in [0, 1]."""
    correct = 0
    for start in range(0, len(labels), batch):
        rows = slice(start, start + batch)
        predicted = roll_out(querier, classifier, answers[rows], budget).posteriors.argmax(dim=2)
        correct += int((predicted[:, 1:] == labels[rows].unsqueeze(1)).sum())
    return correct / (len(labels) * budget)


class Selection:
    """The best weights so far; the earlier of equals."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.weights: dict[str, dict[str, Tensor]] = {}

    def consider(
        self, area: float, stage: str, updates: int, modules: dict[str, nn.Module]
    ) -> None:
        """Keep a copy of the modules' weights if their AUC is the best yet."""
        if self.facts and area <= self.facts["validation_auc"]:
            return
        self.facts = {"stage": stage, "updates": updates, "validation_auc": area}
        self.weights = copy.deepcopy(
            {name: dict(module.state_dict()) for name, module in modules.items()}
        )

    def apply(self, modules: dict[str, nn.Module]) -> None:
        """Put the selected weights back into the modules."""
        for name, module in modules.items():
            module.load_state_dict(self.weights[name])
