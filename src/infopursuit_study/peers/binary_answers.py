"""Yes or no of each text about each image, for the peers that reason about answers."""

from __future__ import annotations

from typing import Literal

from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.pursuit.answers.rules import ThresholdAnswers
from infopursuit.pursuit.answers.thresholds import fit_thresholds

Threshold = Literal["median", "informative"]


def fit_answers(
    X: Float[Tensor, "n d"],
    labels: Int[Tensor, " n"],
    texts: Float[Tensor, "m d"],
    threshold: Threshold,
) -> ThresholdAnswers:
    """Answer yes if the cosine with a text, less that with the mean text, exceeds a threshold.

    The threshold is the median of the training images, or the one whose answer has the most
    information about the class.
    """
    directions = texts - texts.mean(dim=0)
    scores = X @ directions.T
    if threshold == "median":
        return ThresholdAnswers(directions, scores.median(dim=0).values)
    return ThresholdAnswers(directions, fit_thresholds(scores, labels))


def answers_of(rule: ThresholdAnswers, X: Float[Tensor, "n d"]) -> Bool[Tensor, "n m"]:
    """Return the texts to which each image says yes."""
    return rule.of_scores(rule.scores(X)) > 0.5
