"""Encoded images to pixels, in threads that work ahead of the image tower."""

from __future__ import annotations

import io
import re
import struct
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from PIL import Image, UnidentifiedImageError

T = TypeVar("T")

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
            return _rgb(encoded())
        with Image.open(io.BytesIO(encoded) if isinstance(encoded, bytes) else encoded) as image:
            return _rgb(image)
    except FileNotFoundError as error:
        raise UnreadableError("missing") from error
    except UnidentifiedImageError as error:
        # Pillow's own message names a buffer by its address, which differs from run to run.
        raise UnreadableError("not an image of a known format") from error
    except DAMAGED as error:
        reason = re.sub(r" at 0x[0-9a-f]+", "", " ".join(str(error).split()))
        raise UnreadableError(f"damaged: {reason}") from error


def _rgb(image: Image.Image) -> Image.Image:
    image.load()
    # An image that is RGB already would only be copied.
    return image if image.mode == "RGB" else image.convert("RGB")


def prepared_ahead(
    images: Iterable[Encoded], preprocess: Callable[[Image.Image], T], workers: int, ahead: int
) -> Generator[T | UnreadableError, None, None]:
    """Decode and preprocess images in threads, in order, at most `ahead` of what is taken.

    Yields:
        What `preprocess` gives for an image, or why there is none.
    """

    def prepare(encoded: Encoded) -> T | UnreadableError:
        try:
            return preprocess(decode(encoded))
        except UnreadableError as reason:
            return reason

    pool = ThreadPoolExecutor(workers, thread_name_prefix="decode")
    pending: deque[Future[T | UnreadableError]] = deque()
    try:
        for encoded in images:
            pending.append(pool.submit(prepare, encoded))
            if len(pending) >= ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
