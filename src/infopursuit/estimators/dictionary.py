"""The texts that questions come from, as people give them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.datasets.rows import UnitRows
from infopursuit.queries.normalization import normalize


class Texts:
    """u distinct texts with their embeddings.

    Args:
        texts: what may become a question: a list, an array or a column of a table.
        embeddings: (u, d), of any float type.

    Raises:
        InputError: there are none, one is no string or stands twice, or the embeddings are not one
            row each.
    """

    def __init__(self, texts: Any, embeddings: Any) -> None:
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            raise InputError(f"texts is {texts!r}; expected a list of texts")
        self.texts = tuple(texts)
        if not self.texts:
            raise InputError("texts is empty; expected at least one text")
        seen: dict[str, int] = {}
        for row, text in enumerate(self.texts):
            if not isinstance(text, str) or not text.strip():
                raise InputError(f"texts: row {row} is {text!r}; expected a text")
            if seen.setdefault(text, row) != row:
                raise InputError(f"texts: row {row} repeats {text!r} of row {seen[text]}")
        if embeddings is None:
            raise InputError(
                "text_embeddings is missing; expected one row for each text (or give neither, for "
                "questions about the columns of a table)"
            )
        self.embeddings = UnitRows(embeddings, "text_embeddings")
        if len(self.embeddings) != len(self.texts):
            raise InputError(
                f"text_embeddings has {len(self.embeddings)} rows for {len(self.texts)} texts; "
                "expected one each"
            )

    def rows(self, queries: Sequence[str]) -> Int[Tensor, " k"]:
        """The rows of given queries, whatever their case and spacing.

        Raises:
            InputError: one is not among the texts, or two are one.
        """
        exact = {text: row for row, text in enumerate(self.texts)}
        alike: dict[str, int] = {}
        if any(query not in exact for query in queries):
            for row, text in enumerate(self.texts):
                alike.setdefault(normalize(text), row)
        found: list[int] = []
        for query in queries:
            row = exact.get(query, alike.get(normalize(query)))
            if row is None:
                near = get_close_matches(query, self.texts, n=3) or list(self.texts[:3])
                raise InputError(
                    f"queries: {query!r} is not among the texts; expected one such as "
                    f"{', '.join(map(repr, near))}"
                )
            if row in found:
                raise InputError(f"queries: {query!r} is there twice; expected distinct queries")
            found.append(row)
        return torch.tensor(found, dtype=torch.long)


def not_banned(texts: Sequence[str], ban: Sequence[str]) -> Bool[Tensor, " u"]:
    """Which texts neither are nor contain one of these texts or words, whatever the case.

    Raises:
        InputError: `ban` is a string, or nothing would be left.
    """
    if isinstance(ban, str):
        raise InputError(f"ban is the string {ban!r}; expected a list of texts or words")
    if not ban:
        return torch.ones(len(texts), dtype=torch.bool)
    words = "|".join(re.escape(each.strip()) for each in ban)
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
    left = torch.tensor([pattern.search(text) is None for text in texts])
    if not left.any():
        raise InputError("ban leaves no text to ask about; expected at least one")
    return left


def refuse_banned(queries: Sequence[str], allowed: Tensor, setting: str = "queries") -> None:
    """Raise InputError for a query that is not allowed; `setting` names it."""
    unwanted = [query for query, good in zip(queries, allowed.tolist(), strict=True) if not good]
    if unwanted:
        raise InputError(f"{setting}: {unwanted[0]!r} is banned; expected none that ban names")


def fixed_rows(
    texts: Texts, first: str | None, keep: Sequence[str], allowed: Bool[Tensor, " u"]
) -> Int[Tensor, " m"]:
    """The rows of the first question and of those to keep, each once, sorted.

    Raises:
        InputError: one is not among the texts, or is banned.
    """
    found = []
    for setting, queries in (("first_query", [] if first is None else [first]), ("keep", keep)):
        rows = texts.rows(queries)
        refuse_banned([texts.texts[row] for row in rows.tolist()], allowed[rows], setting)
        found.append(rows)
    return torch.cat(found).unique()


def check_room(fixed: int, k: int) -> None:
    """Raise InputError where more questions are to be in the dictionary than it holds."""
    if fixed > k:
        raise InputError(f"keep and first_query are {fixed} questions; expected at most k = {k}")


def check_among(texts: Texts, fixed: Int[Tensor, " m"], queries: Int[Tensor, " k"]) -> None:
    """Raise InputError for a row of `fixed` that is none of the given queries."""
    missing = fixed[~torch.isin(fixed, queries)]
    if len(missing):
        text = texts.texts[int(missing[0])]
        raise InputError(f"keep or first_query: {text!r} is not one of the given queries")
