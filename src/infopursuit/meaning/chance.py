"""What a measure is worth by chance: every class under the name of another."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int


def swapped_names(classes: int, draw: np.random.Generator) -> Int[np.ndarray, " c"]:
    """The class whose name each of c >= 2 classes gets; none keeps its own.

    A table of classes by rows, `table[swapped_names(c, draw)]`, says of each class what is true of
    another. How many texts are true of how many classes stays the same.
    """
    order = draw.permutation(classes)
    given = np.empty(classes, dtype=np.int64)
    given[order] = np.roll(order, 1)
    return given
