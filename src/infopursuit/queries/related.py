"""Which questions say the same, or follow from each other, by their words alone.

"ice cream" and "icecream", "steak" and "steak (food)", "chopstick" and "chopsticks" say the same.
What is a sea turtle is a turtle: the last words of a text name what its first words narrow down.
Words that differ and mean the same ("shears", "scissors") are not found: that takes a dictionary.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from infopursuit.queries.normalization import normalize
from infopursuit.queries.wording import is_plural

ARTICLES = frozenset({"a", "an", "the"})
_REMARK = re.compile(r"\(([^)]*)\)?")
_BREAK = re.compile(r"[\s\-–/,]+")


class Related(NamedTuple):
    """Two texts, given by their places.

    Attributes:
        asked: the one that is asked first.
        other: the one that needs no asking after it.
        after_yes: only where the answer to the first is yes; False where any answer will do.
    """

    asked: int
    other: int
    after_yes: bool


def related_texts(texts: Sequence[str]) -> list[Related]:
    """All pairs of texts that say the same, and of those that follow from another; sorted."""
    by_words: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    phrases = [_words(text) for text in texts]
    for place, (words, remark) in enumerate(phrases):
        if words:
            by_words["".join(words)].append((place, remark))
    found: list[Related] = []
    for place, (words, remark) in enumerate(phrases):
        for start in range(len(words)):
            for other, its_remark in by_words.get("".join(words[start:]), ()):
                # "bat (animal)" is a bat, and no "bat (sports equipment)".
                if other != place and (not remark or not its_remark or remark == its_remark):
                    found.append(Related(place, other, start > 0))
    return sorted(set(found))


def _words(text: str) -> tuple[list[str], str]:
    """Words of a text, the last in the singular and without articles; the remark in brackets."""
    remarks = _REMARK.findall(text)
    words = [
        word for word in _BREAK.split(normalize(_REMARK.sub(" ", text))) if word not in ARTICLES
    ]
    words = [word for word in words if word]
    if words and is_plural(words[-1]):
        words[-1] = words[-1].removesuffix("s")
    return words, normalize(" ".join(remarks))
