"""The embedded universe as the method sees it: u texts and their embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.errors import InputError
from infopursuit.tables import EMBEDDED_TEXTS, clip_of, embedding_matrix, read_table


@dataclass(frozen=True)
class Universe:
    """u texts with their embeddings (u, d), float16 as stored; `clip` names the space if known."""

    texts: tuple[str, ...]
    embeddings: Float[Tensor, "u d"]
    clip: str | None

    def indices(self, queries: Sequence[str], where: str) -> Int[Tensor, " k"]:
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
        return torch.tensor([rows[query] for query in queries], dtype=torch.long)


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
    return Universe(texts, torch.from_numpy(embedding_matrix(table, path).copy()), clip_of(path))
