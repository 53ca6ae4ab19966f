"""Texts that ship with the library, for pictures that come with none; and texts near a query.

from infopursuit.texts import nearest, visual_vocabulary
visual_vocabulary(kinds=["part", "color"])
nearest("striped body", visual_vocabulary(), clip="ViT-B-32:openai")
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infopursuit.queries.visual_vocabulary import visual_vocabulary

__all__ = ["nearest", "visual_vocabulary"]


def nearest(
    query: Any,
    texts: Sequence[str],
    embeddings: Any = None,
    count: int = 10,
    clip: str | Path | None = None,
) -> list[tuple[str, float]]:
    """The texts that mean most nearly what a query does, the nearest first, with their cosines.

    For many queries of the same texts build one `infopursuit.estimators.near_texts.NearTexts`.

    Args:
        query: a text, or an embedding (d,) of a text or an image.
        texts: u texts to search.
        embeddings: theirs, (u, d); None to embed them by `clip`.
        count: how many, all where there are fewer.
        clip: as `infopursuit.fit` takes it; needed for texts without an embedding.

    Raises:
        InputError: an embedding is missing and there is no `clip`, or an input is malformed.
    """
    from infopursuit.estimators.near_texts import NearTexts

    return NearTexts(texts, embeddings, clip).nearest(query, count)
