"""Control texts: words that say nothing about an image, kept apart from the universe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from infopursuit.queries.normalization import normalize

SOURCE = "control"


class Control(NamedTuple):
    """Columns of `tables.UNIVERSE`, and how many of the given texts went where."""

    texts: dict[str, list[Any]]
    counts: dict[str, int]


def control_texts(words: Sequence[str], universe: Iterable[str]) -> Control:
    """The control texts that the universe does not have, in their order and spelling.

    A text that is in the universe is left out: the two must share no query, or the control would
    be none. Spellings count as one where they normalise to one; of the given texts the first stays.

    Args:
        words: the given control texts.
        universe: the texts of the universe.

    Returns:
        `texts`, all of the source `control`; `counts`, where words is the sum of in_universe,
        merged_spellings (texts that normalise to nothing among them) and texts.
    """
    keys = [normalize(word) for word in words]
    asked = set(keys)
    taken = {key for text in universe if (key := normalize(text)) in asked}
    kept: dict[str, str] = {}
    in_universe = 0
    for word, key in zip(words, keys, strict=True):
        if key in taken:
            in_universe += 1
        elif key:
            kept.setdefault(key, word)
    return Control(
        {
            "text": list(kept.values()),
            "sources": [[SOURCE] for _ in kept],
            "caption_ids": [[] for _ in kept],
        },
        {
            "words": len(words),
            "in_universe": in_universe,
            "merged_spellings": len(words) - in_universe - len(kept),
            "texts": len(kept),
        },
    )
