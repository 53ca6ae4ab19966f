"""Arrays: rows of unit norm, lists of numbers in tables, and numpy's files that others wrote."""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Float32

from infopursuit.core.errors import InputError
from infopursuit.core.files import check_regular


def unit_rows(
    matrix: Float[np.ndarray, "n d"], where: str, first_row: int = 0
) -> Float32[np.ndarray, "n d"]:
    """Divide each row by its L2 norm, in float32; the inner product of two rows is their cosine."""
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
    """Return whether a column of this type can hold embeddings: lists of floats, of any kind.

    `list<float>` and `large_list<float>` are what pandas, polars and `pa.table` write.
    """
    lists = (pa.types.is_fixed_size_list, pa.types.is_list, pa.types.is_large_list)
    return any(is_list(kind) for is_list in lists) and pa.types.is_floating(kind.value_type)


def fixed_size_lists(column: pa.Array, where: str, first_row: int = 0) -> pa.FixedSizeListArray:
    """Return a column of lists of floats, all of one length, as fixed-size lists."""
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


def read_arrays(path: Path, names: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file by name, sorted, without pickled objects."""
    check_regular(path)
    try:
        if not zipfile.is_zipfile(path):
            path.open("rb").close()  # a missing file has its own message
            raise InputError(f"{path}: not readable as plain arrays of numpy (no .npz archive)")
        with np.load(path) as arrays:
            return {
                name: arrays[name]
                for name in sorted(arrays.files)
                if names is None or name in names
            }
    except InputError:
        raise
    except Exception as error:  # numpy raises errors of many kinds for damaged files
        raise _unreadable(path, error) from error


def map_array(path: Path) -> np.ndarray:
    """Return the array of an .npy file, still on the disk."""
    check_regular(path)
    try:
        array = np.load(path, mmap_mode="r")
    except Exception as error:
        raise _unreadable(path, error) from error
    if not isinstance(array, np.ndarray):
        array.close()
        raise InputError(f"{path}: an archive of arrays; expected one array (.npy)")
    return array


def _unreadable(path: Path, error: Exception) -> InputError:
    advice = "; write texts as array.astype(str)" if "object" in str(error).lower() else ""
    return InputError(f"{path}: not readable as plain arrays of numpy ({error}{advice})")
