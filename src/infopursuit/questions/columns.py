"""Questions for the values of the columns of a table: `petal length? 4.9 to 5.1`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import torch

from infopursuit.core.errors import InputError
from infopursuit.datasets.table_columns import TableColumns
from infopursuit.pursuit.answers.columns import (
    column_values,
    value_texts,
    value_words,
    values_named,
)
from infopursuit.pursuit.naive_bayes.credit import credit_of
from infopursuit.pursuit.naive_bayes.model import InformationGain
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet, TrainingSet
from infopursuit.questions.constraints import QuestionConstraints, check_words
from infopursuit.questions.source import Questions, QuestionSource
from infopursuit.texts.text_table import check_room, not_banned, refuse_banned, warn_of_idle_bans

# Questions about columns are chosen on at most this many rows.
SELECTION_ROWS = 4096
GAPS = ("auto", "nothing", "tells")


@dataclass(frozen=True)
class TableQuestions(QuestionSource):
    """The columns of a table, each a question for its value: `petal length? 4.9 to 5.1`.

    Args:
        gaps: what an empty cell tells: `nothing`; `tells`, an answer with rates of its own in each
            class, such as a symptom that nobody mentions; `auto` for the better one by the
            log-loss on training rows, each predicted by a fit without it.
        costs: what the question about a column costs, 1 for the others: the next question is that
            of most information for its cost. None for 1 each.
        note: a sentence below each explanation and on the page, for what everybody should know who
            reads it, such as that a model of four hundred patients is no doctor; None for none.

    Attributes:
        names: what is in the columns; `fit` finds it out.
    """

    of_tables: ClassVar[bool] = True
    rates: ClassVar[tuple[str, ...]] = ("counted", "subclasses")

    gaps: str = "auto"
    costs: Mapping[str, Any] | None = None
    note: str | None = None
    names: TableColumns | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_words("gaps", self.gaps, GAPS)
        for column, cost in (self.costs or {}).items():
            if not _above_zero(cost):
                raise InputError(f"costs: {column!r} costs {cost!r}; expected a number above 0")
        if self.note is not None and not (isinstance(self.note, str) and self.note.strip()):
            raise InputError(f"note is {self.note!r}; expected a sentence, or None")

    def settings(self) -> dict[str, Any]:
        """Return the arguments that make the same questions for another fit."""
        costs = None if self.costs is None else {k: float(v) for k, v in self.costs.items()}
        return {"gaps": self.gaps, "costs": costs, "note": self.note}

    def on_columns(self, names: TableColumns, constraints: QuestionConstraints) -> TableQuestions:
        """Return the same for a table with these columns; warn of words to ban that none has.

        Raises:
            InputError: a column that has a cost is not there.
        """
        columns, bare = names.names, set(map(_bare, names.names))
        for column in self.costs or ():
            if _bare(column) not in bare:
                some = ", ".join(columns[:5])
                raise InputError(f"costs: {column!r}; expected columns, such as {some}")
        warn_of_idle_bans([*columns, *(f"{each}?" for each in columns)], constraints.ban)
        return replace(self, names=names)

    def variants(self, data: TrainingSet) -> Sequence[TableQuestions]:
        """Return what gaps may tell; nothing if there are none."""
        if self.gaps != "auto":
            return [self]
        has_gaps = bool(cast(InMemorySet, data).rows.tensor().isnan().any())
        return [replace(self, gaps=each) for each in ("nothing", "tells")[: 1 + has_gaps]]

    def facts(self, queries: Sequence[str]) -> dict[str, Any]:
        """Return what gaps tell, and the note."""
        return {"gaps": self.gaps} | ({} if self.note is None else {"note": self.note})

    def choose(self, data: TrainingSet, constraints: QuestionConstraints, seed: int) -> Questions:
        """Return questions for the values of the columns given, or of those that tell most."""
        data, names = cast(InMemorySet, data), cast(TableColumns, self.names)
        rule = column_values(data.rows.tensor(), names, data.weights, self.gaps == "tells")
        texts = value_texts(rule, names)
        first = [] if constraints.first is None else [constraints.first]
        fixed = sorted(set(values_named([*first, *constraints.keep], rule, names)))
        allowed = not_banned(texts, constraints.ban)
        refuse_banned([texts[row] for row in fixed], allowed[fixed], "keep or first_query")
        if constraints.queries is None:
            check_room(len(fixed), constraints.n_queries)
            rows = allowed.nonzero().squeeze(1)
            if len(rows) > constraints.n_queries:
                sample = data.sample(SELECTION_ROWS, seed)
                answers = rule.answers(sample.rows.tensor()).double()
                credit = credit_of(data.table(rule), answers, data.weighed(sample))
                credit = credit.masked_fill(~allowed, -torch.inf)
                credit[fixed] = torch.inf
                order = credit.argsort(descending=True, stable=True)
                rows = order[: constraints.n_queries].sort().values
        else:
            rows = torch.tensor(values_named(constraints.queries, rule, names))
            refuse_banned([texts[row] for row in rows], allowed[rows])
            lacking = [texts[row] for row in fixed if row not in rows]
            if lacking or len(set(rows.tolist())) < len(rows):
                what = f"{lacking[0]!r} is to be kept" if lacking else "one is there twice"
                raise InputError(
                    f"queries: {what}; expected distinct queries, and these among them"
                )
        place = rows.tolist().index(values_named(first, rule, names)[0]) if first else None
        rule = rule.select(rows)
        words, queries = value_words(rule, names), [texts[row] for row in rows]
        if self.costs is None:
            return Questions(queries, rule, place, words)
        columns = [_bare(names.names[column]) for column in rule.columns.tolist()]
        costs = {_bare(column): float(cost) for column, cost in self.costs.items()}
        of_each = torch.tensor([costs.get(each, 1.0) for each in columns], dtype=torch.float64)
        return Questions(queries, rule, place, words, partial(InformationGain, costs=of_each))


def _above_zero(number: Any) -> bool:
    kind = isinstance(number, int | float | np.integer | np.floating)
    return kind and not isinstance(number, bool) and bool(0 < number < math.inf)


def _bare(column: str) -> str:
    return column.strip().rstrip("?").strip()
