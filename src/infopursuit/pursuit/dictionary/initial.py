"""The k texts a dictionary starts from: K-Random (sec. "Implementation")."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from jaxtyping import Int64

from infopursuit.core.errors import InputError
from infopursuit.texts.text_table import TextTable


def with_kept(
    universe: TextTable, texts: Sequence[str], kept: Sequence[str], size: int
) -> list[str]:
    """Return a dictionary that has the texts a person wants to keep, in the universe's spelling."""
    rows = universe.rows(kept, "questions.keep", distinct=False)
    keep = [universe.texts[row] for row in dict.fromkeys(rows.tolist())]
    if len(keep) > size:
        raise InputError(
            f"questions.keep has {len(keep)} texts, the first question among them; expected at "
            f"most the {size} of the dictionary"
        )
    missing = [text for text in keep if text not in set(texts)]
    return [*missing, *_without_last(texts, keep, len(texts) + len(missing) - size)]


def _without_last(texts: Sequence[str], wanted: Collection[str], count: int) -> list[str]:
    left = list(texts)
    for text in reversed(texts):
        if count > 0 and text not in wanted:
            left.remove(text)
            count -= 1
    return left


def random_texts(universe: TextTable, k: int, seed: int) -> list[str]:
    """Return k distinct texts, uniformly at random (`random`)."""
    return [universe.texts[row] for row in random_rows(len(universe.texts), k, seed).tolist()]


def random_rows(u: int, k: int, seed: int) -> Int64[np.ndarray, " k"]:
    """Return k <= u distinct rows of a universe of u texts, uniformly at random, ascending."""
    return np.sort(np.random.default_rng(seed).choice(u, k, replace=False))
