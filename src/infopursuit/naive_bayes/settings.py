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
        knowledge: whether the knowledge table of the data set is used.
    """

    answers: Literal["three_valued", "threshold", "minmax"] = "three_valued"
    knowledge: bool = True
