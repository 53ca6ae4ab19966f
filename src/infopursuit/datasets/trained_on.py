"""Which images a model was trained on: it knows them by checksums, so that none counts as a test.

The first bytes of each SHA-256: of an image file or encoded image its bytes, of an embedding its
numbers in float32. Pictures without bytes of their own (arrays, PIL images) are not known again.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from infopursuit.core.errors import InputError
from infopursuit.core.files import content_sha256
from infopursuit.datasets.matrix import Matrix

# The key of `provenance_`: sorted checksums of this many bytes each, in base64.
KEY, BYTES = "trained_on", 8


def remember(provenance: dict[str, Any], images: Iterable[Any]) -> None:
    """Write checksums of training images into the provenance of a model, to those that it has.

    Args:
        provenance: `provenance_`, which gets the key `trained_on` if there is anything to know.
        images: files, encoded images, or rows of embeddings.
    """
    known = _known(provenance)
    known |= {each for image in images if (each := _checksum(image)) is not None}
    if known:
        provenance[KEY] = base64.b64encode(b"".join(sorted(known))).decode()


def seen(provenance: dict[str, Any], images: Iterable[Any]) -> Bool[np.ndarray, " n"]:
    """Return which of n images a model was trained on; none if it does not know.

    Raises:
        InputError: the checksums are damaged.
    """
    known = _known(provenance)
    return np.array([bool(known) and _checksum(image) in known for image in images], dtype=bool)


def each_row(rows: Matrix) -> Iterator[Float[np.ndarray, " d"]]:
    """Yield the rows of a matrix as they are read."""
    for _, block in rows.blocks():
        yield from block.numpy()


def _known(provenance: dict[str, Any]) -> set[bytes]:
    try:
        joined = base64.b64decode(provenance.get(KEY, ""), validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise InputError(f"{KEY}: {error}; expected checksums in base64") from error
    return {joined[start : start + BYTES] for start in range(0, len(joined), BYTES)}


def _checksum(image: Any) -> bytes | None:
    if isinstance(image, np.ndarray) and image.ndim == 1:
        image = np.ascontiguousarray(image, dtype=np.float32).tobytes()
    digest = content_sha256(image)
    return None if digest is None else bytes.fromhex(digest)[:BYTES]
