"""Embedding that survives being killed: finished chunks of rows lie in a scratch folder.

A chunk appears under its name only when it is complete, in whatever order chunks are made. Batches
never cross the border of a chunk, so a run that resumes, here or on a cluster, forms the same
batches, and the same bytes, as one that was never interrupted. The table that joins the chunks is
written from them one by one.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Bool, Float16
from tqdm import tqdm

from infopursuit.core.tables import EMBEDDING, TableSchema, embedding_array, table_writer
from infopursuit.core.whole_files import whole_file

logger = logging.getLogger(__name__)

REASON = "reason"


@dataclass(frozen=True)
class Embedding:
    """How to embed.

    Attributes:
        batch_size: texts or images per batch of a tower.
        chunk: rows after which a killed run can resume.
        scratch: a folder for the finished chunks of this stage alone.
        shard_rows: rows of each file of the result, a folder; None for one file.
    """

    batch_size: int
    chunk: int
    scratch: Path
    shard_rows: int | None = None


class Chunk(NamedTuple):
    """Embedded rows; a row that could not be embedded is zeros and has a reason."""

    embeddings: Float16[np.ndarray, "m d"]
    reasons: list[str | None]


class ChunkFolder:
    """The finished chunks of one job, in `scratch/<hash of the job>`."""

    def __init__(self, how: Embedding, job: Iterable[str], rows: int) -> None:
        """Open the folder of a job; folders that other inputs or settings left there are removed.

        Args:
            how: batches, chunks, scratch.
            job: all else that decides the result; any difference starts anew.
            rows: number of rows n.
        """
        self.rows, self.size, self._shard_rows = rows, how.chunk, how.shard_rows
        digest = hashlib.sha256()
        for part in chain(job, map(str, (rows, how.chunk, how.batch_size))):
            digest.update(part.encode() + b"\0")
        self._scratch = how.scratch
        self._folder = how.scratch / digest.hexdigest()[:16]
        if how.scratch.is_dir():
            for other in sorted(how.scratch.iterdir()):
                if other != self._folder:
                    shutil.rmtree(other)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._count = -(-rows // how.chunk)
        there = {file.name for file in self._folder.iterdir()}
        self._finished = {index for index in range(self._count) if self._file(index).name in there}

    @property
    def done(self) -> int:
        """Number of rows in finished chunks."""
        return sum(stop - start for start, stop in map(self._bounds, self._finished))

    def missing(self) -> Iterator[tuple[int, int, int]]:
        """Number, first row and end of each chunk that is not finished."""
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
        file = self._file(index)
        with whole_file(file) as partial:
            pq.write_table(pa.table(columns), partial, compression="none")
        self._finished.add(index)

    def rejected(self) -> dict[int, str]:
        """The rows of finished chunks that could not be embedded, in order, with the reason."""
        reasons: dict[int, str] = {}
        for index in sorted(self._finished):
            column = pq.read_table(self._file(index), columns=[REASON]).column(REASON)
            reasons.update(rejected_rows(self._bounds(index)[0], column.to_pylist()))
        return reasons

    def read(self) -> Iterator[Float16[np.ndarray, "m d"]]:
        """The embeddings of each chunk, in order; none may be missing."""
        for index in range(self._count):
            table = pq.read_table(self._file(index), columns=[EMBEDDING])
            column = table.column(EMBEDDING).combine_chunks()
            values = column.flatten().to_numpy(zero_copy_only=False)
            yield values.reshape(len(table), column.type.list_size)

    def matrix(self, width: int) -> Float16[np.ndarray, "n d"]:
        """All embeddings as one array, which lies in a file of the scratch folder."""
        path = self._folder / "embeddings.float16"
        # Written first, then mapped: a full disk kills a process that writes through the map.
        with whole_file(path) as partial, partial.open("wb") as file:
            for embeddings in self.read():
                file.write(np.ascontiguousarray(embeddings).data)
        # Copy on write, and nothing writes: torch warns about arrays that cannot be written.
        return np.memmap(path, dtype=np.float16, mode="c", shape=(self.rows, width))

    def write(
        self,
        out: Path,
        schema: TableSchema,
        columns: pa.Table,
        keep: Bool[np.ndarray, " n"],
        width: int,
        clip: str | None,
    ) -> None:
        """Join the chunks with their other columns in a table, less the rows not kept."""
        arrow = schema.arrow(width, clip)
        shards = None if self._shard_rows is None else (int(keep.sum()), self._shard_rows)
        with table_writer(out, schema, width, clip, shards) as writer:
            start = 0
            for embeddings in self.read():
                kept = keep[start : start + len(embeddings)]
                rows = columns.slice(start, len(kept)).filter(pa.array(kept))
                arrays = [rows.column(field.name).combine_chunks() for field in schema.columns]
                arrays.append(embedding_array(embeddings[kept]))
                writer.write_table(pa.Table.from_arrays(arrays, schema=arrow))
                start += len(kept)

    def remove(self) -> None:
        """Remove the scratch folder, once the result is in place."""
        if self._scratch.is_dir():
            shutil.rmtree(self._scratch)

    def _bounds(self, index: int) -> tuple[int, int]:
        return index * self.size, min((index + 1) * self.size, self.rows)

    def _file(self, index: int) -> Path:
        return self._folder / f"chunk-{index + 1:06d}.parquet"


def rejected_rows(start: int, reasons: Iterable[str | None]) -> dict[int, str]:
    """Those of the rows from `start` that have a reason."""
    return {row: reason for row, reason in enumerate(reasons, start) if reason is not None}


def batch_bounds(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """First row and end of each batch of at most `size` rows from `start` to `stop`."""
    return ((begin, min(begin + size, stop)) for begin in range(start, stop, size))
