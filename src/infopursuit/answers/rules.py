"""How images answer the queries of a dictionary: one interface, two rules.

`MinMaxAnswers` is the paper's rule, eqs. (soft query answers) and (hard answer). By
`ThresholdAnswers` an answer depends on its own query and the image alone.

Answers are numbers in [0, 1]: 0 is no, 1 is yes, 0.5 is not sure; a soft answer lies anywhere in
between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.answers.moments import class_moments
from infopursuit.answers.score_map import fit_score_map
from infopursuit.answers.thresholds import fit_thresholds
from infopursuit.datasets.rows import UnitRows

Rule = TypeVar("Rule", bound="AnswerRule")


@runtime_checkable
class AnswerRule(Protocol):
    """The answers of images to k queries."""

    def scores(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """How strongly images speak for each query."""
        ...

    def of_scores(self, scores: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """Answers in [0, 1] from the scores of all k queries."""
        ...

    def answers(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Answers in [0, 1] of images to all k queries."""
        ...

    def select(self: Rule, columns: Int[Tensor, " m"]) -> Rule:
        """The same rule for m of the queries.

        Raises:
            InputError: an answer depends on the other queries.
        """
        ...

    def to(self: Rule, device: torch.device | str) -> Rule:
        """The same rule on a device."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """All that a saved model needs to restore the rule, by name."""
        ...


class _FromScores:
    """A rule whose answers follow from scores."""

    def answers(self: AnswerRule, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Answers in [0, 1] of images to all k queries."""
        return self.of_scores(self.scores(images))


@dataclass(frozen=True)
class MinMaxAnswers(_FromScores):
    """Yes where the score, min-max normalised over the image's k scores, exceeds 0.5.

    Attributes:
        queries: (k, d) unit-norm embeddings of the queries.
        hard: False keeps the normalised score itself as the answer (ablation).
    """

    queries: Float[Tensor, "k d"]
    hard: bool = True

    def scores(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Cosines of unit-norm images and queries."""
        return images @ self.queries.T

    def of_scores(self, scores: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """The gradient of hard answers is that of the soft ones (straight-through)."""
        return minmax_answers(scores, self.hard)

    def select(self, columns: Int[Tensor, " m"]) -> MinMaxAnswers:
        """The rule of a smaller dictionary: its answers are others, as they are normalised anew."""
        return MinMaxAnswers(self.queries[columns], self.hard)

    def to(self, device: torch.device | str) -> MinMaxAnswers:
        """The same rule on a device."""
        return MinMaxAnswers(self.queries.to(device), self.hard)

    def tensors(self) -> dict[str, Tensor]:
        """The embeddings of the queries."""
        return {"queries": self.queries}


@dataclass(frozen=True)
class ThresholdAnswers(_FromScores):
    """Yes where the score of a query exceeds the query's own threshold; or no, not sure and yes.

    Attributes:
        directions: (k, d), what images are multiplied with to give scores.
        thresholds: (k,), no at most here.
        upper: (k,), yes above; not sure in between. None for yes wherever it is not no.
    """

    directions: Float[Tensor, "k d"]
    thresholds: Float[Tensor, " k"]
    upper: Float[Tensor, " k"] | None = None

    def scores(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Unit-norm images along the directions of the queries."""
        return images @ self.directions.T

    def of_scores(self, scores: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """1 for yes, 0.5 for not sure and 0 for no."""
        not_no = (scores > self.thresholds).to(scores.dtype)
        if self.upper is None:
            return not_no
        return (not_no + (scores > self.upper).to(scores.dtype)) / 2

    def select(self, columns: Int[Tensor, " m"]) -> ThresholdAnswers:
        """The same rule for m of the queries: no answer changes."""
        upper = None if self.upper is None else self.upper[columns]
        return ThresholdAnswers(self.directions[columns], self.thresholds[columns], upper)

    def to(self, device: torch.device | str) -> ThresholdAnswers:
        """The same rule on a device."""
        upper = None if self.upper is None else self.upper.to(device)
        return ThresholdAnswers(self.directions.to(device), self.thresholds.to(device), upper)

    def tensors(self) -> dict[str, Tensor]:
        """Directions and thresholds."""
        tensors = {"directions": self.directions, "thresholds": self.thresholds}
        return tensors if self.upper is None else {**tensors, "upper": self.upper}


@dataclass(frozen=True)
class ColumnAnswers(_FromScores):
    """Questions about the columns of a table: yes where a column exceeds a cut.

    Attributes:
        columns: (k,) the column that each question is about.
        cuts: (k,) float64.
    """

    columns: Int[Tensor, " k"]
    cuts: Float[Tensor, " k"]

    def scores(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """The values in the columns asked about, of the rows of a table."""
        return images[:, self.columns]

    def of_scores(self, scores: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """1 for yes and 0 for no."""
        return (scores > self.cuts).float()

    def select(self, columns: Int[Tensor, " m"]) -> ColumnAnswers:
        """The same rule for m of the questions."""
        return ColumnAnswers(self.columns[columns], self.cuts[columns])

    def to(self, device: torch.device | str) -> ColumnAnswers:
        """The same rule on a device."""
        return ColumnAnswers(self.columns.to(device), self.cuts.to(device))

    def tensors(self) -> dict[str, Tensor]:
        """Columns and cuts."""
        return {"columns": self.columns, "cuts": self.cuts}


def fit_threshold_rule(
    queries: Float[Tensor, "k d"],
    universe: UnitRows,
    images: UnitRows,
    labels: Int[Tensor, " n"],
) -> ThresholdAnswers:
    """Directions and thresholds of queries, fitted on training images with labels 0..c-1.

    Scores are relative to what the texts of `universe` have in common.
    """
    within = class_moments(images.blocks(), labels).within
    directions = fit_score_map(universe, within).directions(queries)
    thresholds = fit_thresholds(images.tensor() @ directions.T, labels).values
    return ThresholdAnswers(directions, thresholds)


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
