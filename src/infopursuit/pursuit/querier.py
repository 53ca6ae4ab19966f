"""What a pursuit is made of: functions of a history of questions and answers.

A history of an image over k queries is a pair (answers * mask, mask), both (k,): the answers in
[0, 1], and which queries have been asked. The querier gives a value to each query, and the one of
largest value is asked next; the classifier gives logits of the classes. During a roll-out histories
grow by one answer at a time, and both compute only what one more answer changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

if TYPE_CHECKING:
    from infopursuit.pursuit.answers.table import AnswerTable

# What the values of questions are: expected information in nats, the same for the cost of the
# cheapest question, or the probability that a network gives to a question.
Criterion = Literal["information gain", "information for cost", "querier probability"]
Member = TypeVar("Member", bound="HistoryFunction")


@runtime_checkable
class IncrementalHistories(Protocol):
    """b histories that start empty and grow by one query at a time, without gradients."""

    def start(self, answers: Float[Tensor, "b k"], known: Bool[Tensor, "b k"]) -> None:
        """Let each empty history start with the answers that `known` selects."""
        ...

    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        """Append one query, not asked before, and its answer to each of the first r histories."""
        ...

    def outputs(self, rows: int) -> Float[Tensor, "r outputs"]:
        """Return values of the queries, or logits of the classes, of the first `rows` histories.

        The tensor is a new one: values of queries that were asked are overwritten in it.
        """
        ...

    def keep(self, rows: Int[Tensor, " r"]) -> None:
        """Go on with these histories alone, in this order."""
        ...


@runtime_checkable
class HistoryFunction(Protocol):
    """A querier (k outputs) or a classifier (c outputs)."""

    def __call__(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b outputs"]:
        """Return values of the queries, or logits of the classes, after the history of `mask`."""
        ...

    def incremental(self, batch: int) -> IncrementalHistories:
        """Return `batch` empty histories."""
        ...

    def select(self: Member, columns: Int[Tensor, " m"]) -> Member:
        """Return the same function for m of the queries."""
        ...

    def to(self: Member, device: torch.device | str) -> Member:
        """Return the same function on a device."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Return all that a saved model needs to restore the function, by name."""
        ...


class PlainHistories:
    """Histories over k queries of a function that is computed again at every step."""

    def __init__(self, function: HistoryFunction, batch: int, k: int) -> None:
        self.function = function
        self.answers, self.mask = torch.zeros(batch, k), torch.zeros(batch, k)

    def start(self, answers: Float[Tensor, "b k"], known: Bool[Tensor, "b k"]) -> None:
        self.mask = known.to(answers)
        self.answers = answers * self.mask

    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        rows = torch.arange(len(queries))
        self.answers[rows, queries], self.mask[rows, queries] = answers, 1.0

    def outputs(self, rows: int) -> Float[Tensor, "r outputs"]:
        return self.function(self.answers[:rows], self.mask[:rows])

    def keep(self, rows: Int[Tensor, " r"]) -> None:
        self.answers, self.mask = self.answers[rows], self.mask[rows]


@runtime_checkable
class Querier(HistoryFunction, Protocol):
    """Says which question to ask next."""

    kind: ClassVar[str]
    criterion: Criterion
    repeats: ClassVar[bool]  # whether a dictionary that it asks may hold a text twice
    # Outputs that differ by at most this are equal, and the first of equals is asked.
    rounding: float

    def values(self, outputs: Float[Tensor, "b k"]) -> Float[Tensor, "b k"]:
        """Return what the outputs mean by `criterion`; -inf marks queries that cannot be asked."""
        ...

    def for_classifier(self: Member, classifier: Any) -> Member:
        """Return the querier beside a classifier of fewer classes (`Classifier.for_classes`)."""
        ...


@runtime_checkable
class Classifier(HistoryFunction, Protocol):
    """Turns answers into a posterior."""

    kind: ClassVar[str]

    @property
    def table(self) -> AnswerTable | None:
        """How probable each answer is in each class; None if it does not know, as networks."""
        ...

    @property
    def exact(self) -> AnswerTable | None:
        """The same in float64."""
        ...

    def for_classes(self: Member, classes: Int[Tensor, " m"]) -> Member:
        """Return the classifier of m of the classes."""
        ...


@runtime_checkable
class Reader(Protocol):
    """A classifier that can read what a querier's histories have computed."""

    def beside(self, querier: IncrementalHistories) -> IncrementalHistories | None:
        """Return histories that follow those of the querier; None if these are of no use."""
        ...


@runtime_checkable
class Comparison(Protocol):
    """Says whether an image looks like any of the classes (`pursuit.conformity`)."""

    def p_values(self, answers: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        """Return of each image the share of images of the classes that are at most as unusual."""
        ...

    def select(self, columns: Int[Tensor, " m"]) -> Any:
        """Return the same for m of the queries."""
        ...

    def to(self, device: torch.device | str) -> Any:
        """Return the same on a device."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Return all that a saved model needs to restore it, by name."""
        ...
