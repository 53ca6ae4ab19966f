"""Arrays of numpy in files that somebody else wrote: .npz and .npy, without pickled objects."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path

import numpy as np

from infopursuit.core.errors import InputError

# What numpy and the reader of zip archives raise for damaged files.
_DAMAGED = (
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
# Numbers that mean something do not become this much smaller; all zeros become a thousand times.
MOST_PACKED = 100
# Below this many bytes it does not matter.
HARMLESS = 2**26


def read_arrays(path: Path, names: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, by name, sorted.

    Args:
        path: the file.
        names: read only these, where they are there; None for all.

    Raises:
        InputError: the file is missing or damaged, holds pickled objects, or is so densely packed
            that it would fill the memory.
    """
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise InputError(f"{path}: not readable as plain arrays of numpy (no .npz archive)")
            file.seek(0)
            _refuse_bomb(path, file)
            with np.load(file) as arrays:
                there = sorted(arrays.files)
                return {name: arrays[name] for name in there if names is None or name in names}
    except InputError:
        raise
    except _DAMAGED as error:
        raise InputError(f"{path}: not readable as plain arrays of numpy ({error})") from error


def array_names(path: Path) -> list[str]:
    """The names of the arrays of an .npz file that `read_arrays` could read, sorted."""
    with np.load(path) as arrays:
        return sorted(arrays.files)


def map_array(path: Path) -> np.ndarray:
    """The array of an .npy file, still on the disk.

    Raises:
        InputError: the file is missing or damaged, or holds pickled objects.
    """
    try:
        array = np.load(path, mmap_mode="r")
    except _DAMAGED as error:
        raise InputError(f"{path}: not readable as plain arrays of numpy ({error})") from error
    if not isinstance(array, np.ndarray):
        array.close()
        raise InputError(f"{path}: an archive of arrays; expected one array (.npy)")
    return array


def _refuse_bomb(path: Path, file: object) -> None:
    with zipfile.ZipFile(file) as archive:  # type: ignore[arg-type]
        packed = sum(each.compress_size for each in archive.infolist())
        whole = sum(each.file_size for each in archive.infolist())
    file.seek(0)  # type: ignore[attr-defined]
    if whole > HARMLESS and whole > MOST_PACKED * packed:
        raise InputError(
            f"{path}: {packed:,} bytes that unpack to {whole:,}; expected at most "
            f"{MOST_PACKED} times as many"
        )
