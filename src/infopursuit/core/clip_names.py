"""The name of the CLIP that embeddings come from, which their files tell."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from infopursuit.core.errors import InputError
from infopursuit.core.shard_files import table_files

# Where the metadata of a Parquet file has it.
CLIP_KEY = b"clip"


def clip_of(path: str | Path) -> str | None:
    """The name of the CLIP that a file's embeddings come from, None where the file does not say."""
    return clip_name(path, pq.read_schema(table_files(path)[0]))


def clip_name(path: str | Path, schema: pa.Schema) -> str | None:
    """The same, of the schema of a file.

    Raises:
        InputError: the name is no UTF-8.
    """
    name = (schema.metadata or {}).get(CLIP_KEY)
    try:
        return name.decode() if name else None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: the name of its CLIP is {name!r}; expected UTF-8") from error
