"""The embedded universe as the method sees it: u texts and their embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float16, Int64

from infopursuit.errors import InputError
from infopursuit.tables import EMBEDDED_TEXTS, clip_of, embedding_matrix, read_table


@dataclass(frozen=True)
class Universe:
    """u texts with their embeddings (u, d), float16 as stored; `clip` names the space if known."""

    texts: tuple[str, ...]
    embeddings: Float16[np.ndarray, "u d"]
    clip: str | None

    def indices(self, queries: Sequence[str], where: str) -> Int64[np.ndarray, " k"]:
        """Rows of the given texts.

        Raises:
            InputError: a text is not in the universe; `where` says which list names it.
        """
        rows = {text: row for row, text in enumerate(self.texts)}
        missing = [query for query in queries if query not in rows]
        if missing:
            raise InputError(
                f"{where}: the query {missing[0]!r} is not in the universe"
                f" ({len(missing)} of {len(queries)} are missing)"
            )
        return np.array([rows[query] for query in queries], dtype=np.int64)


def load_universe(path: str | Path) -> Universe:
    """Read the embedded universe.

    Raises:
        InputError: the file breaks its schema, holds NaN, or names a text twice.
    """
    table = read_table(path, EMBEDDED_TEXTS)
    texts = tuple(table.column("text").to_pylist())
    if len(set(texts)) < len(texts):
        seen: set[str] = set()
        twice = next(text for text in texts if text in seen or seen.add(text))
        raise InputError(f"{path}: the text {twice!r} is there twice; expected distinct texts")
    matrix = embedding_matrix(table, path).astype(np.float16)  # a copy of its own, writable
    return Universe(texts, matrix, clip_of(path))
