"""Embedding that survives being killed: finished chunks of rows lie in a scratch folder.

Chunks are made in order and appear under their name only when complete. Batches never cross the
border of a chunk, so a run that resumes forms the same batches, and the same bytes, as one that was
never interrupted. The file that joins the chunks is written from them one by one.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Bool, Float16
from tqdm import tqdm

from infopursuit.tables import EMBEDDING, TableSchema, embedding_array, table_writer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Embedding:
    """How to embed.

    Attributes:
        batch_size: texts or images per batch of a tower.
        chunk: rows after which a killed run can resume.
        scratch: a folder for the finished chunks of this stage alone.
    """

    batch_size: int
    chunk: int
    scratch: Path


class Chunk(NamedTuple):
    """Embedded rows; a row that could not be embedded is zeros and has a reason."""

    embeddings: Float16[np.ndarray, "m d"]
    reasons: list[str | None]


class ChunkFolder:
    """The finished chunks of one job, in `scratch/<hash of the job>`."""

    def __init__(self, how: Embedding, job: Sequence[str], rows: int) -> None:
        """Open the folder of a job; folders that other inputs or settings left there are removed.

        Args:
            how: batches, chunks, scratch.
            job: all else that decides the result; any difference starts anew.
            rows: number of rows n.
        """
        self.rows, self.size = rows, how.chunk
        parts = [*job, str(rows), str(how.chunk), str(how.batch_size)]
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        self._scratch = how.scratch
        self._folder = how.scratch / digest[:16]
        if how.scratch.is_dir():
            for other in sorted(how.scratch.iterdir()):
                if other != self._folder:
                    shutil.rmtree(other)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._count = -(-rows // how.chunk)
        self._finished = 0
        while self._finished < self._count and self._file(self._finished).is_file():
            self._finished += 1

    @property
    def done(self) -> int:
        """Number of rows in finished chunks."""
        return min(self._finished * self.size, self.rows)

    def bounds(self) -> Iterator[tuple[int, int]]:
        """First row and end of each chunk that is missing."""
        return batch_bounds(self.done, self.rows, self.size)

    def fill(self, chunks: Iterable[Chunk], what: str) -> None:
        """Keep the missing chunks, made in the order of `bounds`."""
        if self._finished:
            logger.info("%s: resuming after %d of %d rows", what, self.done, self.rows)
        quiet = not sys.stderr.isatty()
        with tqdm(total=self.rows, initial=self.done, desc=what, disable=quiet) as bar:
            for chunk in chunks:
                self._add(chunk)
                bar.update(len(chunk.reasons))

    def read(self) -> Iterator[Chunk]:
        """The finished chunks, in order."""
        for index in range(self._finished):
            table = pq.read_table(self._file(index))
            column = table.column(EMBEDDING).combine_chunks()
            values = column.flatten().to_numpy(zero_copy_only=False)
            matrix = values.reshape(len(table), column.type.list_size)
            yield Chunk(matrix, table.column("reason").to_pylist())

    def write(
        self,
        out: Path,
        schema: TableSchema,
        columns: pa.Table,
        keep: Bool[np.ndarray, " n"],
        width: int,
        clip: str | None,
    ) -> None:
        """Join the chunks with their other columns in one Parquet file, less the rows not kept."""
        arrow = schema.arrow(width, clip)
        with table_writer(out, schema, width, clip) as writer:
            start = 0
            for chunk in self.read():
                kept = keep[start : start + len(chunk.reasons)]
                rows = columns.slice(start, len(kept)).filter(pa.array(kept))
                arrays = [rows.column(field.name).combine_chunks() for field in schema.columns]
                arrays.append(embedding_array(chunk.embeddings[kept]))
                writer.write_table(pa.Table.from_arrays(arrays, schema=arrow))
                start += len(kept)

    def remove(self) -> None:
        """Remove the scratch folder, once the result is in place."""
        shutil.rmtree(self._scratch)

    def _add(self, chunk: Chunk) -> None:
        columns = {
            "reason": pa.array(chunk.reasons, pa.string()),
            EMBEDDING: embedding_array(chunk.embeddings),
        }
        file = self._file(self._finished)
        partial = file.with_suffix(".partial")
        pq.write_table(pa.table(columns), partial, compression="none")
        partial.replace(file)
        self._finished += 1

    def _file(self, index: int) -> Path:
        return self._folder / f"chunk-{index + 1:06d}.parquet"


def batch_bounds(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """First row and end of each batch of at most `size` rows from `start` to `stop`."""
    return ((begin, min(begin + size, stop)) for begin in range(start, stop, size))
