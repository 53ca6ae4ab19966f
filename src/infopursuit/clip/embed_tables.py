"""Embed a universe of texts, class names, or the images of a data set into Parquet files.

Finished chunks of rows are kept in a scratch folder, so that a killed run goes on. Batches never
cross the border of a chunk, so a run that resumes, here or on a cluster, forms the same batches,
and the same bytes, as one that was never interrupted. The table is joined from chunk after chunk.
"""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jaxtyping import Bool, Float16
from tqdm import tqdm

from infopursuit.clip.embed import encoded_batches
from infopursuit.clip.near_duplicates import distinct_rows
from infopursuit.clip.towers import Clip, OpenClip, SameClip, choose_device, image_tower, load_clip
from infopursuit.core.arrays import unit_rows
from infopursuit.core.errors import InputError
from infopursuit.core.executors import Workers, run_shards
from infopursuit.core.numbers import counted
from infopursuit.core.results import ResultFolder, job_digest
from infopursuit.core.tables import (
    EMBEDDED_CLASSES,
    EMBEDDED_IMAGES,
    EMBEDDED_TEXTS,
    EMBEDDING,
    REJECTED_IMAGES,
    ROW_GROUP,
    UNIVERSE,
    TableSchema,
    embedding_array,
    read_table,
    table_writer,
    write_table,
)
from infopursuit.datasets.decoding import Encoded
from infopursuit.datasets.image_source import ImageSource, check_splits, strings
from infopursuit.datasets.open_images import open_image_source

logger = logging.getLogger(__name__)

REASON = "reason"
# Unreadable images that a message names.
NAMED = 3
# How the sources of texts begin that a person or a language model gave for a dictionary.
GIVEN = ("dictionary/", "list/", "kept")
CLASS_PROMPTS = ("{}", "a photo of a {}.")


@dataclass(frozen=True)
class Embedding:
    """How to embed."""

    batch_size: int  # texts or images per batch of a tower
    chunk: int  # rows after which a killed run can resume
    scratch: Path  # a folder for the finished chunks of this stage only
    shard_rows: int | None = None  # rows of each file of the result, a folder; None for one file
    code: str = ""  # digits of the code that embeds: a run resumes only what the same code made


class Chunk(NamedTuple):
    """Embedded rows; a row that could not be embedded is zeros and has a reason."""

    embeddings: Float16[np.ndarray, "m d"]
    reasons: list[str | None]


