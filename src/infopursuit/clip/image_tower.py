"""CLIP's image tower on many encoded images, kept busy: others decode while it works.

Threads decode and resize ahead of it. One more puts the next batch together and, where the tower
is on a GPU, copies it there. So all but the first batch lie ready when the tower asks for them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Float32, UInt8

from infopursuit.clip.embedding_chunks import Chunk, batch_bounds
from infopursuit.clip.towers import OpenClip
from infopursuit.datasets.decoding import Encoded, Picture, UnreadableError, prepared_ahead

T = TypeVar("T")


class Batch(NamedTuple):
    """The readable images of a range of rows.

    Attributes:
        rows: their rows, in order.
        pixels: the images, where the tower is; none where no row is readable.
        reasons: the rows that are not readable, and why.
    """

    rows: list[int]
    pixels: UInt8[torch.Tensor, "b 3 h w"] | None
    reasons: dict[int, str]


class EncodedBatch(NamedTuple):
    """The embeddings of the readable images of a range of rows, unit norm, as in `Batch`."""

    rows: list[int]
    embeddings: Float32[np.ndarray, "b d"]
    reasons: dict[int, str]


def encode_image_rows(
    clip: OpenClip, images: Iterator[Encoded], count: int, batch_size: int
) -> Chunk:
    """Embed the next `count` images.

    A batch is a range of `batch_size` rows less the unreadable ones, whatever was embedded before.

    Args:
        clip: what embeds.
        images: the images; no more than `count` are taken.
        count: number of rows m.
        batch_size: rows per batch of the tower.

    Returns:
        The rows, float16 (m, d) of unit norm, or zeros with a reason.

    Raises:
        ValueError: there are fewer images.
        InputError: an embedding is no direction, or not the same in float16.
    """
    matrix = np.zeros((count, clip.width), dtype=np.float16)
    reasons: list[str | None] = [None] * count
    for batch in encoded_batches(clip, images, count, batch_size):
        for row, reason in batch.reasons.items():
            reasons[row] = reason
        matrix[batch.rows] = batch.embeddings
    return Chunk(matrix, reasons)


def encoded_batches(
    clip: OpenClip, images: Iterator[Picture | Encoded], count: int, batch_size: int
) -> Iterator[EncodedBatch]:
    """Embed the next `count` images, batch by batch, see `encode_image_rows`."""
    items = islice(images, count)
    with (
        closing(prepared_ahead(items, clip.pixels, decoders(), ahead=batch_size)) as prepared,
        closing(one_ahead(_batches(prepared, count, batch_size, clip.device))) as batches,
    ):
        for rows, pixels, reasons in batches:
            if pixels is None:
                embeddings = np.zeros((0, clip.width), dtype=np.float32)
            else:
                embeddings = clip.encode_images(pixels)
            yield EncodedBatch(rows, embeddings, reasons)


def one_ahead(items: Iterable[T]) -> Generator[T, None, None]:
    """The same items; while one is in use, a thread makes the next."""
    iterator = iter(items)
    done = object()
    with ThreadPoolExecutor(1, thread_name_prefix="batch") as pool:
        coming = pool.submit(next, iterator, done)
        while (item := coming.result()) is not done:
            coming = pool.submit(next, iterator, done)
            yield item  # type: ignore[misc]


def _batches(
    prepared: Iterator[np.ndarray | UnreadableError],
    count: int,
    batch_size: int,
    device: torch.device,
) -> Iterator[Batch]:
    copied = _copier(device)
    for begin, end in batch_bounds(0, count, batch_size):
        readable: dict[int, np.ndarray] = {}
        reasons: dict[int, str] = {}
        for row in range(begin, end):
            item = next(prepared, None)
            if item is None:
                raise ValueError(f"expected {count} images, found {row}")
            if isinstance(item, UnreadableError):
                reasons[row] = str(item)
            else:
                readable[row] = item
        pixels = copied(np.stack(list(readable.values()))) if readable else None
        yield Batch(list(readable), pixels, reasons)


def _copier(
    device: torch.device,
) -> Callable[[UInt8[np.ndarray, "b 3 h w"]], UInt8[torch.Tensor, "b 3 h w"]]:
    """What brings a batch to the device, beside what the device is doing."""
    if device.type != "cuda":
        return torch.from_numpy
    stream = torch.cuda.Stream(device)

    def copied(batch: np.ndarray) -> torch.Tensor:
        with torch.cuda.stream(stream):
            there = torch.from_numpy(batch).pin_memory().to(device, non_blocking=True)
        # This holds up the thread that puts batches together, and neither tower nor decoders.
        # The memory is used again only after the tower is done: its rows are read back before.
        stream.synchronize()
        return there

    return copied


def decoders() -> int:
    """Threads that decode: as many as this process has cores."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
