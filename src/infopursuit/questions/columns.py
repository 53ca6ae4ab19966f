"""Questions for the values of the columns of a table: `petal length? 4.9 to 5.1`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import torch

from infopursuit.core.errors import InputError
from infopursuit.datasets.table_columns import TableColumns
from infopursuit.pursuit.answers.columns import (
    column_values,
    value_texts,
    value_words,
    values_named,
)
from infopursuit.pursuit.naive_bayes.selection import credit_of
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet, TrainingSet
from infopursuit.questions.source import Questions, QuestionSource
from infopursuit.questions.wishes import Wishes, check_words
from infopursuit.texts.text_table import (
    check_room,
    not_banned,
    refuse_banned,
    warn_of_idle_bans,
)

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

    Attributes:
        names: what is in the columns; `fit` finds it out.
    """

    of_tables: ClassVar[bool] = True
    rates: ClassVar[tuple[str, ...]] = ("counted", "fitted", "asked")

    gaps: str = "auto"
    names: TableColumns | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Raise InputError for a malformed setting."""
        check_words("gaps", self.gaps, GAPS)

    def on_columns(self, names: TableColumns, wishes: Wishes) -> TableQuestions:
        """Return the same for a table with these columns; warn of words to ban that none has."""
        columns = names.names
        warn_of_idle_bans([*columns, *(f"{each}?" for each in columns)], wishes.ban)
        return replace(self, names=names)

    def variants(self, data: TrainingSet) -> Sequence[TableQuestions]:
        """Return what gaps may tell; nothing if there are none."""
        if self.gaps != "auto":
            return [self]
        found = bool(cast(InMemorySet, data).rows.tensor().isnan().any())
        return [replace(self, gaps=each) for each in ("nothing", "tells")[: 1 + found]]

    def facts(self, queries: Sequence[str]) -> dict[str, Any]:
        """Return what gaps tell."""
        return {"gaps": self.gaps}

    def choose(self, data: TrainingSet, wishes: Wishes, seed: int) -> Questions:
        """Return questions for the values of the columns given, or of those that tell most."""
        data, names = cast(InMemorySet, data), cast(TableColumns, self.names)
        rule = column_values(data.rows.tensor(), names, data.weights, self.gaps == "tells")
        texts = value_texts(rule, names)
        first = [] if wishes.first is None else [wishes.first]
        kept = sorted(set(values_named([*first, *wishes.keep], rule, names)))
        allowed = not_banned(texts, wishes.ban)
        refuse_banned([texts[row] for row in kept], allowed[kept], "keep or first_query")
        if wishes.queries is None:
            check_room(len(kept), wishes.n_queries)
            rows = allowed.nonzero().squeeze(1)
            if len(rows) > wishes.n_queries:
                sample = data.sample(SELECTION_ROWS, seed)
                answers = rule.answers(sample.rows.tensor()).double()
                weights = torch.ones(len(sample)) if sample.weights is None else sample.weights
                credit = credit_of(data.table(rule), answers, weights)
                credit = credit.masked_fill(~allowed, -torch.inf)
                credit[kept] = torch.inf
                order = credit.argsort(descending=True, stable=True)
                rows = order[: wishes.n_queries].sort().values
        else:
            rows = torch.tensor(values_named(wishes.queries, rule, names))
            refuse_banned([texts[row] for row in rows], allowed[rows])
            lacking = [texts[row] for row in kept if row not in rows]
            if lacking or len(set(rows.tolist())) < len(rows):
                what = f"{lacking[0]!r} is to be kept" if lacking else "one is there twice"
                raise InputError(
                    f"queries: {what}; expected distinct queries, and these among them"
                )
        place = None
        if first:
            place = rows.tolist().index(values_named(first, rule, names)[0])
        rule = rule.select(rows)
        words = value_words(rule, names)
        return Questions([texts[row] for row in rows], rule, place, words)
