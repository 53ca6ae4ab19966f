"""Embed texts of the universe, control texts and the class names of a data set into Parquet."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool

from infopursuit.clip.embedding_chunks import Chunk, ChunkFolder, Embedding
from infopursuit.clip.near_duplicates import distinct_rows
from infopursuit.clip.towers import Clip, OpenClip, SameClip, choose_device, same_clip
from infopursuit.core.embeddings import unit_rows
from infopursuit.core.errors import InputError
from infopursuit.core.tables import (
    EMBEDDED_CLASSES,
    EMBEDDED_TEXTS,
    ROW_GROUP,
    UNIVERSE,
    read_table,
    write_table,
)
from infopursuit.executors import Workers, run_shards

logger = logging.getLogger(__name__)

# How the sources of texts begin that a person or a language model gave for a dictionary.
GIVEN = ("dictionary/", "list/", "kept")
CLASS_PROMPTS = ("{}", "a photo of a {}.")


def embed_universe(
    texts: Path,
    out: Path,
    clip: Clip,
    how: Embedding,
    max_similarity: float | None,
    device: str,
    workers: Workers[Clip] | None = None,
) -> tuple[int, int]:
    """Embed the texts of a universe (UNIVERSE -> EMBEDDED_TEXTS), in their order.

    Args:
        texts: Parquet file of the universe.
        out: Parquet file to write; its `source` joins a text's sources by commas.
        clip: what embeds.
        how: batches, chunks, scratch.
        max_similarity: drop a text whose cosine with an earlier kept text is at least this, unless
            it was given for a dictionary; None keeps all.
        device: where similarities are computed, `auto`, `cpu` or `cuda`.
        workers: processes that embed, each with the same `clip`; None for this one.

    Returns:
        Numbers of texts read and written.

    Raises:
        InputError: `texts` is no universe or empty, or `clip` cannot embed one of its texts.
    """
    table = read_table(texts, UNIVERSE, columns=["text", "sources"])
    if not len(table):
        raise InputError(f"{texts}: no rows; expected at least one text")
    folder = _filled(table, clip, how, workers)
    keep = np.ones(len(table), dtype=bool)
    if max_similarity is not None:
        matrix = folder.matrix(clip.width)
        keep = distinct_rows(matrix, _given(table), max_similarity, choose_device(device))
        dropped = len(keep) - int(keep.sum())
        logger.info("%d of %d texts dropped, near an earlier text", dropped, len(keep))
    _write(out, folder, table, keep, clip)
    return len(table), int(keep.sum())


def embed_control(texts: Path, out: Path, clip: Clip, how: Embedding) -> tuple[int, int]:
    """Embed control texts (UNIVERSE -> EMBEDDED_TEXTS), in their order; there may be none.

    They are few, so this process does it. A table of texts gives those that it has.

    Returns:
        Numbers of texts read and written.

    Raises:
        InputError: `texts` breaks its schema.
    """
    table = read_table(texts, UNIVERSE, columns=["text", "sources"])
    there = table
    if not isinstance(clip, OpenClip):
        known = [text in clip for text in table.column("text").to_pylist()]
        there = table.filter(pa.array(known, pa.bool_()))
        absent = len(table) - len(there)
        logger.info("%d of %d control texts have no embedding: left out", absent, len(table))
    folder = _filled(there, clip, how, workers=None)
    _write(out, folder, there, np.ones(len(there), dtype=bool), clip)
    return len(table), len(there)


def embed_classes(classes: Sequence[str], out: Path, clip: Clip, batch_size: int) -> int:
    """Embed class names (EMBEDDED_CLASSES): "NAME" and "a photo of a NAME.", averaged.

    A table of texts gives the names alone, and no rows unless it has all of them.

    Returns:
        Number of rows written.
    """
    if isinstance(clip, OpenClip):
        prompted = [
            clip.encode_texts([prompt.format(name) for name in classes], batch_size)
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


@dataclass(frozen=True)
class TextWork:
    """Opens the CLIP in a worker and gives what embeds a chunk of texts there."""

    open: Callable[[], Clip]
    same: SameClip
    batch_size: int

    def __call__(self) -> Callable[[list[str]], Chunk]:
        return partial(_text_chunk, self.same.check(self.open()), self.batch_size)


def _text_chunk(clip: Clip, batch_size: int, texts: list[str]) -> Chunk:
    matrix = clip.encode_texts(texts, batch_size)
    return Chunk(matrix.astype(np.float16), [None] * len(texts))


def _filled(
    table: pa.Table, clip: Clip, how: Embedding, workers: Workers[Clip] | None
) -> ChunkFolder:
    """The chunks of all texts, made or found finished."""
    texts = table.column("text")

    def job() -> Iterator[str]:
        yield clip.stamp
        for start in range(0, len(texts), ROW_GROUP):
            yield from texts.slice(start, ROW_GROUP).to_pylist()

    folder = ChunkFolder(how, job(), len(texts))
    shards = (
        (index, texts.slice(start, stop - start).to_pylist())
        for index, start, stop in folder.missing()
    )
    if workers is None:
        found = run_shards(lambda: partial(_text_chunk, clip, how.batch_size), shards)
    else:
        work = TextWork(workers.open, same_clip(clip), how.batch_size)
        found = run_shards(work, shards, workers.cluster)
    with closing(found):
        folder.fill(found, "texts")
    return folder


def _given(table: pa.Table) -> Bool[np.ndarray, " n"]:
    """Which texts were given for a dictionary."""
    sources = table.column("sources").combine_chunks()
    begins = pc.MatchSubstringOptions(f"^(?:{'|'.join(GIVEN)})")
    found = pc.call_function("match_substring_regex", [sources.flatten()], begins)
    given = np.zeros(len(table), dtype=bool)
    given[sources.value_parent_indices().filter(found).to_numpy()] = True
    return given


def _write(
    out: Path, folder: ChunkFolder, table: pa.Table, keep: Bool[np.ndarray, " n"], clip: Clip
) -> None:
    """Join the chunks with texts and sources in `out`, and remove them."""
    source = pc.call_function("binary_join", [table.column("sources"), pa.scalar(",")])
    columns = pa.table({"text": table.column("text"), "source": source})
    folder.write(out, EMBEDDED_TEXTS, columns, keep, clip.width, clip.name)
    folder.remove()
