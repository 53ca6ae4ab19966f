"""Every setting of the paper's method that changes the result of training, and nothing else.

A plain dataclass, so that the training engine needs no more than torch; `infopursuit.pipeline`
checks types strictly when the settings come from params.yaml.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Literal, get_args, get_origin, get_type_hints

from infopursuit.core.errors import InputError

# What `plateau` multiplies the rates by, and how often: the phase ends in place of one more.
FACTOR, FALLS = 0.3, 2
# Settings that are more than 0, all of those that are two.
POSITIVE = (
    "network_updates", "batch_size", "max_history", "patience", "validate_every", "hidden",
    "temperature",
)  # fmt: skip

Dictionary = Literal["fixed", "alternating", "joint"]
Answers = Literal["minmax", "soft", "threshold"]
Schedule = Literal["constant", "cosine", "plateau"]


@dataclass(frozen=True)
class VariationalSettings:
    """Settings of one training run. Defaults are the paper's, but for how many updates there are.

    Attributes:
        dictionary: `fixed` keeps the initial queries; `alternating` and `joint` learn them.
        answers: `minmax` thresholds the min-max normalised scores at 0.5 (the paper), `soft` keeps
            the normalised scores themselves as answers (ablation), `threshold` compares the score
            of each query with its own threshold, fitted on training images (ablation).
        quantize_queries: snap every theta to its nearest text; False uses normalize(theta)
            (ablation, no longer explainable in words).
        hidden: widths of the two hidden layers of querier and classifier.
        random_updates: updates of the networks in the random phase; with `plateau` a limit.
        biased_updates: updates of the networks in the biased phase; with `plateau` a limit.
        network_updates: t, updates of the networks for each update of an alternating dictionary.
        batch_size: b, images per update.
        learning_rate: Adam's, of the networks.
        dictionary_learning_rate: Adam's, of theta.
        schedule: `constant`; `cosine` decay to zero over each phase; or `plateau`, which trains
            until held-out accuracy has stopped rising: the rates fall when `patience`
            updates brought no better one, and the phase ends when they have fallen twice before.
        patience: updates without a better accuracy that `plateau` waits for.
        weight_decay: decoupled, of the networks.
        temperature: of the querier's softmax at the start and the end of each phase; with `plateau`
            it changes when the rates fall.
        max_history: history sizes are uniform on {0, ..., min(max_history, k) - 1}; None for k, as
            in the paper.
        select_on: `held_out`; `test` follows the paper's protocol, and every figure says so.
        validate_every: updates of the networks between two measurements of held-out accuracy.
    """

    kind: ClassVar[str] = "variational"
    dictionary: Dictionary = "fixed"
    answers: Answers = "minmax"
    quantize_queries: bool = True
    hidden: tuple[int, int] = (2000, 500)
    random_updates: int = 1000
    biased_updates: int = 1000
    network_updates: int = 4
    batch_size: int = 256
    learning_rate: float = 1e-5
    dictionary_learning_rate: float = 1e-5
    schedule: Schedule = "constant"
    patience: int = 1000
    weight_decay: float = 0.0
    temperature: tuple[float, float] = (1.0, 1.0)
    max_history: int | None = None
    select_on: Literal["held_out", "test"] = "held_out"
    validate_every: int = 100

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self)).items():
            value, known = getattr(self, name), get_args(kind)
            if get_origin(kind) is Literal and value not in known:
                expected = f"{', '.join(known[:-1])} or {known[-1]}"
                raise InputError(f"{name} is {value!r}; expected {expected}")
        for name in POSITIVE:
            value = getattr(self, name)
            if value is None:
                continue
            least = min(value) if isinstance(value, (tuple, list)) else value
            if not least > 0:
                raise InputError(f"{name} is {least}; expected more than 0")
        for name in ("learning_rate", "dictionary_learning_rate", "weight_decay"):
            value = getattr(self, name)
            least = 0 if name == "weight_decay" else math.ulp(0)
            if not isinstance(value, Real) or not least <= float(value) <= 1:  # more makes NaN
                expected = "0 to 1" if least == 0 else "more than 0 and at most 1"
                raise InputError(f"{name} is {value!r}; expected {expected}")
        if min(self.random_updates, self.biased_updates) < 0 or self.updates == 0:
            raise InputError(
                f"random_updates is {self.random_updates} and biased_updates "
                f"{self.biased_updates}; expected 0 or more each and not both 0"
            )
        if self.answers == "threshold" and (
            self.dictionary != "fixed" or not self.quantize_queries
        ):
            raise InputError(
                f"answers is {self.answers}, dictionary {self.dictionary!r} and quantize_queries "
                f"{self.quantize_queries}; a threshold belongs to a text: expected fixed and true"
            )

    def sizes(self, k: int) -> int:
        """Return how many sizes of histories there are: 0 to one less."""
        return k if self.max_history is None else min(self.max_history, k)

    @property
    def updates(self) -> int:
        """Return the updates of the networks over both phases; with `plateau` a limit."""
        return self.random_updates + self.biased_updates

    def scheduled(self, rate: float, done: float) -> float:
        """Return a learning rate when this share of its phase, or of its falls, is done."""
        if self.schedule == "constant":
            return rate
        if self.schedule == "plateau":
            return rate * FACTOR ** (FALLS * done)
        return rate * 0.5 * (1 + math.cos(math.pi * done))
