"""One spelling for one text: what a language model wrote, and the key that finds duplicates."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

# Marks that Unicode counts as symbols, but that surround words as quotes and bullets do.
QUOTING_SYMBOLS = frozenset("`´^~|<>=+")


def normalize(text: str) -> str:
    """Compatible characters unified (NFKC), lower case, single blanks, bare of outer punctuation.

    Normalising twice changes nothing more. A text of punctuation alone becomes the empty text.
    """
    if text.isascii():  # the same in a tenth of the time: NFKC changes no ASCII character
        return " ".join(text.lower().split()).strip(_ASCII_OUTER)
    # Lower-casing can leave characters that NFKC would compose anew.
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
    """The texts in their own spelling, of those with one normalised spelling the first."""
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(normalize(text), text)
    return list(first.values())
