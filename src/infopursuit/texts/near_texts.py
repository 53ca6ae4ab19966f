"""Texts near a query by the cosine of their embeddings: an exact search by faiss."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from infopursuit.clip.embed import embed_texts
from infopursuit.clip.towers import Clip, load_clip
from infopursuit.clip.weights import clip_source
from infopursuit.core.errors import InputError
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.texts.text_table import TextTable


class NearTexts:
    """u texts in an index, 4 u d bytes.

    Args:
        texts: u distinct texts.
        embeddings: (u, d); None to embed them by `clip`.
        clip: as `infopursuit.fit` takes it; None if queries are embeddings or among the texts.

    Raises:
        InputError: texts and embeddings are malformed, or there is neither embedding nor CLIP.
    """

    def __init__(
        self, texts: Sequence[str], embeddings: Any = None, clip: str | Path | None = None
    ) -> None:
        self._clip: Clip | None = None if clip is None else load_clip(clip_source(clip))
        if embeddings is None and self._clip is not None:
            embeddings = embed_texts(self._clip, texts)
        self._table = TextTable.from_arrays(texts, embeddings)
        self._index = faiss.IndexFlatIP(self._table.unit_matrix.width)
        for _, block in self._table.unit_matrix.blocks():
            self._index.add(block.numpy())  # pyright: ignore[reportCallIssue]

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts in the index."""
        return self._table.texts

    def nearest(self, query: Any, count: int = 10) -> list[tuple[str, float]]:
        """Return the texts nearest to a query, the nearest first, with their cosines.

        Args:
            query: a text, or an embedding (d,).
            count: how many; all if there are fewer.

        Raises:
            InputError: the query is a text that only a CLIP could embed, or of another width.
        """
        cosines, places = self._index.search(  # pyright: ignore[reportCallIssue]
            self._embedding(query), min(count, len(self.texts))
        )
        pairs = zip(places[0].tolist(), cosines[0].tolist(), strict=True)
        return [(self.texts[place], cosine) for place, cosine in pairs]

    def _embedding(self, query: Any) -> np.ndarray:
        if isinstance(query, str):
            if self._clip is not None:
                return embed_texts(self._clip, [query], progress=False)
            if query not in self.texts:
                raise InputError(
                    f"{query!r} is not among the texts; expected clip=..., to embed it"
                )
            query = self._table.unit_matrix.take(self._table.rows([query]))
        row = UnitMatrix(query, "query")
        if len(row) != 1 or row.width != self._index.d:
            raise InputError(
                f"query: found the shape {(len(row), row.width)}; expected one embedding of width "
                f"{self._index.d}"
            )
        return row.tensor().numpy()


def nearest(
    query: Any,
    texts: Sequence[str],
    embeddings: Any = None,
    count: int = 10,
    clip: str | Path | None = None,
) -> list[tuple[str, float]]:
    """Return the texts nearest in meaning to a query, the nearest first, with their cosines.

    For many queries of the same texts build one `NearTexts`.

    Args:
        query: a text, or an embedding (d,) of a text or an image.
        texts: u texts to search.
        embeddings: theirs, (u, d); None to embed them by `clip`.
        count: how many; all if there are fewer.
        clip: as `infopursuit.fit` takes it; needed for texts without an embedding.

    Raises:
        InputError: an embedding is missing and there is no `clip`, or an input is malformed.
    """
    return NearTexts(texts, embeddings, clip).nearest(query, count)
