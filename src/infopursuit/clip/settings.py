"""Settings of how embeddings are stored."""

from __future__ import annotations

from infopursuit.core.settings import Positive, Section


class EmbeddingsSettings(Section):
    """The files that embeddings of texts and images are written to."""

    shard_rows: Positive | None
