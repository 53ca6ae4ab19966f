"""Embed the images of a data set into a Parquet file, listing those that cannot be read."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from infopursuit.clip.embedding_chunks import Chunk, ChunkFolder, Embedding, rejected_rows
from infopursuit.clip.image_tower import encode_image_rows
from infopursuit.clip.towers import Clip, OpenClip, SameClip, load_clip, same_clip
from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDED_IMAGES, REJECTED_IMAGES, ROW_GROUP, write_table
from infopursuit.datasets.decoding import Encoded
from infopursuit.datasets.image_source import ImageSource, check_splits, strings
from infopursuit.datasets.open_images import open_image_source
from infopursuit.executors import Workers, run_shards

logger = logging.getLogger(__name__)

REASONS_TOLD = 3


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
        source: the images.
        out: Parquet file to write.
        rejected: Parquet file of ids and reasons to write (REJECTED_IMAGES).
        clip: what embeds.
        how: batches, chunks, scratch.
        max_rejected: the share of unreadable images above which the data set is at fault.
        workers: processes that read and embed, each with the same `clip` and `source` (see
            `open_both`); None for this one.

    Returns:
        Numbers of images read and written.

    Raises:
        InputError: too many images cannot be read, or they empty a split, or `clip` has no image
            tower.
    """
    if not isinstance(clip, OpenClip):
        clip.encode_images(None)  # says that there is no image tower
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
    if workers is None:
        found = run_shards(lambda: ImageChunks(clip, source, how.batch_size), shards)
    else:
        work = ImageWork(workers.open, same_clip(clip), _digest(source), how.batch_size)
        found = run_shards(work, shards, workers.cluster)
    with closing(found):
        folder.fill(checked(found), "images")
    bad = sorted(reasons)
    keep = np.ones(len(ids), dtype=bool)
    keep[bad] = False
    splits = source.rows.column("split").filter(pa.array(keep))
    check_splits(source.where, splits.unique().to_pylist())
    listed = {"id": [ids[row].as_py() for row in bad], "reason": [reasons[row] for row in bad]}
    write_table(rejected, REJECTED_IMAGES, listed)
    if bad:
        logger.warning("%s: %d images cannot be read, see %s", source.where, len(bad), rejected)
    folder.write(out, EMBEDDED_IMAGES, source.rows, keep, clip.width, clip.name)
    folder.remove()
    return len(ids), int(keep.sum())


def open_both(
    clip: str, device: str, half_precision: bool, images: str, classes: Sequence[str]
) -> tuple[Clip, ImageSource]:
    """The CLIP (see `load_clip`) and the images (`open_image_source`) of a worker.

    Raises:
        InputError: as those two say.
    """
    opened = load_clip(clip, device, half_precision=half_precision)
    return opened, open_image_source(images, classes)


class ImageChunks:
    """Embeds ranges of the rows of a data set; ranges that ascend are read in one pass."""

    def __init__(self, clip: OpenClip, source: ImageSource, batch_size: int) -> None:
        self._clip = clip
        self._source = source
        self._batch_size = batch_size
        self._images: Iterator[Encoded] = iter(())
        self._next: int | None = None

    def __call__(self, rows: tuple[int, int]) -> Chunk:
        """Embed the rows from the first of two numbers to the one before the second."""
        start, stop = rows
        images = self._between(start, stop)
        return encode_image_rows(self._clip, images, stop - start, self._batch_size)

    def _between(self, start: int, stop: int) -> Iterator[Encoded]:
        """The images of some rows; those that a source cannot jump over are read once at most."""
        if self._next is None or not 0 <= start - self._next <= ROW_GROUP:
            self._images = self._source.images(start)
        else:
            for _ in islice(self._images, start - self._next):
                pass
        self._next = stop
        return islice(self._images, stop - start)


@dataclass(frozen=True)
class ImageWork:
    """Opens CLIP and images in a worker and gives what embeds ranges of rows there."""

    open: Callable[[], tuple[Clip, ImageSource]]
    same: SameClip
    source_digest: str
    batch_size: int

    def __call__(self) -> Callable[[tuple[int, int]], Chunk]:
        clip, source = self.open()
        self.same.check(clip)
        assert isinstance(clip, OpenClip)
        if _digest(source) != self.source_digest:
            raise InputError(
                f"{source.where}: a worker of the cluster finds other images there, or files "
                "changed at another time; expected storage that all machines share, left alone "
                "while it is read"
            )
        return ImageChunks(clip, source, self.batch_size)


def _digest(source: ImageSource) -> str:
    digest = hashlib.sha256(source.stamp.encode())
    for name in strings(source.rows.column("id")):
        digest.update(b"\0" + name.encode())
    return digest.hexdigest()


def _check_rejected(
    where: str, ids: pa.ChunkedArray, reasons: dict[int, str], done: int, max_rejected: float
) -> None:
    if len(reasons) > max_rejected * len(ids):
        first = sorted(reasons)[:REASONS_TOLD]
        told = "; ".join(f"{ids[row].as_py()}: {reasons[row]}" for row in first)
        raise InputError(
            f"{where}: {len(reasons)} of {done} images so far cannot be read ({told}); "
            f"expected at most {max_rejected:g} of all {len(ids)} (max_rejected)"
        )
