"""How images answer the queries of a dictionary: one interface, four rules.

`MinMaxAnswers` is the paper's rule, eqs. (soft query answers) and (hard answer). By
`ThresholdAnswers` an answer depends on its own query and the image alone. `ColumnAnswers` asks
whether a column of a table exceeds a cut, `ColumnValues` for its value.

Answers are numbers in [0, 1], in v even steps: below 0.5 for no, above it for yes (`WORDS`); a soft
answer lies anywhere.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.pursuit.parts import RULES, Expected, Sizes

Rule = TypeVar("Rule", bound="AnswerRule")
Values = TypeVar("Values", bound="ColumnValues")

NOT_SURE = 0.5
# Answers in words. Of two and three answers, no and yes are firm.
WORDS = {"no": 0.0, "probably not": 0.25, "not sure": NOT_SURE, "probably": 0.75, "yes": 1.0}


def in_words(answer: float) -> str:
    """Return an answer in words: one of `WORDS`, or yes or no with its value."""
    for word, value in WORDS.items():
        if answer == value:
            return word
    return f"{'yes' if answer > NOT_SURE else 'no'} {answer:.2f}"


@dataclass(frozen=True)
class AnswerRule(ABC):
    """How images answer k queries; its tensors have one row for each query.

    A subclass that has a `kind` of its own is found by it when a saved model is loaded.

    Attributes:
        kind: what a saved model calls the rule.
        noun: what one of the things that answer is called, wherever a person reads of it.
        of_tables: whether those are rows of a table, not embeddings.
        soft: whether any number from 0 to 1 is an answer, not steps alone.
        has_gaps: whether the middle answer stands for none, and tells nothing.
    """

    kind: ClassVar[str]
    noun: ClassVar[str] = "image"
    of_tables: ClassVar[bool] = False
    soft: ClassVar[bool] = False
    has_gaps: ClassVar[bool] = False

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        RULES.register(cls)

    @property
    def levels(self) -> int:
        """v, how many answers there are."""
        return 2

    @abstractmethod
    def scores(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Return how strongly images speak for each query."""

    @abstractmethod
    def of_scores(self, scores: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """Return answers in [0, 1] from the scores of all k queries."""

    @property
    def directions_of_scores(self) -> Float[Tensor, "k d"] | None:
        """What images are multiplied with to give scores; None if scores are not products."""
        return None

    def answers(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Return answers in [0, 1] of images to all k queries."""
        return self.of_scores(self.scores(images))

    def word(self, query: int, answer: float) -> str | None:
        """Return an answer to a query in words of the rule's own; None for those of `WORDS`."""
        return None

    def certainty(self, answers: Float[Tensor, " k"]) -> Float[Tensor, " k"]:
        """Return how certain answers of an image are: yes and no are 1, not sure is 0.5."""
        return torch.maximum(answers, 1 - answers)

    def number_cuts(self, query: int) -> list[float] | None:
        """Return what a number is compared with to give an answer; None if numbers give none."""
        return None

    def select(self: Rule, columns: Int[Tensor, " m"]) -> Rule:
        """Return the same rule for m of the queries."""
        return self._changed(lambda tensor: tensor[columns])

    def to(self: Rule, device: torch.device | str) -> Rule:
        """Return the same rule on a device."""
        return self._changed(lambda tensor: tensor.to(device))

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors of the rule, by name, as saved models have them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Tensor)}

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of each tensor; without more knowledge, that it is finite."""
        return {name: Expected(tuple(each.shape), each.dtype) for name, each in tensors.items()}

    @classmethod
    def from_tensors(cls: type[Rule], tensors: Mapping[str, Tensor]) -> Rule:
        """Return the rule that `tensors` gave."""
        return cls(**tensors)

    def _changed(self: Rule, change: Callable[[Tensor], Tensor]) -> Rule:
        return replace(self, **{name: change(each) for name, each in self.tensors().items()})


@dataclass(frozen=True)
class MinMaxAnswers(AnswerRule):
    """Yes if the score, min-max normalised over the image's k scores, exceeds 0.5.

    A smaller dictionary gives other answers: scores are normalised over its queries.

    Attributes:
        queries: (k, d) unit-norm embeddings of the queries.
    """

    kind: ClassVar[str] = "minmax"

    queries: Float[Tensor, "k d"]

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of the queries."""
        return {"queries": Expected((sizes.k, sizes.d))}

    @property
    def directions_of_scores(self) -> Float[Tensor, "k d"]:
        """Return the queries."""
        return self.queries

    def scores(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Return cosines of unit-norm images and queries."""
        return images @ self.queries.T

    def of_scores(self, scores: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """Return answers; the gradient of hard ones is that of the soft ones (straight-through)."""
        return minmax_answers(scores, not self.soft)


@dataclass(frozen=True)
class SoftAnswers(MinMaxAnswers):
    """The normalised score itself is the answer (ablation)."""

    kind: ClassVar[str] = "soft"
    soft: ClassVar[bool] = True


@dataclass(frozen=True)
class ThresholdAnswers(AnswerRule):
    """The score of a query is compared with its own threshold.

    Attributes:
        directions: (k, d), what images are multiplied with to give scores.
        thresholds: (k,), no at most here, yes above.
    """

    kind: ClassVar[str] = "threshold"

    directions: Float[Tensor, "k d"]
    thresholds: Float[Tensor, " k"]

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of directions and thresholds."""
        return {"directions": Expected((sizes.k, sizes.d)), "thresholds": Expected((sizes.k,))}

    @property
    def directions_of_scores(self) -> Float[Tensor, "k d"]:
        """Return the directions."""
        return self.directions

    def scores(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Return unit-norm images along the directions of the queries."""
        return images @ self.directions.T

    def of_scores(self, scores: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """Return whether each score exceeds its threshold."""
        return (scores > self.thresholds).to(scores.dtype)


# After which answer of a question another one is redundant.
ANY, YES, NO, UNSURE = 0, 1, 2, 3
# The answer of a gap in a table: between no and yes, it tells nothing.
GAP = NOT_SURE


@dataclass(frozen=True)
class ColumnAnswers(AnswerRule):
    """Questions about the columns of a table: yes if a column exceeds a cut; a gap is not sure.

    Attributes:
        columns: (k,) the column that each question is about.
        cuts: (k,) float64.
    """

    kind: ClassVar[str] = "columns"
    noun: ClassVar[str] = "row"
    of_tables: ClassVar[bool] = True

    columns: Int[Tensor, " k"]
    cuts: Float[Tensor, " k"]

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of columns and cuts."""
        return {
            "columns": Expected((sizes.k,), None, least=0, most=sizes.d - 1),
            "cuts": Expected((sizes.k,), torch.float64),
        }

    def scores(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Return the values in the columns asked about, of the rows of a table."""
        return images[:, self.columns]

    def of_scores(self, scores: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """Return 1 for yes, 0 for no, and GAP for a gap (NaN)."""
        return (scores > self.cuts).float().masked_fill(scores.isnan(), GAP)


# A cut that no number exceeds, where a column has fewer cuts than others.
NO_CUT = torch.finfo(torch.float64).max


def value_levels(cuts: int) -> int:
    """Return how many answers questions for values have: at least a cell more than cuts, a gap."""
    return 2 * ((cuts + 2) // 2) + 1


@dataclass(frozen=True)
class ColumnValues(ColumnAnswers):
    """Questions that show the value of a column: in which cell between its cuts it lies.

    Of v answers, the middle one is a gap. The lower half of the cells are the first answers, the
    upper half the last ones, so that no and yes of two cells are 0 and 1.

    Attributes:
        columns: (k,) the column that each question is about.
        cuts: (k, q) float64, ascending; NO_CUT where a column has fewer.
        numeric: (k,) bool: whether cells are intervals of numbers, not categories.
        seen: (k, 2) float64, the least and the largest value of each column in fit; None if these
            are not known.
        whole: (k,) bool: whether all numbers of the column in fit are whole; None if unknown.
    """

    kind: ClassVar[str] = "values"
    has_gaps: ClassVar[bool] = True

    cuts: Float[Tensor, "k q"]
    numeric: Bool[Tensor, " k"]
    seen: Float[Tensor, "k 2"] | None = None
    whole: Bool[Tensor, " k"] | None = None

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of columns, cuts and kinds of columns."""
        cuts = tensors["cuts"].shape[-1:] if "cuts" in tensors else ()
        return {
            **super().shapes(sizes, tensors),
            "cuts": Expected((sizes.k, *cuts), torch.float64),
            "numeric": Expected((sizes.k,), None, least=0, most=1),
            "seen": Expected((sizes.k, 2), torch.float64, optional=True),
            "whole": Expected((sizes.k,), None, optional=True, least=0, most=1),
        }

    @classmethod
    def from_tensors(cls: type[Values], tensors: Mapping[str, Tensor]) -> Values:
        """Return the rule that `tensors` gave."""
        numeric, whole = tensors["numeric"] > 0, tensors.get("whole")
        whole = None if whole is None else whole > 0
        return cls(tensors["columns"], tensors["cuts"], numeric, tensors.get("seen"), whole)

    def having_seen(self: Values, rows: Float[Tensor, "n d"]) -> Values:
        """Return the same rule that knows which values there were in fit."""
        values = self.scores(rows)
        ends = [
            values.nan_to_num(nan=end).aminmax(dim=0)[place]
            for place, end in enumerate((math.inf, -math.inf))
        ]
        return replace(self, seen=torch.stack(ends, dim=1))

    def unlike_seen(self, values: Float[Tensor, "n k"]) -> list[tuple[int, float, float, float]]:
        """Return question, value, least and largest seen, of the farthest number of each column.

        Test rows often lie a little beyond the training rows. A number is unlike these if it lies
        further out than they are apart: it may be in another unit.
        """
        if self.seen is None:
            return []
        low, high = self.seen.T
        out = torch.maximum(low - values, values - high) - (high - low)
        beyond = out.nan_to_num(nan=0.0).clamp_min(0)
        beyond = beyond * self.numeric
        return [
            (query, float(values[beyond[:, query].argmax(), query]), *self.seen[query].tolist())
            for query in (beyond > 0).any(dim=0).nonzero().squeeze(1).tolist()
        ]

    def number_cuts(self, query: int) -> list[float] | None:
        """Return the cuts of a column of numbers."""
        cuts = self.cuts[query]
        return cuts[cuts < NO_CUT].tolist() if self.numeric[query] else None

    @property
    def levels(self) -> int:
        """v, how many answers there are: an odd number."""
        return value_levels(self.cuts.shape[1])

    @property
    def cells(self) -> Int[Tensor, " k"]:
        """How many cells each column has."""
        return 1 + (self.cuts < NO_CUT).sum(dim=1)

    def of_scores(self, scores: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """Return the level of the cell of each value, in [0, 1], and GAP for a gap (NaN)."""
        cell = torch.zeros(scores.shape, dtype=torch.long, device=scores.device)
        for cut in self.cuts.T:
            cell += scores > cut
        level = torch.where(cell < (self.cells + 1) // 2, cell, cell + self.levels - self.cells)
        return (level / (self.levels - 1)).masked_fill(scores.isnan(), GAP)

    def levels_of(self, query: int) -> list[int]:
        """Return the levels of the cells of a question, in their order."""
        cells = int(self.cells[query])
        return [*range((cells + 1) // 2), *range(self.levels - cells // 2, self.levels)]


@dataclass(frozen=True)
class TellingGaps(ColumnValues):
    """The same, but that there is no value is an answer with rates of its own in each class."""

    kind: ClassVar[str] = "values_or_none"
    has_gaps: ClassVar[bool] = False


def minmax_answers(scores: Float[Tensor, "b k"], hard: bool = True) -> Float[Tensor, "b k"]:
    """Return answers by the paper's rule: scores min-max normalised per image over the k queries.

    An image whose scores are all equal answers 0 to everything, never NaN.

    Args:
        scores: cosines of images and queries.
        hard: answers in {0, 1}, yes if the soft answer exceeds 0.5, with the gradient of the soft
            answer (straight-through); False returns the soft answers in [0, 1].
    """
    lowest, highest = scores.amin(dim=1, keepdim=True), scores.amax(dim=1, keepdim=True)
    spread = highest - lowest
    flat = spread == 0
    soft = (scores - lowest) / spread.masked_fill(flat, 1)
    if not hard:
        return soft
    return (soft > 0.5).to(soft.dtype) + (soft - soft.detach())
