"""What is known before the first question, as people write it on a command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import NUMBER
from infopursuit.pursuit.pursuit import Pursuit

# Equals signs of QUESTION=ANSWER, and letters before them, at which it may be parted.
MOST, LONGEST = 20, 2000


def known_in_words(pursuit: Pursuit, texts: Sequence[str]) -> dict[str, Any]:
    """Return the answers by question that texts QUESTION=ANSWER say.

    Either part may have an equals sign.

    Raises:
        InputError: a text is not of this form, or a question is given twice.
    """
    answers: dict[str, Any] = {}
    for text in texts:
        places = [place for place, letter in enumerate(text[:LONGEST]) if letter == "="]
        splits = [(text[:place], text[place + 1 :]) for place in places[:MOST]]
        if not splits:
            raise InputError(f"{text!r}; expected QUESTION=ANSWER")
        named = (each for each in splits if pursuit.find(each[0]) is not None)
        question, answer = next(named, splits[0])
        if question in answers:
            raise InputError(f"{question!r} is known twice; expected it once")
        word = answer.strip()
        soft = not pursuit.words and NUMBER.fullmatch(word)
        answers[question] = float(word) if soft else word
    return answers


def classes_in_words(pursuit: Pursuit, texts: Sequence[str]) -> list[str] | None:
    """Return the classes that texts name, each one or several, with commas; None for none."""
    names = frozenset(pursuit.class_names)
    named = [
        name
        for text in texts
        for name in ([text] if text in names else map(str.strip, text.split(",")))
    ]
    return named or None
