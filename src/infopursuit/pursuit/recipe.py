"""How a run is trained: every setting that changes the result of training, and nothing else.

A plain dataclass, so that the training engine needs no more than torch; `infopursuit.params`
validates it strictly when it comes from params.yaml.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Recipe:
    """Settings of one training run. Defaults are the paper's where it states one.

    Attributes:
        dictionary: `fixed` keeps the initial queries; `alternating` and `joint` learn them.
        networks: `mlp`, the paper's querier and classifier; `evidence`, a table of what each class
            answers, which asks by information gain and needs no updates.
        answers: `minmax` thresholds the min-max normalised scores at 0.5 (the paper), `soft` keeps
            the normalised scores themselves as answers (ablation), `threshold` compares the score
            of each query with a threshold of its own, fitted on training images.
        quantize_queries: snap every theta to its nearest text; False uses normalize(theta)
            (ablation, no longer explainable in words).
        hidden: widths of the two hidden layers of querier and classifier.
        random_updates: updates of the networks in the random stage.
        biased_updates: updates of the networks in the biased stage.
        network_updates: t, updates of the networks for each update of an alternating dictionary.
        batch_size: b, images per update.
        learning_rate: Adam's, of the networks.
        dictionary_learning_rate: Adam's, of theta.
        schedule: `constant`, or `cosine` decay to zero over each stage.
        weight_decay: decoupled, of the networks.
        temperature: of the querier's softmax at the start and the end of each stage.
        max_history: history sizes are uniform on {0, ..., min(max_history, k) - 1}.
        rollouts: `per_update` rolls the querier out for every update, `per_batch` once for all
            updates on a batch (the querier is then at most t updates stale).
        histories_per_rollout: prefixes of a roll-out that each image trains on in one update, of
            stratified lengths; the loss is their mean.
        held_out: share of the training images, stratified, kept for selection.
        select_on: `held_out`; `test` follows the paper's protocol, and every figure says so.
        validate_every: updates of the networks between two measurements of the AUC.
    """

    dictionary: Literal["fixed", "alternating", "joint"] = "fixed"
    networks: Literal["mlp", "evidence"] = "mlp"
    answers: Literal["minmax", "soft", "threshold"] = "minmax"
    quantize_queries: bool = True
    hidden: tuple[int, int] = (2000, 500)
    random_updates: int = 1000
    biased_updates: int = 1000
    network_updates: int = 4
    batch_size: int = 256
    learning_rate: float = 1e-5
    dictionary_learning_rate: float = 1e-5
    schedule: Literal["constant", "cosine"] = "constant"
    weight_decay: float = 0.0
    temperature: tuple[float, float] = (1.0, 1.0)
    max_history: int = 128
    rollouts: Literal["per_update", "per_batch"] = "per_batch"
    histories_per_rollout: int = 1
    held_out: float = 0.1
    select_on: Literal["held_out", "test"] = "held_out"
    validate_every: int = 100

    def __post_init__(self) -> None:
        positive = {
            "network_updates": self.network_updates,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "dictionary_learning_rate": self.dictionary_learning_rate,
            "max_history": self.max_history,
            "histories_per_rollout": self.histories_per_rollout,
            "validate_every": self.validate_every,
            "hidden": min(self.hidden),
            "temperature": min(self.temperature),
        }
        for name, value in positive.items():
            if not value > 0:
                raise ValueError(f"{name} is {value}; expected more than 0")
        if min(self.random_updates, self.biased_updates) < 0 or self.updates == 0:
            raise ValueError(
                f"random_updates is {self.random_updates} and biased_updates "
                f"{self.biased_updates}; expected 0 or more each and not both 0"
            )
        if self.answers == "threshold" and (
            self.dictionary != "fixed" or not self.quantize_queries
        ):
            raise ValueError(
                f"answers is threshold, dictionary {self.dictionary!r} and quantize_queries "
                f"{self.quantize_queries}; a threshold belongs to a text: expected fixed and true"
            )
        if self.networks == "evidence" and (self.dictionary != "fixed" or self.answers == "soft"):
            raise ValueError(
                f"networks is evidence, dictionary {self.dictionary!r} and answers "
                f"{self.answers!r}; expected a fixed dictionary and answers of yes and no"
            )
        if not 0 < self.held_out < 1:
            raise ValueError(f"held_out is {self.held_out}; expected a share between 0 and 1")

    @property
    def updates(self) -> int:
        """Updates of the networks over both stages."""
        return self.random_updates + self.biased_updates

    def scheduled(self, rate: float, done: float) -> float:
        """A learning rate when this share of its stage is done."""
        if self.schedule == "constant":
            return rate
        return rate * 0.5 * (1 + math.cos(math.pi * done))
