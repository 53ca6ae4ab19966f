"""Which images a model was trained on: it knows them by checksums, so that none counts as a test.

The first bytes of each SHA-256: of an image file or encoded image its bytes, of an embedding its
numbers in float32. Pictures without bytes of their own (arrays, PIL images) are not known again.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Bool

from infopursuit.core.errors import InputError
from infopursuit.core.files import content_sha256

# The key of `provenance_`: sorted checksums of this many bytes each, in base64.
KEY, BYTES = "trained_on", 8


def remember(provenance: dict[str, Any], images: Iterable[Any]) -> None:
    """Write checksums of all training images into the provenance of a model.

    Args:
        provenance: `provenance_`, which gets the key `trained_on` if there is anything to know.
        images: files, encoded images, or rows of embeddings.
    """
    known = sorted({each for image in images if (each := _checksum(image)) is not None})
    if known:
        provenance[KEY] = base64.b64encode(b"".join(known)).decode()


def seen(provenance: dict[str, Any], images: Iterable[Any]) -> Bool[np.ndarray, " n"]:
    """Return which of n images a model was trained on; none if it does not know.

    Raises:
        InputError: the checksums are damaged.
    """
    try:
        joined = base64.b64decode(provenance.get(KEY, ""), validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise InputError(f"{KEY}: {error}; expected checksums in base64") from error
    known = {joined[start : start + BYTES] for start in range(0, len(joined), BYTES)}
    return np.array([bool(known) and _checksum(image) in known for image in images], dtype=bool)


def _checksum(image: Any) -> bytes | None:
    if isinstance(image, np.ndarray) and image.ndim == 1:
        image = np.ascontiguousarray(image, dtype=np.float32).tobytes()
    digest = content_sha256(image)
    return None if digest is None else bytes.fromhex(digest)[:BYTES]
