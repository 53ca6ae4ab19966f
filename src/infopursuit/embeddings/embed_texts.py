"""Embed texts of the universe, control texts and the class names of a data set into Parquet."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float32

from infopursuit.embeddings.chunks import Chunk, ChunkFolder, Embedding, batch_bounds
from infopursuit.embeddings.clip import Clip, OpenClip, choose_device
from infopursuit.embeddings.near_duplicates import distinct_rows
from infopursuit.embeddings.unit_rows import unit_rows
from infopursuit.errors import InputError
from infopursuit.tables import EMBEDDED_CLASSES, EMBEDDED_TEXTS, UNIVERSE, read_table, write_table

logger = logging.getLogger(__name__)

DICTIONARY = "dictionary/"
CLASS_PROMPTS = ("{}", "a photo of a {}.")


def embed_universe(
    texts: Path, out: Path, clip: Clip, how: Embedding, max_similarity: float | None, device: str
) -> tuple[int, int]:
    """Embed the texts of a universe (UNIVERSE -> EMBEDDED_TEXTS), in their order.

    Args:
        texts: Parquet file of the universe.
        out: Parquet file to write; its `source` joins a text's sources by commas.
        clip: what embeds.
        how: batches, chunks, scratch.
        max_similarity: drop a text whose cosine with an earlier kept text is at least this, unless
            a dictionary has it; None keeps all.
        device: where similarities are computed, `auto`, `cpu` or `cuda`.

    Returns:
        Numbers of texts read and written.

    Raises:
        InputError: `texts` is no universe or empty, or `clip` cannot embed one of its texts.
    """
    table = read_table(texts, UNIVERSE, columns=["text", "sources"])
    names: list[str] = table.column("text").to_pylist()
    sources: list[list[str]] = table.column("sources").to_pylist()
    if not names:
        raise InputError(f"{texts}: no rows; expected at least one text")
    folder = _filled(names, clip, how)
    keep = np.ones(len(names), dtype=bool)
    if max_similarity is not None:
        matrix = np.concatenate([chunk.embeddings for chunk in folder.read()])
        given = np.array([any(s.startswith(DICTIONARY) for s in several) for several in sources])
        keep = distinct_rows(matrix, given, max_similarity, choose_device(device))
        dropped = len(keep) - int(keep.sum())
        logger.info("%d of %d texts dropped, near an earlier text", dropped, len(keep))
    _write(out, folder, names, sources, keep, clip)
    return len(names), int(keep.sum())


def embed_control(texts: Path, out: Path, clip: Clip, how: Embedding) -> tuple[int, int]:
    """Embed control texts (UNIVERSE -> EMBEDDED_TEXTS), in their order; there may be none.

    A table of texts gives those that it has, which may be none.

    Returns:
        Numbers of texts read and written.

    Raises:
        InputError: `texts` breaks its schema.
    """
    table = read_table(texts, UNIVERSE, columns=["text", "sources"])
    rows: list[dict[str, Any]] = table.to_pylist()
    if not isinstance(clip, OpenClip):
        rows = [row for row in rows if row["text"] in clip]
        absent = len(table) - len(rows)
        logger.info("%d of %d control texts have no embedding: left out", absent, len(table))
    names = [row["text"] for row in rows]
    folder = _filled(names, clip, how)
    sources = [row["sources"] for row in rows]
    _write(out, folder, names, sources, np.ones(len(names), dtype=bool), clip)
    return len(table), len(names)


def embed_classes(classes: Sequence[str], out: Path, clip: Clip, batch_size: int) -> int:
    """Embed class names (EMBEDDED_CLASSES): "NAME" and "a photo of a NAME.", averaged.

    A table of texts gives the names alone, and no rows unless it has all of them.

    Returns:
        Number of rows written.
    """
    if isinstance(clip, OpenClip):
        prompted = [
            _encoded([prompt.format(name) for name in classes], clip, batch_size)
            for prompt in CLASS_PROMPTS
        ]
        matrix = unit_rows(np.mean(prompted, axis=0), "class names")
    elif all(name in clip for name in classes):
        matrix = clip.encode_texts(classes)
    else:
        absent = sum(name not in clip for name in classes)
        logger.info("%d of %d class names have no embedding: no zero-shot", absent, len(classes))
        classes, matrix = [], np.zeros((0, clip.width), dtype=np.float32)
    columns = {"label": range(len(classes)), "class_name": classes, "embedding": matrix}
    write_table(out, EMBEDDED_CLASSES, columns, clip.name)
    return len(classes)


def _encoded(texts: list[str], clip: Clip, batch_size: int) -> Float32[np.ndarray, "n d"]:
    bounds = batch_bounds(0, len(texts), batch_size)
    return np.concatenate([clip.encode_texts(texts[begin:end]) for begin, end in bounds])


def _filled(texts: list[str], clip: Clip, how: Embedding) -> ChunkFolder:
    """The chunks of all texts, made or found finished."""
    folder = ChunkFolder(how, [clip.stamp, *texts], len(texts))
    folder.fill(_chunks(texts, clip, how, folder), "texts")
    return folder


def _write(
    out: Path,
    folder: ChunkFolder,
    texts: list[str],
    sources: list[list[str]],
    keep: Bool[np.ndarray, " n"],
    clip: Clip,
) -> None:
    """Join the chunks with texts and sources in `out`, and remove them."""
    columns = pa.table(
        {
            "text": pa.array(texts, pa.string()),
            "source": pa.array([",".join(several) for several in sources], pa.string()),
        }
    )
    folder.write(out, EMBEDDED_TEXTS, columns, keep, clip.width, clip.name)
    folder.remove()


def _chunks(texts: list[str], clip: Clip, how: Embedding, folder: ChunkFolder) -> Iterator[Chunk]:
    for start, stop in folder.bounds():
        matrix = _encoded(texts[start:stop], clip, how.batch_size)
        yield Chunk(matrix.astype(np.float16), [None] * len(matrix))
