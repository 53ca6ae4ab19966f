"""Rows of numbers read in blocks: tables as they are, embeddings as float32 of unit norm.

Nothing is copied as a whole: an array of millions of rows may be mapped from disk.
"""

from __future__ import annotations

import copy
import warnings
import zlib
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.core.errors import InputError

Kind = TypeVar("Kind", bound="Matrix")

BLOCK = 8192
# Rows this close to unit norm are left as they are, to the bit; float16 rounds by less than that
# after it was normalised, and is always float32 by the time it is looked at.
UNIT = 1e-4
# Rows further from unit norm than this were probably never normalised: a warning says so.
SURPRISING = 0.02


class Matrix:
    """(n, d) numbers of any float type, or some of their rows."""

    def __init__(self, values: Float[Tensor, "m d"]) -> None:
        self.values = values
        self.places: Tensor | None = None  # rows of `values`; None for all

    def __len__(self) -> int:
        return len(self.values if self.places is None else self.places)

    @property
    def width(self) -> int:
        """d."""
        return self.values.shape[1]

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[slice, Float[Tensor, "m d"]]]:
        """Yield all rows in order, a block at a time, with their places."""
        for start in range(0, len(self), size):
            place = slice(start, min(start + size, len(self)))
            yield place, self._read(self._stored(place))

    def take(self, rows: Int[Tensor, " m"]) -> Float[Tensor, "m d"]:
        """Return the given rows."""
        return self._read(self._stored(rows))

    def subset(self: Kind, rows: Int[Tensor, " m"]) -> Kind:
        """Return a matrix of the given rows, without a copy of them."""
        fewer = copy.copy(self)
        fewer.places = rows if self.places is None else self.places[rows]
        return fewer

    def tensor(self) -> Float[Tensor, "n d"]:
        """Return all rows."""
        blocks = [block for _, block in self.blocks()]
        return torch.cat(blocks) if blocks else self._read(self.values[:0])

    def as_stored(self) -> Float[Tensor, "n d"]:
        """Return all rows, in the type in which they are stored."""
        return self.values if self.places is None else self.values[self.places]

    def checksums(self) -> Int[np.ndarray, " n"]:
        """Return a checksum (CRC-32) of each row's bytes."""
        sums = np.empty(len(self), dtype=np.int64)
        for start in range(0, len(self), BLOCK):
            stored = self._keyed(self._stored(slice(start, start + BLOCK)))
            values = stored.contiguous().flatten()  # of one column the rows may seem far apart
            rows = values.view(torch.uint8).view(len(stored), -1).numpy()
            sums[start : start + len(rows)] = [zlib.crc32(row) for row in rows]
        return sums

    def _stored(self, rows: slice | Tensor) -> Tensor:
        return self.values[rows if self.places is None else self.places[rows]]

    def _read(self, stored: Tensor) -> Tensor:
        return stored

    def _keyed(self, stored: Tensor) -> Tensor:
        return stored


class UnitMatrix(Matrix):
    """(n, d) embeddings whose rows are read as float32 of unit norm.

    Rows that have it stay as they are, to the bit.
    """

    def __init__(self, values: Any, where: str) -> None:
        self.where = where
        super().__init__(_matrix(values, where))
        smallest, largest = self._norms()
        if len(self) and not (smallest >= 1 - SURPRISING and largest <= 1 + SURPRISING):
            warnings.warn(
                f"{where}: the rows have norms from {smallest:.3g} to {largest:.3g}; they are "
                "scaled to unit norm, as CLIP embeddings are compared by angle",
                UserWarning,
                stacklevel=4,
            )

    @staticmethod
    def of_checked(stored: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
        """Return some rows of a matrix that was checked as a whole, as they are read."""
        rows = stored.float()
        off = (rows.norm(dim=1) - 1).abs() > UNIT
        return torch.where(off.unsqueeze(1), functional.normalize(rows, dim=1), rows)

    def _read(self, stored: Tensor) -> Tensor:
        return self.of_checked(stored)

    def _keyed(self, stored: Tensor) -> Tensor:
        return stored.float()  # equal rows have equal checksums in any type

    def _norms(self) -> tuple[float, float]:
        smallest, largest = np.inf, 0.0
        for start in range(0, len(self), BLOCK):
            norms = self.values[start : start + BLOCK].float().norm(dim=1)
            bad = ~torch.isfinite(norms) | (norms == 0)
            if bad.any():
                raise InputError(
                    f"{self.where}: row {start + int(bad.int().argmax())} is NaN, infinite or all "
                    "zeros; expected finite numbers"
                )
            smallest, largest = min(smallest, norms.min().item()), max(largest, norms.max().item())
        return smallest, largest


def _matrix(values: Any, where: str) -> Tensor:
    if isinstance(values, Matrix):
        values = values.as_stored()
    if not isinstance(values, Tensor):
        if hasattr(values, "toarray"):
            raise InputError(f"{where}: found a sparse matrix; expected a dense one: .toarray()")
        try:
            array = np.asarray(values)
        except ValueError as error:
            raise InputError(f"{where}: found rows of several lengths; expected (n, d)") from error
        if array.dtype.kind in "iub" or array.dtype == np.longdouble:
            array = array.astype(np.float64)
        if array.dtype.kind == "O":
            raise InputError(
                f"{where}: found an array of objects; expected numbers (n, d), as np.stack makes "
                "them of a list of rows"
            )
        if array.dtype.kind != "f":
            raise InputError(f"{where}: found {array.dtype} values; expected numbers (n, d)")
        values = as_tensor(array)
    if values.ndim == 1:
        if not len(values):
            raise InputError(f"{where}: found nothing; expected rows (n, d)")
        values = values.unsqueeze(0)
    if values.ndim != 2 or values.shape[1] == 0:
        raise InputError(f"{where}: found the shape {tuple(values.shape)}; expected (n, d)")
    if not values.is_floating_point():
        raise InputError(f"{where}: found {values.dtype} values; expected floats (n, d)")
    return values.detach().cpu()


def as_tensor(array: np.ndarray) -> Tensor:
    """Return the array as a tensor that shares its memory if torch can."""
    array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    array = array if all(stride > 0 for stride in array.strides) else array.copy()
    if array.flags.writeable:
        return torch.from_numpy(array)
    with warnings.catch_warnings():  # torch warns about read-only arrays; nothing here writes
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return torch.from_numpy(array)
