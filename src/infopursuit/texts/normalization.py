"""One spelling for one text: what a language model wrote, and the key that finds duplicates."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

# Marks that Unicode counts as symbols, but that surround words as quotes and bullets do.
QUOTING_SYMBOLS = frozenset("`´^~|<>=+")


def normalize(text: str) -> str:
    """Return a text in lower case (NFKC), with single blanks and no outer punctuation.

    Normalising twice changes nothing more. A text of punctuation alone becomes the empty text.
    """
    if text.isascii():  # the same in a tenth of the time: NFKC changes no ASCII character
        return " ".join(text.lower().split()).strip(_ASCII_OUTER)
    # Lower-casing can leave characters that NFKC would compose again.
    lowered = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    words = " ".join(lowered.split())
    start, end = 0, len(words)
    while start < end and _outer(words[start]):
        start += 1
    while end > start and _outer(words[end - 1]):
        end -= 1
    return words[start:end]


def _outer(character: str) -> bool:
    return (
        character == " "
        or character in QUOTING_SYMBOLS
        or unicodedata.category(character).startswith("P")
    )


_ASCII_OUTER = "".join(character for character in map(chr, range(128)) if _outer(character))


def distinct(texts: Iterable[str]) -> list[str]:
    """Return the first text of each normalised spelling, as it is written."""
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(normalize(text), text)
    return list(first.values())


# Endings of nouns in the singular and in the plural; the first that fits is taken.
_ENDINGS = (
    *("man men", "foot feet", "tooth teeth", "mouse mice", "goose geese", "child children"),
    *("y ies", "f ves", "fe ves", "ch ches", "sh shes", "x xes", "z zes", "ss sses", "us uses"),
    *("o oes", " s"),
)


def words_pattern(words: Sequence[str]) -> str:
    """Return a pattern of texts and words in singular and plural, where no letter goes on."""
    forms = {form for word in words for form in number_forms(word.strip())}
    escaped = "|".join(re.escape(form) for form in sorted(forms))
    return rf"(?i)(?:^|\W)(?:{escaped})(?:$|\W)"


def number_forms(phrase: str) -> list[str]:
    """Return a phrase with its last word as it is, in singular and plural, as spelling allows.

    Some are not words ("leafs"), and stand for nothing else.
    """
    forms, word = {phrase: None}, phrase.lower()
    for singular, plural in (pair.split(" ") for pair in _ENDINGS):
        if word.endswith(singular) and word[-1:].isalpha():
            forms[phrase[: len(phrase) - len(singular)] + plural] = None
        if word.endswith(plural) and not word.endswith(("ss", "us", "is")):
            forms[phrase[: len(phrase) - len(plural)] + singular] = None
    return list(forms)
