"""Texts near a query by the cosine of their embeddings: an exact search by faiss."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from infopursuit.clip.text_cache import embed_texts
from infopursuit.clip.towers import Clip, load_clip
from infopursuit.core.errors import InputError
from infopursuit.datasets.rows import UnitRows
from infopursuit.estimators.dictionary import Texts
from infopursuit.estimators.pictures import clip_source


class NearTexts:
    """u texts in an index, 4 u d bytes.

    Args:
        texts: u distinct texts.
        embeddings: (u, d); None to embed them by `clip`.
        clip: as `infopursuit.fit` takes it; None where queries are embeddings or among the texts.

    Raises:
        InputError: texts and embeddings are malformed, or there is neither embedding nor CLIP.
    """

    def __init__(
        self, texts: Sequence[str], embeddings: Any = None, clip: str | Path | None = None
    ) -> None:
        self._clip: Clip | None = None if clip is None else load_clip(clip_source(clip))
        if embeddings is None and self._clip is not None:
            embeddings = embed_texts(self._clip, texts)
        found = Texts(texts, embeddings)
        self.texts = found.texts
        self._rows = {text: row for row, text in enumerate(self.texts)}
        self._index = faiss.IndexFlatIP(found.embeddings.width)
        for _, block in found.embeddings.blocks():
            self._index.add(block.numpy())  # pyright: ignore[reportCallIssue]

    def nearest(self, query: Any, count: int = 10) -> list[tuple[str, float]]:
        """The texts nearest to a query, the nearest first, with their cosines.

        Args:
            query: a text, or an embedding (d,).
            count: how many, all where there are fewer.

        Raises:
            InputError: the query is a text that only a CLIP could embed, or of another width.
        """
        rows = self._embedding(query)
        cosines, places = self._index.search(  # pyright: ignore[reportCallIssue]
            rows, min(count, len(self.texts))
        )
        pairs = zip(places[0].tolist(), cosines[0].tolist(), strict=True)
        return [(self.texts[place], cosine) for place, cosine in pairs]

    def _embedding(self, query: Any) -> np.ndarray:
        """(1, d) float32."""
        if not isinstance(query, str):
            row = UnitRows(query, "query")
            if len(row) != 1 or row.width != self._index.d:
                raise InputError(
                    f"query: found the shape {(len(row), row.width)}; expected one embedding of "
                    f"width {self._index.d}"
                )
            return row.tensor().numpy()
        if self._clip is not None:
            return embed_texts(self._clip, [query], progress=False)
        if query not in self._rows:
            raise InputError(f"{query!r} is not among the texts; expected clip=..., to embed it")
        return np.asarray(self._index.reconstruct(self._rows[query]))[None]
