"""Settings of the method `naive_bayes`: all that changes its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class NaiveBayesSettings:
    """Information Pursuit with naive Bayes and information gain.

    Attributes:
        answers: `three_valued`: no, not sure or yes; `threshold`: no or yes. Both depend on their
            own query and the image alone. `minmax`: the paper's rule.
        rates: `counted`, or `fitted` to tell the classes apart.
        knowledge: whether the knowledge table of the data set is used.
        leakage: weight, from 0 to 1, of information that the words of a query do not explain.
    """

    answers: Literal["three_valued", "threshold", "minmax"] = "three_valued"
    rates: Literal["counted", "fitted"] = "counted"
    knowledge: bool = True
    leakage: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.leakage <= 1:
            raise ValueError(f"leakage is {self.leakage}; expected 0 to 1")
