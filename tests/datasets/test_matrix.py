"""Rows in blocks: types, norms, subsets, checksums, and what is refused."""

from __future__ import annotations

import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.datasets.matrix import BLOCK, Matrix, UnitMatrix, as_tensor


def matrix(rows: int = 20, width: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, width))


def unit(rows: int = 20, width: int = 6, seed: int = 0) -> np.ndarray:
    values = matrix(rows, width, seed)
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def whole(rows: Matrix, size: int) -> Tensor:
    places, blocks = zip(*rows.blocks(size), strict=True)
    assert [place.start for place in places] == list(range(0, len(rows), size))
    assert [place.stop - place.start for place in places] == [len(block) for block in blocks]
    return torch.cat(blocks)


@pytest.mark.parametrize("size", [7, 20, 100])
@pytest.mark.parametrize("kind", [Matrix, lambda values: UnitMatrix(values, "X")])
def test_blocks_in_order_are_the_whole_and_a_subset_copies_nothing(kind: Any, size: int) -> None:
    values = torch.from_numpy(unit())
    rows = kind(values)
    assert (len(rows), rows.width) == (20, 6)
    assert torch.equal(whole(rows, size), values)
    assert torch.equal(rows.tensor(), values)
    first, second = torch.tensor([9, 2, 5, 2, 17]), torch.tensor([4, 0, 3])
    some, expected = rows.subset(first).subset(second), values[first][second]
    assert type(some) is type(rows)
    assert some.values is rows.values
    assert (len(some), some.width, len(rows)) == (3, 6, 20)
    assert torch.equal(some.tensor(), expected)
    assert torch.equal(whole(some, 2), expected)
    assert torch.equal(some.take(torch.tensor([2, 0, 2])), expected[[2, 0, 2]])
    assert some.checksums().tolist() == rows.checksums()[first][second].tolist()
    none = rows.subset(torch.tensor([], dtype=torch.long))
    assert none.tensor().shape == (0, 6)
    assert none.checksums().shape == (0,)


@pytest.mark.parametrize(
    "given",
    [
        unit().astype(np.float64),
        unit().astype(np.float16),
        unit().astype(">f4"),
        unit().tolist(),
        torch.from_numpy(unit()),
        torch.from_numpy(unit()).bfloat16(),
        torch.from_numpy(unit()).double().requires_grad_(),
        np.asfortranarray(unit()),
        np.ascontiguousarray(unit()[::-1])[::-1],
    ],
    ids=lambda given: f"{type(given).__name__}-{getattr(given, 'dtype', '')}",
)
def test_any_float_type_is_read_as_float32_of_unit_norm(given: object) -> None:
    rows = UnitMatrix(given, "X").tensor()
    assert rows.dtype == torch.float32
    assert not rows.requires_grad
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(20), atol=1e-4, rtol=0)
    torch.testing.assert_close(rows, torch.from_numpy(unit()), atol=4e-3, rtol=0)


def test_rows_of_unit_norm_stay_as_they_are_to_the_bit() -> None:
    values = unit()
    assert torch.equal(UnitMatrix(values, "X").tensor(), torch.from_numpy(values))
    nearly = values * np.float32(1.00005)
    assert torch.equal(UnitMatrix(nearly, "X").tensor(), torch.from_numpy(nearly))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert UnitMatrix(np.zeros((0, 4)), "X").tensor().shape == (0, 4)
    with pytest.warns(UserWarning, match="X: the rows have norms"):
        long = UnitMatrix(values * np.float32(1.5), "X").tensor()
    torch.testing.assert_close(long, torch.from_numpy(values), atol=1e-6, rtol=0)
    further = UnitMatrix(values * np.float32(1.01), "X").tensor()
    torch.testing.assert_close(further, torch.from_numpy(values), atol=1e-6, rtol=0)


def test_an_array_on_disk_is_mapped_and_not_copied(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", unit().astype(np.float16))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    rows = UnitMatrix(mapped, "X")
    assert rows.values.data_ptr() == mapped.ctypes.data
    assert torch.equal(rows.tensor(), UnitMatrix(np.array(mapped), "X").tensor())
    writable = unit()
    assert as_tensor(writable).data_ptr() == writable.ctypes.data


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (np.array([["a", "b"]]), "<U1"),
        (np.array([[1j, 1]]), "complex128"),
        (np.array([[None, 1]]), "objects"),
        (torch.ones(2, 2, dtype=torch.long), "int64"),
        (np.ones((2, 2, 2)), "shape"),
        ([], "nothing"),
        (np.ones((2, 0)), "shape"),
        (np.float64(1), "shape"),
    ],
)
def test_other_values_are_refused(values: object, word: str) -> None:
    with pytest.raises(InputError, match=f"X: .*{word}"):
        UnitMatrix(values, "X")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, "zeros"])
@pytest.mark.parametrize("row", [7, BLOCK + 3])
def test_a_row_that_has_no_direction_is_named(bad: float | str, row: int) -> None:
    values = unit(BLOCK + 9, 3)
    if bad == "zeros":
        values[row] = 0
    else:
        values[row, 1] = bad
    values[-1] = 0  # the first of them is named
    with pytest.raises(InputError, match=f"X: row {row} is NaN, infinite or all zeros; expected"):
        UnitMatrix(values, "X")


def test_equal_rows_have_equal_checksums_and_others_do_not() -> None:
    values = matrix()
    values[11] = values[3]
    sums = Matrix(torch.from_numpy(values)).checksums()
    assert sums[11] == sums[3]
    assert len(set(sums.tolist())) == 19
    assert sums.tolist() == [zlib.crc32(row.tobytes()) for row in values]
    stored = unit().astype(np.float16)
    sums = [
        UnitMatrix(stored.astype(kind), "X").checksums().tolist()
        for kind in (np.float16, np.float32, np.float64)
    ]
    assert sums[0] == sums[1] == sums[2], "a row is the same in any type it is stored in"
