"""What a person asks of the questions of a model, whatever their source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from infopursuit.core.errors import InputError

# How the answers of each class are counted: `auto` is the better one by other rows.
Rates = Literal["auto", "counted", "subclasses"]


@dataclass(frozen=True)
class QuestionConstraints:
    """What a person asks of the questions of a model.

    Attributes:
        n_queries: k, how many; all if there are fewer.
        queries: the questions themselves; None to choose them.
        ban: texts or words that no question may contain.
        keep: questions that are there whatever is chosen.
        first: the question that is asked first; None for the best.
    """

    n_queries: int = 128
    queries: Sequence[str] | None = None
    ban: Sequence[str] = ()
    keep: Sequence[str] = ()
    first: str | None = None

    def checked(self) -> QuestionConstraints:
        """Return them; InputError for one that is malformed."""
        check_whole("n_queries", self.n_queries, 1)
        if isinstance(self.ban, str):
            raise InputError(f"ban is the string {self.ban!r}; expected a list of texts or words")
        if isinstance(self.keep, str):
            raise InputError(f"keep is the string {self.keep!r}; expected a list of questions")
        if isinstance(self.queries, str) or (self.queries is not None and not len(self.queries)):
            raise InputError(f"queries is {self.queries!r}; expected a list of queries, or None")
        return self


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Raise InputError for a setting that is not a whole number, too small or too large."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        until = "on" if most is None else f"to {most}"
        raise InputError(f"{name} is {value!r}; expected a whole number from {least} {until}")


def check_words(name: str, value: Any, words: Sequence[str | None]) -> None:
    """Raise InputError for a setting that is none of these words."""
    if value not in words:
        expected = f"{', '.join(map(repr, words[:-1]))} or {words[-1]!r}"
        raise InputError(f"{name} is {value!r}; expected {expected}")


def check_share(name: str, value: Any, whole: bool = True) -> None:
    """Raise InputError for a setting that is no number from 0 to 1, or 1 if that is too much."""
    number = isinstance(value, int | float | np.integer | np.floating)
    if not number or not (0 <= value <= 1 if whole else 0 <= value < 1):
        expected = "a number from 0 to 1" if whole else "0 or more and less than 1"
        raise InputError(f"{name} is {value!r}; expected {expected}")
