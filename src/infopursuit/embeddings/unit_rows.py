"""Rows of length 1, in which the inner product is the cosine."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32

from infopursuit.errors import InputError


def unit_rows(matrix: Float[np.ndarray, "n d"], where: str) -> Float32[np.ndarray, "n d"]:
    """Divide each row by its L2 norm, in float32.

    Raises:
        InputError: a row is NaN, infinite or all zeros; the message begins with `where`.
    """
    rows = matrix.astype(np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    bad = ~np.isfinite(norms[:, 0]) | (norms[:, 0] == 0)
    if bad.any():
        raise InputError(
            f"{where}: the embedding of row {int(bad.argmax())} is NaN, infinite or all zeros; "
            "expected finite numbers"
        )
    return rows / norms
