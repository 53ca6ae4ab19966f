"""How an image answers queries: scores to soft answers to hard answers.

Implements eqs. (soft query answers) and (hard answer) of the paper, and beside them answers that
depend on their own query and the image alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.evidence.score_map import fit_score_map
from infopursuit.evidence.thresholds import fit_thresholds


@dataclass(frozen=True)
class AnswerRule:
    """The answers of images to the k queries of a dictionary.

    Attributes:
        kind: `minmax`: yes where the score, min-max normalised over the image's k scores, exceeds
            0.5 (the paper); `soft`: that normalised score itself; `threshold`: yes where the score
            exceeds the query's own threshold.
        directions: what images are multiplied with to give scores.
        thresholds: of the queries, for `threshold` only.
    """

    kind: Literal["minmax", "soft", "threshold"]
    directions: Float[Tensor, "k d"]
    thresholds: Float[Tensor, " k"] | None = None

    def scores(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """How strongly unit-norm images speak for each query."""
        return images @ self.directions.T

    def answers(self, scores: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """1 for yes and 0 for no; values in [0, 1] for `soft`."""
        if self.thresholds is not None:
            return (scores > self.thresholds).to(scores.dtype)
        return minmax_answers(scores, hard=self.kind == "minmax")

    def to(self, device: torch.device | str) -> AnswerRule:
        """The same rule on a device."""
        thresholds = None if self.thresholds is None else self.thresholds.to(device)
        return AnswerRule(self.kind, self.directions.to(device), thresholds)

    def select(self, columns: Int[Tensor, " m"]) -> AnswerRule:
        """The same rule for m of the queries."""
        thresholds = None if self.thresholds is None else self.thresholds[columns]
        return AnswerRule(self.kind, self.directions[columns], thresholds)


def fit_threshold_rule(
    queries: Float[Tensor, "k d"],
    reference: Float[Tensor, "u d"],
    images: Float[Tensor, "n d"],
    labels: Int[Tensor, " n"],
) -> AnswerRule:
    """Directions and thresholds of queries, fitted on training images with labels 0..c-1.

    Scores are relative to what the texts of `reference`, the universe, have in common.
    """
    directions = fit_score_map(reference, images, labels).directions(queries)
    thresholds = fit_thresholds(images @ directions.T, labels).values
    return AnswerRule("threshold", directions, thresholds)


def minmax_answers(scores: Float[Tensor, "b k"], hard: bool = True) -> Float[Tensor, "b k"]:
    """Answers by the paper's rule: scores min-max normalised per image over the k queries.

    Args:
        scores: cosines of images and queries.
        hard: answers in {0, 1}, yes where the soft answer exceeds 0.5, with the gradient of the
            soft answer (straight-through); False returns the soft answers in [0, 1].

    An image whose scores are all equal answers 0 to everything, never NaN.
    """
    lowest, highest = scores.amin(dim=1, keepdim=True), scores.amax(dim=1, keepdim=True)
    spread = highest - lowest
    flat = spread == 0
    soft = (scores - lowest) / spread.masked_fill(flat, 1)
    if not hard:
        return soft
    return (soft > 0.5).to(soft.dtype) + (soft - soft.detach())
