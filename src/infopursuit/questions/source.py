"""What a source of questions is: it chooses questions, and says how rows answer them.

A source of your own is a class with one method, `choose` (docs/contributing.md has one). It then
fits, explains and saves as any other. A rule of your own has a `kind`, by which saved models name
it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from infopursuit.datasets.table_columns import TableColumns
from infopursuit.pursuit.answers.rules import AnswerRule
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.model import InformationGain
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet, TrainingSet
from infopursuit.pursuit.parts import Kinds
from infopursuit.questions.constraints import QuestionConstraints
from infopursuit.texts.knowledge import KnowledgeTable

# Sources that estimators make from their own settings.
SOURCES = Kinds("source", texts="infopursuit.questions.texts")


@dataclass(frozen=True)
class Questions:
    """Questions that were chosen, and how rows answer them.

    Attributes:
        queries: k questions.
        rule: how rows answer.
        first: the place of the question that comes first; None for the best.
        words: of the answers to each question; none if they are yes and no.
        querier: what asks by a table of answers; another one if questions differ in weight, or make
            others redundant.
        knowledge: what was known of the classes and texts; None if nothing was.
    """

    queries: Sequence[str]
    rule: AnswerRule
    first: int | None = None
    words: tuple[tuple[str, ...], ...] = ()
    querier: Callable[[AnswerTable], InformationGain] = InformationGain
    knowledge: Callable[[], KnowledgeTable | None] | None = None


class QuestionSource(ABC):
    """Where questions come from.

    Attributes:
        of_tables: whether they are about rows of a table, not about embeddings.
        pursuit: the kind of the pursuit that `auto` means.
        width: d of the rows that they are about; None for any.
        rates: what the setting `rates="auto"` chooses from.
        note: a sentence below each explanation; None for none.
    """

    of_tables: ClassVar[bool] = False
    pursuit: ClassVar[str] = "naive_bayes"
    width: int | None = None
    rates: ClassVar[tuple[str, ...]] = ("counted",)
    note: str | None = None

    def settings(self) -> dict[str, Any] | None:
        """Return what a saved model keeps for another fit, as `TableQuestions` takes it."""
        return None

    def on_columns(self, names: TableColumns, constraints: QuestionConstraints) -> QuestionSource:
        """Return the same for a table with these columns.

        Raises:
            InputError: it is about other columns.
        """
        return self

    def taught(
        self, annotations: Mapping[str, Any], y: Any, data: InMemorySet, seed: int
    ) -> QuestionSource:
        """Return the same with what people say of single rows, in the order of the labels y."""
        return self

    def check_rows(self, data: TrainingSet, seed: int) -> None:  # noqa: B027 (most check none)
        """Warn if the questions cannot be about these rows."""

    def variants(self, data: TrainingSet) -> Sequence[QuestionSource]:
        """Return sources of which `fit` takes the one that predicts other rows best."""
        return [self]

    @abstractmethod
    def choose(self, data: TrainingSet, constraints: QuestionConstraints, seed: int) -> Questions:
        """Choose the questions on training rows, and fit how rows answer them.

        Raises:
            InputError: a constraint cannot be met.
        """

    def wording(self, queries: Sequence[str], class_names: Sequence[str]) -> tuple[str, ...]:
        """Return the questions as they are asked of these classes; none if queries say it all."""
        return ()

    def facts(self, queries: Sequence[str]) -> dict[str, Any]:
        """Return what a model with these questions remembers of the source."""
        return {}
