"""One spelling for one text: what a language model wrote, and the key that finds duplicates."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

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
