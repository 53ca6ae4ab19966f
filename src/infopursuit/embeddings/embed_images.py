"""Embed the images of a data set into a Parquet file, listing those that cannot be read."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from infopursuit.embeddings.chunks import Chunk, ChunkFolder, Embedding, batch_bounds
from infopursuit.embeddings.clip import Clip, OpenClip
from infopursuit.embeddings.decoding import UnreadableError, prepared_ahead
from infopursuit.embeddings.image_rows import check_splits
from infopursuit.embeddings.image_source import ImageSource
from infopursuit.errors import InputError
from infopursuit.tables import EMBEDDED_IMAGES, REJECTED_IMAGES, write_table

logger = logging.getLogger(__name__)

REASONS_TOLD = 3


def embed_images(
    source: ImageSource, out: Path, rejected: Path, clip: Clip, how: Embedding, max_rejected: float
) -> tuple[int, int]:
    """Embed a data set (EMBEDDED_IMAGES, in its order), without the images that cannot be read.

    Args:
        source: the images.
        out: Parquet file to write.
        rejected: Parquet file of ids and reasons to write (REJECTED_IMAGES).
        clip: what embeds.
        how: batches, chunks, scratch.
        max_rejected: the share of unreadable images above which the data set is at fault.

    Returns:
        Numbers of images read and written.

    Raises:
        InputError: too many images cannot be read, or they empty a split, or `clip` has no image
            tower.
    """
    preprocess = clip.preprocess
    assert isinstance(clip, OpenClip)
    ids: list[str] = source.rows.column("id").to_pylist()
    folder = ChunkFolder(how, [clip.stamp, source.stamp, *ids], len(ids))
    reasons = [reason for chunk in folder.read() for reason in chunk.reasons]
    _check_rejected(source.where, ids, reasons, max_rejected)

    def checked() -> Iterator[Chunk]:
        images = source.images(folder.done)
        prepared = prepared_ahead(images, preprocess, _workers(), ahead=2 * how.batch_size)
        for chunk in _chunks(prepared, clip, how, folder):
            reasons.extend(chunk.reasons)
            _check_rejected(source.where, ids, reasons, max_rejected)
            yield chunk

    folder.fill(checked(), "images")
    keep = np.array([reason is None for reason in reasons])
    splits = np.array(source.rows.column("split").to_pylist(), dtype=object)
    check_splits(source.where, splits[keep].tolist())
    bad = np.flatnonzero(~keep).tolist()
    listed = {"id": [ids[row] for row in bad], "reason": [reasons[row] for row in bad]}
    write_table(rejected, REJECTED_IMAGES, listed)
    if bad:
        logger.warning("%s: %d images cannot be read, see %s", source.where, len(bad), rejected)
    folder.write(out, EMBEDDED_IMAGES, source.rows, keep, clip.width, clip.name)
    folder.remove()
    return len(ids), int(keep.sum())


def _chunks(
    prepared: Iterator[torch.Tensor | UnreadableError],
    clip: OpenClip,
    how: Embedding,
    folder: ChunkFolder,
) -> Iterator[Chunk]:
    """Batches are ranges of rows less the unreadable ones, so they never depend on a resumption."""
    for start, stop in folder.bounds():
        matrix = np.zeros((stop - start, clip.width), dtype=np.float16)
        reasons: list[str | None] = [None] * (stop - start)
        for begin, end in batch_bounds(0, stop - start, how.batch_size):
            pixels: dict[int, torch.Tensor] = {}
            for row in range(begin, end):
                item = next(prepared)
                if isinstance(item, UnreadableError):
                    reasons[row] = str(item)
                else:
                    pixels[row] = item
            if pixels:
                matrix[list(pixels)] = clip.encode_images(torch.stack(list(pixels.values())))
        yield Chunk(matrix, reasons)


def _check_rejected(
    where: str, ids: list[str], reasons: list[str | None], max_rejected: float
) -> None:
    bad = [row for row, reason in enumerate(reasons) if reason is not None]
    if len(bad) > max_rejected * len(ids):
        told = "; ".join(f"{ids[row]}: {reasons[row]}" for row in bad[:REASONS_TOLD])
        raise InputError(
            f"{where}: {len(bad)} of the first {len(reasons)} images cannot be read ({told}); "
            f"expected at most {max_rejected:g} of all {len(ids)} (max_rejected)"
        )


def _workers() -> int:
    """Threads that decode: as many as this process has cores."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
