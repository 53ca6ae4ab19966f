"""The embedded universe as the method sees it: u texts and their embeddings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
from jaxtyping import Float16, Int64

from infopursuit.core.clip_names import clip_of
from infopursuit.core.errors import InputError
from infopursuit.core.hashing import table_sha256
from infopursuit.core.table_blocks import table_blocks, table_shape
from infopursuit.core.tables import EMBEDDED_TEXTS, EMBEDDING, embedding_matrix, read_table
from infopursuit.core.whole_files import hold, remove_abandoned, whole_file

BLOCK = 1024  # rows that are decoded at a time
MAPPED_FROM = 64 * 2**20  # bytes of embeddings


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
        wanted = set(queries)
        rows = {text: row for row, text in enumerate(self.texts) if text in wanted}
        missing = [query for query in queries if query not in rows]
        if missing:
            raise InputError(
                f"{where}: the query {missing[0]!r} is not in the universe"
                f" ({len(missing)} of {len(queries)} are missing)"
            )
        return np.array([rows[query] for query in queries], dtype=np.int64)


def load_universe(path: str | Path, scratch: str | Path | None = None) -> Universe:
    """Read the embedded universe, a block of rows at a time, as one float16 array (u, d).

    Where `scratch` is given, embeddings of 64 MiB or more are mapped from a file there: runs share
    its pages, and the system can drop them when memory is short. The first run writes the file,
    `<first 16 digits of the table's SHA-256>.float16`. Files of earlier universes stay,
    because another run may have them mapped; `make clean` removes them.

    Args:
        path: table (EMBEDDED_TEXTS), a file or a folder of shards.
        scratch: folder of the mapped files; None keeps the embeddings in memory.

    Raises:
        InputError: the file breaks its schema, an embedding is null, NaN, infinite or all zeros,
            or a text is there twice.
    """
    path = Path(path)
    shape = table_shape(path, EMBEDDED_TEXTS)
    texts = _distinct_texts(path)
    if scratch is None or _bytes(shape) < MAPPED_FROM:
        embeddings = np.empty(shape, np.float16)
        for start, block in _blocks(path):
            embeddings[start : start + len(block)] = block
    else:
        embeddings = _mapped(path, Path(scratch), shape)
    return Universe(texts, embeddings, clip_of(path))


def texts_from(path: str | Path, source: str) -> list[str]:
    """The texts of an embedded universe that come from a source, in its order.

    Args:
        path: table (EMBEDDED_TEXTS), a file or a folder of shards.
        source: as the universe names it, such as `dictionary/NAME`.

    Raises:
        InputError: the file breaks its schema, or no text comes from there.
    """
    table = read_table(path, EMBEDDED_TEXTS, columns=["text", "source"])
    rows = zip(table.column("text").to_pylist(), table.column("source").to_pylist(), strict=True)
    texts = [text for text, sources in rows if source in sources.split(",")]
    if not texts:
        raise InputError(f"{path}: no text from {source}; expected one or more")
    return texts


def sources_of(path: str | Path, texts: Sequence[str]) -> dict[str, str]:
    """Where each of some texts of an embedded universe comes from, as the universe names it.

    Args:
        path: table (EMBEDDED_TEXTS), a file or a folder of shards.
        texts: some of its texts.

    Raises:
        InputError: the file breaks its schema.
    """
    table = read_table(path, EMBEDDED_TEXTS, columns=["text", "source"])
    wanted = set(texts)
    rows = zip(table.column("text").to_pylist(), table.column("source").to_pylist(), strict=True)
    return {text: source for text, source in rows if text in wanted}


def _distinct_texts(path: Path) -> tuple[str, ...]:
    table = read_table(path, EMBEDDED_TEXTS, columns=["text", "source"])
    texts = tuple(table.column("text").to_pylist())
    if len(set(texts)) < len(texts):
        seen: set[str] = set()
        twice = next(text for text in texts if text in seen or seen.add(text))
        raise InputError(f"{path}: the text {twice!r} is there twice; expected distinct texts")
    return texts


def _blocks(path: Path) -> Iterator[tuple[int, Float16[np.ndarray, "m d"]]]:
    """The embeddings in blocks of at most BLOCK rows, each with the number of its first row."""
    start = 0
    for file, first, table in table_blocks(path, EMBEDDED_TEXTS, [EMBEDDING], BLOCK):
        yield start, embedding_matrix(table, file, np.float16, first_row=first)
        start += len(table)


def _mapped(path: Path, scratch: Path, shape: tuple[int, int]) -> Float16[np.ndarray, "u d"]:
    rows = scratch / f"{table_sha256(path)[:16]}.float16"
    if not rows.is_file() or rows.stat().st_size != _bytes(shape):
        _write_rows(path, rows)
    # Copy on write: torch warns about arrays that cannot be written. Nothing writes to this one.
    return np.memmap(rows, np.float16, mode="c", shape=shape)


def _write_rows(path: Path, out: Path) -> None:
    """Write the embeddings as raw float16; the file appears under its name when it is complete."""
    remove_abandoned(out)
    # A mark of its own, for another run may be writing the same rows at this moment.
    mark = f".{uuid4().hex[:8]}"
    with whole_file(out, mark) as partial, partial.open("xb") as file:
        hold(file)
        for _, block in _blocks(path):
            file.write(block.data)
        file.flush()
        os.fsync(file.fileno())


def _bytes(shape: tuple[int, int]) -> int:
    return shape[0] * shape[1] * np.dtype(np.float16).itemsize