class ChunkFolder:
    """The finished chunks of a job that embeds `rows` rows; those of other jobs are removed.

    `job` is everything besides `how` that decides the result.
    """

    def __init__(self, how: Embedding, job: Iterable[str], rows: int) -> None:
        self.rows, self.size, self._shard_rows = rows, how.chunk, how.shard_rows
        settings = map(str, (rows, how.chunk, how.batch_size, how.code))
        self._results = ResultFolder(how.scratch, job_digest(chain(job, settings)))
        self._results.remove_other_jobs()
        self._count = -(-rows // how.chunk)
        keys = self._results.keys()
        self._finished = {index for index in range(self._count) if _key(index) in keys}

    @property
    def done(self) -> int:
        """Number of rows in finished chunks."""
        return sum(stop - start for start, stop in map(self._bounds, self._finished))

    def missing(self) -> Iterator[tuple[int, int, int]]:
        """Give number, first row and end of each chunk that is not finished."""
        for index in range(self._count):
            if index not in self._finished:
                yield index, *self._bounds(index)

    def fill(self, chunks: Iterable[tuple[int, Chunk]], what: str) -> None:
        """Keep the missing chunks, made in any order, each with its number."""
        if self._finished:
            logger.info("%s: resuming after %d of %d rows", what, self.done, self.rows)
        quiet = not sys.stderr.isatty()
        with tqdm(total=self.rows, initial=self.done, desc=what, disable=quiet) as bar:
            for index, chunk in chunks:
                self.add(index, chunk)
                bar.update(len(chunk.reasons))

    def add(self, index: int, chunk: Chunk) -> None:
        """Keep one chunk."""
        start, stop = self._bounds(index)
        if len(chunk.reasons) != stop - start or len(chunk.embeddings) != stop - start:
            raise ValueError(
                f"chunk {index} has {len(chunk.embeddings)} rows; expected {start} to {stop}"
            )
        columns = {
            REASON: pa.array(chunk.reasons, pa.string()),
            EMBEDDING: embedding_array(chunk.embeddings),
        }
        with self._results.write(_key(index)) as partial:
            pq.write_table(pa.table(columns), partial, compression="none")
        self._finished.add(index)

    def rejected(self) -> dict[int, str]:
        """Return the rows of finished chunks that could not be embedded, with the reason."""
        reasons: dict[int, str] = {}
        for index in sorted(self._finished):
            column = self._read(index, REASON)
            reasons.update(rejected_rows(self._bounds(index)[0], column.to_pylist()))
        return reasons

    def read(self) -> Iterator[Float16[np.ndarray, "m d"]]:
        """Give the embeddings of each chunk, in order; none may be missing."""
        for index in range(self._count):
            column = self._read(index, EMBEDDING).combine_chunks()
            values = column.flatten().to_numpy(zero_copy_only=False)
            yield values.reshape(len(column), column.type.list_size)

    def matrix(self, width: int) -> Float16[np.ndarray, "n d"]:
        """Return all embeddings as one array, mapped from a file of the scratch folder."""
        # Written first, then mapped: a full disk kills a process that writes through the map.
        with self._results.write("embeddings.float16") as partial, partial.open("wb") as file:
            for embeddings in self.read():
                file.write(np.ascontiguousarray(embeddings).data)
        path = self._results.path("embeddings.float16")
        # Copy on write, and nothing writes: torch warns about arrays that cannot be written.
        return np.memmap(path, dtype=np.float16, mode="c", shape=(self.rows, width))

    def write(
        self,
        out: Path,
        schema: TableSchema,
        columns: pa.Table,
        keep: Bool[np.ndarray, " n"],
        clip: Clip,
    ) -> None:
        """Join the kept rows of all chunks with their other columns in a table; remove chunks."""
        arrow = schema.arrow(clip.width, clip.name)
        shards = None if self._shard_rows is None else (int(keep.sum()), self._shard_rows)
        with table_writer(out, schema, clip.width, clip.name, shards) as writer:
            start = 0
            for embeddings in self.read():
                mask = keep[start : start + len(embeddings)]
                rows = columns.slice(start, len(mask)).filter(pa.array(mask))
                arrays = [rows.column(field.name).combine_chunks() for field in schema.columns]
                arrays.append(embedding_array(embeddings[mask]))
                writer.write_table(pa.Table.from_arrays(arrays, schema=arrow))
                start += len(mask)
        shutil.rmtree(self._results.parent, ignore_errors=True)

    def _bounds(self, index: int) -> tuple[int, int]:
        return index * self.size, min((index + 1) * self.size, self.rows)

    def _read(self, index: int, column: str) -> pa.ChunkedArray:
        return pq.read_table(self._results.path(_key(index)), columns=[column]).column(column)


def _key(index: int) -> str:
    return f"chunk-{index + 1:06d}.parquet"


def rejected_rows(start: int, reasons: Iterable[str | None]) -> dict[int, str]:
    """Return those of the rows from `start` that have a reason."""
    return {row: reason for row, reason in enumerate(reasons, start) if reason is not None}


def embed_images(
    source: ImageSource,
    out: Path,
    rejected: Path,
    clip: Clip,
    how: Embedding,
    max_rejected: float,
    workers: Workers[tuple[Clip, ImageSource]] | None = None,
) -> tuple[int, int]:
    """Embed a data set (EMBEDDED_IMAGES, in its order), without the images that cannot be read.

    Args:
        workers: processes that read and embed, each with the same `clip` and `source` (see
            `open_both`); None for this one.

    Returns:
        Numbers of images read and written.
    """
    tower = image_tower(clip)
    ids = source.rows.column("id")
    folder = ChunkFolder(how, chain([clip.stamp, source.stamp], strings(ids)), len(ids))
    reasons = folder.rejected()
    _check_rejected(source.where, ids, reasons, folder.done, max_rejected)

    def checked(chunks: Iterable[tuple[int, Chunk]]) -> Iterator[tuple[int, Chunk]]:
        done = folder.done
        for index, chunk in chunks:
            reasons.update(rejected_rows(index * how.chunk, chunk.reasons))
            done += len(chunk.reasons)
            _check_rejected(source.where, ids, reasons, done, max_rejected)
            yield index, chunk

    shards = ((index, (start, stop)) for index, start, stop in folder.missing())
    start = partial(ImageChunks, tower, source, how.batch_size)
    if workers is not None:
        same = SameClip.of(clip)
        start = partial(_image_work, workers.open, same, _digest(source), how.batch_size)
    with closing(run_shards(start, shards, workers and workers.cluster)) as chunks:
        folder.fill(checked(chunks), "images")
    bad = sorted(reasons)
    keep = np.ones(len(ids), dtype=bool)
    keep[bad] = False
    splits = source.rows.column("split").filter(pa.array(keep))
    check_splits(source.where, splits.unique().to_pylist())
    listed = {"id": [ids[row].as_py() for row in bad], "reason": [reasons[row] for row in bad]}
    write_table(rejected, REJECTED_IMAGES, listed)
    if bad:
        unread = counted(len(bad), "image")
        logger.warning("%s: %s cannot be read, see %s", source.where, unread, rejected)
    folder.write(out, EMBEDDED_IMAGES, source.rows, keep, clip)
    return len(ids), int(keep.sum())


def open_both(
    clip: str, device: str, half_precision: bool, images: str, classes: Sequence[str]
) -> tuple[Clip, ImageSource]:
    """Return the CLIP (see `load_clip`) and the images (`open_image_source`) of a worker."""
    opened = load_clip(clip, device, half_precision=half_precision)
    return opened, open_image_source(images, classes)


class ImageChunks:
    """Embeds ranges of the rows of a data set; ascending ranges are read in one pass."""

    def __init__(self, clip: OpenClip, source: ImageSource, batch_size: int) -> None:
        self._clip = clip
        self._source = source
        self._batch_size = batch_size
        self._images: Iterator[Encoded] = iter(())
        self._next: int | None = None

    def __call__(self, rows: tuple[int, int]) -> Chunk:
        """Embed the rows from the first of two numbers to the one before the second."""
        start, stop = rows
        # Rows that a source cannot jump over are read once at most.
        if self._next is None or not 0 <= start - self._next <= ROW_GROUP:
            self._images = self._source.images(start)
        else:
            for _ in islice(self._images, start - self._next):
                pass
        self._next = stop
        return encode_image_rows(self._clip, self._images, stop - start, self._batch_size)


def encode_image_rows(
    clip: OpenClip, images: Iterator[Encoded], count: int, batch_size: int
) -> Chunk:
    """Embed the next `count` images; an unreadable one becomes zeros with a reason."""
    matrix = np.zeros((count, clip.width), dtype=np.float16)
    reasons: list[str | None] = [None] * count
    for batch in encoded_batches(clip, images, count, batch_size):
        for row, reason in batch.rejected.items():
            reasons[row] = reason
        matrix[batch.rows] = batch.embeddings
    return Chunk(matrix, reasons)


def _image_work(
    open_worker: Callable[[], tuple[Clip, ImageSource]],
    same: SameClip,
    source_digest: str,
    batch_size: int,
) -> ImageChunks:
    """Open CLIP and images in a worker, and return what embeds ranges of rows there."""
    clip, source = open_worker()
    tower = image_tower(same.check(clip))
    if _digest(source) != source_digest:
        raise InputError(
            f"{source.where}: a worker of the cluster finds other images there, or files "
            "changed at another time; expected storage that all machines share, left alone "
            "while it is read"
        )
    return ImageChunks(tower, source, batch_size)


def _digest(source: ImageSource) -> str:
    return job_digest(chain([source.stamp], strings(source.rows.column("id"))))


def _check_rejected(
    where: str, ids: pa.ChunkedArray, reasons: dict[int, str], done: int, max_rejected: float
) -> None:
    if len(reasons) > max_rejected * len(ids):
        named = "; ".join(f"{ids[row].as_py()}: {reasons[row]}" for row in sorted(reasons)[:NAMED])
        raise InputError(
            f"{where}: {len(reasons)} of {done} images so far cannot be read ({named}); "
            f"expected at most {max_rejected:g} of all {len(ids)} (max_rejected)"
        )


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
        max_similarity: drop a text whose cosine with an earlier kept text is at least this, unless
            it was given for a dictionary; None keeps all.

    Returns:
        Numbers of texts read and written.
    """
    table = read_table(texts, UNIVERSE, columns=["text", "sources"])
    if not len(table):
        raise InputError(f"{texts}: no rows; expected at least one text")
    folder = _embed_rows(table, clip, how, workers)
    keep = np.ones(len(table), dtype=bool)
    if max_similarity is not None:
        matrix = folder.matrix(clip.width)
        keep = distinct_rows(matrix, _given(table), max_similarity, choose_device(device))
        dropped = len(keep) - int(keep.sum())
        logger.info("%d of %d texts dropped, near an earlier text", dropped, len(keep))
    folder.write(out, EMBEDDED_TEXTS, _with_one_source(table), keep, clip)
    return len(table), int(keep.sum())


def embed_control(texts: Path, out: Path, clip: Clip, how: Embedding) -> tuple[int, int]:
    """Embed control texts (UNIVERSE -> EMBEDDED_TEXTS), in their order; there may be none.

    A table of texts gives those that it has. Returns the numbers of texts read and written.
    """
    table = read_table(texts, UNIVERSE, columns=["text", "sources"])
    to_embed = table
    if not isinstance(clip, OpenClip):
        known = [text in clip for text in table.column("text").to_pylist()]
        to_embed = table.filter(pa.array(known, pa.bool_()))
        absent = len(table) - len(to_embed)
        logger.info("%d of %d control texts have no embedding: left out", absent, len(table))
    folder = _embed_rows(to_embed, clip, how, workers=None)
    keep = np.ones(len(to_embed), dtype=bool)
    folder.write(out, EMBEDDED_TEXTS, _with_one_source(to_embed), keep, clip)
    return len(table), len(to_embed)


def embed_classes(classes: Sequence[str], out: Path, clip: Clip, batch_size: int) -> int:
    """Embed class names (EMBEDDED_CLASSES): "NAME" and "a photo of a NAME.", averaged.

    A table of texts gives the names only, and no rows unless it has all of them. Returns the
    number of rows written.
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


def _text_work(
    open_worker: Callable[[], Clip], same: SameClip, batch_size: int
) -> Callable[[list[str]], Chunk]:
    """Open the CLIP in a worker, and return what embeds a chunk of texts there."""
    return partial(_text_chunk, same.check(open_worker()), batch_size)


def _text_chunk(clip: Clip, batch_size: int, texts: list[str]) -> Chunk:
    matrix = clip.encode_texts(texts, batch_size)
    return Chunk(matrix.astype(np.float16), [None] * len(texts))


def _embed_rows(
    table: pa.Table, clip: Clip, how: Embedding, workers: Workers[Clip] | None
) -> ChunkFolder:
    texts = table.column("text")
    folder = ChunkFolder(how, chain([clip.stamp], strings(texts)), len(texts))
    shards = (
        (index, texts.slice(start, stop - start).to_pylist())
        for index, start, stop in folder.missing()
    )
    start = partial(partial, _text_chunk, clip, how.batch_size)
    if workers is not None:
        start = partial(_text_work, workers.open, SameClip.of(clip), how.batch_size)
    with closing(run_shards(start, shards, workers and workers.cluster)) as chunks:
        folder.fill(chunks, "texts")
    return folder


def _given(table: pa.Table) -> Bool[np.ndarray, " n"]:
    sources = table.column("sources").combine_chunks()
    begins = pc.MatchSubstringOptions(f"^(?:{'|'.join(GIVEN)})")
    matches = pc.call_function("match_substring_regex", [sources.flatten()], begins)
    mask = np.zeros(len(table), dtype=bool)
    mask[sources.value_parent_indices().filter(matches).to_numpy()] = True
    return mask


def _with_one_source(table: pa.Table) -> pa.Table:
    source = pc.call_function("binary_join", [table.column("sources"), pa.scalar(",")])
    return pa.table({"text": table.column("text"), "source": source})
