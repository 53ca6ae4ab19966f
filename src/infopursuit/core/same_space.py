"""Whether the embeddings of two tables can be compared."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from infopursuit.core.clip_names import clip_of
from infopursuit.core.errors import InputError
from infopursuit.core.shard_files import table_files
from infopursuit.core.tables import EMBEDDING


def check_same_space(first: str | Path, second: str | Path) -> None:
    """Raise InputError unless the embeddings of two tables have one width and one CLIP."""
    widths = [
        pq.read_schema(table_files(path)[0]).field(EMBEDDING).type.list_size
        for path in (first, second)
    ]
    if widths[0] != widths[1]:
        raise InputError(
            f"{first} has embeddings of width {widths[0]} and {second} of width {widths[1]}; "
            "expected one CLIP for both"
        )
    clips = [clip_of(path) for path in (first, second)]
    if None not in clips and clips[0] != clips[1]:
        raise InputError(
            f"{first} was embedded by {clips[0]} and {second} by {clips[1]}; "
            "expected one CLIP for both"
        )
