"""Embeddings as arrays: rows of unit norm, and the list columns in which other tools store them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Float32

from infopursuit.core.errors import InputError


def unit_rows(
    matrix: Float[np.ndarray, "n d"], where: str, first_row: int = 0
) -> Float32[np.ndarray, "n d"]:
    """Divide each row by its L2 norm, in float32; the inner product of two rows is their cosine.

    Raises:
        InputError: a row is NaN, infinite or all zeros; the message begins with `where` and counts
            rows from `first_row`.
    """
    rows = matrix.astype(np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    bad = ~np.isfinite(norms[:, 0]) | (norms[:, 0] == 0)
    if bad.any():
        raise InputError(
            f"{where}: the embedding of row {first_row + int(bad.argmax())} is NaN, infinite or "
            "all zeros; expected finite numbers"
        )
    return rows / norms


def is_list_of_floats(kind: pa.DataType) -> bool:
    """Whether a column of this type can hold embeddings: a list of floats, of fixed size or not.

    `list<float>` and `large_list<float>` are what pandas, polars and `pa.table` write.
    """
    lists = (pa.types.is_fixed_size_list, pa.types.is_list, pa.types.is_large_list)
    return any(is_list(kind) for is_list in lists) and pa.types.is_floating(kind.value_type)


def fixed_size_lists(column: pa.Array, where: str, first_row: int = 0) -> pa.FixedSizeListArray:
    """A column of lists of floats, each of one length, as a fixed-size list.

    Args:
        column: without nulls.
        where: the file that messages name.
        first_row: where in the file the column begins.

    Raises:
        InputError: two rows have embeddings of different widths, or of none.
    """
    if pa.types.is_fixed_size_list(column.type):
        if not column.type.list_size:
            raise InputError(f"{where}: the embeddings have no numbers; expected some")
        return column
    widths = pc.call_function("list_value_length", [column]).to_numpy(zero_copy_only=False)
    width = int(widths[0]) if len(widths) else 0
    if len(widths) and not width:
        raise InputError(f"{where}: the embedding of row {first_row} has no numbers; expected some")
    odd = np.flatnonzero(widths != width)
    if len(odd):
        raise InputError(
            f"{where}: the embedding of row {first_row + int(odd[0])} has {int(widths[odd[0]])} "
            f"numbers, that of row {first_row} has {width}; expected one width"
        )
    kind = pa.list_(pa.field("element", column.type.value_type), width)
    return pa.FixedSizeListArray.from_arrays(column.flatten(), type=kind)
