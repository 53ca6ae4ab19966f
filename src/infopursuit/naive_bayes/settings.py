"""Settings of the method `naive_bayes`: all that changes its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class NaiveBayesSettings:
    """Information Pursuit with naive Bayes and information gain.

    Attributes:
        answers: `threshold`, where an answer depends on its own query and image alone, or `minmax`,
            the paper's rule.
    """

    answers: Literal["threshold", "minmax"] = "threshold"
