"""Encoded images to tensors, in threads that work ahead of the image tower."""

from __future__ import annotations

import io
import re
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import torch
from PIL import Image, UnidentifiedImageError

# Encoded bytes, a file, a function that opens an image, or none where there should be one.
Encoded = bytes | Path | Callable[[], Image.Image] | None

# What Pillow raises for damaged files of the many formats.
DAMAGED = (OSError, SyntaxError, ValueError, EOFError, struct.error, Image.DecompressionBombError)


class UnreadableError(Exception):
    """An image that cannot be decoded; the message is the reason, the same in every run."""


def decode(encoded: Encoded) -> Image.Image:
    """Decode an image into RGB.

    Raises:
        UnreadableError: there is no image, or it is damaged or of no known format.
    """
    if encoded is None or encoded == b"":
        raise UnreadableError("missing")
    try:
        if callable(encoded):
            return encoded().convert("RGB")
        with Image.open(io.BytesIO(encoded) if isinstance(encoded, bytes) else encoded) as image:
            return image.convert("RGB")
    except FileNotFoundError as error:
        raise UnreadableError("missing") from error
    except UnidentifiedImageError as error:
        # Pillow's own message names a buffer by its address, which differs from run to run.
        raise UnreadableError("not an image of a known format") from error
    except DAMAGED as error:
        reason = re.sub(r" at 0x[0-9a-f]+", "", " ".join(str(error).split()))
        raise UnreadableError(f"damaged: {reason}") from error


def prepared_ahead(
    images: Iterable[Encoded],
    preprocess: Callable[[Image.Image], torch.Tensor],
    workers: int,
    ahead: int,
) -> Iterator[torch.Tensor | UnreadableError]:
    """Decode and preprocess images in threads, in order, at most `ahead` of what is taken.

    Yields:
        A (3, h, w) float32 tensor, or why there is none.
    """

    def prepare(encoded: Encoded) -> torch.Tensor | UnreadableError:
        try:
            return preprocess(decode(encoded))
        except UnreadableError as reason:
            return reason

    pool = ThreadPoolExecutor(workers, thread_name_prefix="decode")
    pending: deque[Future[torch.Tensor | UnreadableError]] = deque()
    try:
        for encoded in images:
            pending.append(pool.submit(prepare, encoded))
            if len(pending) >= ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
