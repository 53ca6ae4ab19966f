"""What is known before the first question: answers that count as evidence and are not asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from infopursuit.core.errors import InputError, one_such_as
from infopursuit.core.numbers import NUMBER
from infopursuit.pursuit.pursuit import Pursuit

# Equals signs of QUESTION=ANSWER, and letters before them, at which it may be parted.
MOST, LONGEST = 20, 2000


@dataclass(frozen=True)
class Known:
    """What is known of n rows.

    Attributes:
        answers: that hold for all rows, by the number of their question.
        mask: (n, k) which of their own answers are known; None for none.
    """

    answers: Mapping[int, float] = field(default_factory=dict)
    mask: Bool[Tensor, "n k"] | None = None

    def of(
        self, answers: Float[Tensor, "m k"], start: int = 0
    ) -> tuple[Float[Tensor, "m k"], Bool[Tensor, "m k"] | None]:
        """Return the answers of the rows from `start` on, and which of them are known."""
        if self.mask is not None:
            return answers, self.mask[start : start + len(answers)].to(answers.device)
        if not self.answers:
            return answers, None
        given = answers.clone()
        mask = torch.zeros_like(answers, dtype=torch.bool)
        for query, answer in self.answers.items():
            given[:, query], mask[:, query] = answer, True
        return given, mask


def known_of(
    pursuit: Pursuit, known: Any, rows: int, width: int, overridden: Collection[int] = ()
) -> Known:
    """Return what is known of rows.

    Args:
        pursuit: that asks them.
        known: answers by question that hold for all rows, or a mask of the rows over the questions
            or, of a table, over its columns; a Known as it is, None for nothing.
        rows: how many there are.
        width: how many columns they have.
        overridden: queries whose answers a person gave otherwise.

    Raises:
        InputError: it is neither, there is no such question or answer, or one is given twice.
    """
    if known is None or isinstance(known, Known):
        return known or Known()
    if not isinstance(known, Mapping):
        return Known(mask=_mask(pursuit, known, rows, width))
    return Known(_answers(pursuit, known.items(), overridden))


def known_in_words(pursuit: Pursuit, texts: Sequence[str]) -> Known:
    """Return what texts QUESTION=ANSWER say is known; either part may have an equals sign.

    Raises:
        InputError: a text is not of this form, there is no such question or answer, or a question
            is given twice.
    """
    given: list[tuple[str, Any]] = []
    for text in texts:
        places = [place for place, letter in enumerate(text[:LONGEST]) if letter == "="]
        splits = [(text[:place], text[place + 1 :]) for place in places[:MOST]]
        if not splits:
            raise InputError(f"{text!r}; expected QUESTION=ANSWER")
        named = (each for each in splits if pursuit.find(each[0]) is not None)
        question, answer = next(named, splits[0])
        said = answer.strip()
        soft = not pursuit.words and NUMBER.fullmatch(said)
        given.append((question, float(said) if soft else said))
    return Known(_answers(pursuit, given))


def _answers(
    pursuit: Pursuit, given: Iterable[tuple[str, Any]], overridden: Collection[int] = ()
) -> dict[int, float]:
    found: dict[int, float] = {}
    for question, answer in given:
        query = pursuit.number(question)
        if query in found:
            raise InputError(f"{question!r} is known twice; expected it once")
        if query in overridden:
            raise InputError(f"{question!r} is in known and in overrides; expected it in one")
        found[query] = pursuit.answer_value(query, answer)
    return found


def _mask(pursuit: Pursuit, known: Any, rows: int, width: int) -> Bool[Tensor, "n k"]:
    found = np.asarray(known.cpu() if isinstance(known, Tensor) else known)
    k = len(pursuit.queries)
    columns = getattr(pursuit.rule, "columns", None)
    shapes = {"questions": k} if columns is None else {"questions": k, "columns": width}
    expected = " or ".join(f"{rows} x {count} ({what})" for what, count in shapes.items())
    if found.dtype != bool or found.ndim != 2 or found.shape not in {
        (rows, count) for count in shapes.values()
    }:  # fmt: skip
        raise InputError(
            f"known: {found.dtype} of the shape {' x '.join(map(str, found.shape)) or '1'}; "
            f"expected answers by question, as a dict, or a mask of booleans, {expected}"
        )
    mask = torch.from_numpy(np.ascontiguousarray(found))
    # Of a table as wide as it has questions, a mask is over its columns.
    if columns is not None and found.shape[1] == width:
        return mask[:, columns.cpu()]
    return mask


def classes_in_words(pursuit: Pursuit, texts: Sequence[str]) -> list[str] | None:
    """Return the classes that texts name, each one or several with commas between; None for none.

    Raises:
        InputError: the model does not know one.
    """
    names = pursuit.class_names
    named = [
        name
        for text in texts
        for name in ([text] if text in names else map(str.strip, text.split(",")))
    ]
    return [names[each] for each in classes_named(pursuit, named)] if named else None


def classes_named(pursuit: Pursuit, classes: Any) -> list[int]:
    """Return the numbers of classes, given by label or by name, in the order of the model.

    Raises:
        InputError: there is none, or one that the model does not know.
    """
    if isinstance(classes, str | Mapping) or not hasattr(classes, "__iter__"):
        raise InputError(f"classes is {classes!r}; expected a list of classes of the model")
    given, found = list(classes), set()
    for each in given:
        alike = [
            number
            for number, name in enumerate(pursuit.class_names)
            if each == name or (pursuit.labels is not None and each == pursuit.labels[number])
        ]
        if not alike:
            expected = one_such_as(each, pursuit.labels or pursuit.class_names)
            raise InputError(f"no class {each!r}; expected {expected}")
        found.add(alike[0])
    if not found:
        raise InputError("classes is empty; expected at least one class of the model")
    return sorted(found)
