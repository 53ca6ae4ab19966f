"""A table of embedded texts that replaces CLIP's text tower if there are no weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from infopursuit.core.arrays import unit_rows
from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDED_TEXTS, clip_of, embedding_matrix, read_table

NAMED = 5


class PrecomputedTexts:
    """Looks texts up in a Parquet file (text, source, embedding).

    Attributes:
        path: of the file.
        name: the CLIP that the file says it comes from, None if it does not say.
        width: width d of the embeddings.
    """

    def __init__(self, path: str | Path) -> None:
        table = read_table(path, EMBEDDED_TEXTS, columns=["text", "embedding"])
        texts = table.column("text").to_pylist()
        self.path = path
        self._matrix = unit_rows(embedding_matrix(table, path), str(path))
        self._row = {text: row for row, text in enumerate(texts)}
        if len(self._row) < len(texts):
            row = next(row for row, text in enumerate(texts) if self._row[text] != row)
            raise InputError(f"{path}: row {row} and a later one are both {texts[row]!r}")
        self.name = clip_of(path)
        self.width = self._matrix.shape[1]

    @property
    def stamp(self) -> str:
        """What its numbers depend on: the numbers of the table."""
        return hashlib.sha256(self._matrix.tobytes()).hexdigest()

    def __contains__(self, text: str) -> bool:
        return text in self._row

    def encode_texts(
        self, texts: Sequence[str], batch_size: int = 64
    ) -> Float32[np.ndarray, "n d"]:
        """Return the embeddings of `texts`, with unit norm; `batch_size` changes nothing."""
        missing = [text for text in texts if text not in self._row]
        if missing:
            names = ", ".join(repr(text) for text in missing[:NAMED])
            more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
            raise InputError(
                f"{self.path}: {names}{more} not among its {len(self._row)} texts; a table cannot "
                "embed new texts, so every text of universe and dictionaries must be in it"
            )
        return self._matrix[[self._row[text] for text in texts]]
