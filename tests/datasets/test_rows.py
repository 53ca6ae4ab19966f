"""Rows in blocks: types, norms, subsets, checksums, and what is refused."""

from __future__ import annotations

import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.datasets.rows import BLOCK, Rows, UnitRows, as_tensor


def matrix(rows: int = 20, width: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, width))


def unit(rows: int = 20, width: int = 6, seed: int = 0) -> np.ndarray:
    values = matrix(rows, width, seed)
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def whole(rows: Rows, size: int) -> Tensor:
    places, blocks = zip(*rows.blocks(size), strict=True)
    assert [place.start for place in places] == list(range(0, len(rows), size))
    assert [place.stop - place.start for place in places] == [len(block) for block in blocks]
    return torch.cat(blocks)


@pytest.mark.parametrize("size", [1, 7, 20, 100])
@pytest.mark.parametrize("kind", ["table", "unit"])
def test_blocks_in_order_are_the_whole(size: int, kind: str) -> None:
    values = torch.from_numpy(unit())
    rows = Rows(values) if kind == "table" else UnitRows(values, "X")
    assert (len(rows), rows.width) == (20, 6)
    assert torch.equal(whole(rows, size), values)
    assert torch.equal(rows.tensor(), values)
    places = torch.tensor([3, 3, 0, 19])
    assert torch.equal(rows.take(places), values[places])


def test_more_rows_than_a_block_are_read_as_one() -> None:
    values = unit(BLOCK + 5, 2)
    rows = UnitRows(values, "X")
    assert [len(block) for _, block in rows.blocks()] == [BLOCK, 5]
    assert torch.equal(rows.tensor(), torch.from_numpy(values))
    assert len(rows.checksums()) == BLOCK + 5


def test_a_table_stays_as_it_is() -> None:
    values = torch.from_numpy(matrix())
    assert Rows(values).tensor().dtype == torch.float64
    assert torch.equal(Rows(values).tensor(), values)


@pytest.mark.parametrize("kind", ["table", "unit"])
def test_a_subset_of_a_subset_copies_nothing(kind: str) -> None:
    values = torch.from_numpy(unit())
    rows = Rows(values) if kind == "table" else UnitRows(values, "X")
    first, second = torch.tensor([9, 2, 5, 2, 17]), torch.tensor([4, 0, 3])
    some = rows.subset(first).subset(second)
    assert type(some) is type(rows)
    assert some.values is rows.values
    expected = values[first][second]
    assert (len(some), some.width) == (3, 6)
    assert torch.equal(some.tensor(), expected)
    assert torch.equal(whole(some, 2), expected)
    assert torch.equal(some.take(torch.tensor([2, 0])), expected[[2, 0]])
    assert some.checksums().tolist() == rows.checksums()[first][second].tolist()
    assert len(rows) == 20
    none = rows.subset(torch.tensor([], dtype=torch.long))
    assert none.tensor().shape == (0, 6)
    assert none.checksums().shape == (0,)


def test_rows_of_rows_are_those_that_were_left() -> None:
    rows = UnitRows(unit(), "X").subset(torch.tensor([4, 1]))
    assert torch.equal(UnitRows(rows, "again").tensor(), rows.tensor())


@pytest.mark.parametrize(
    "given",
    [
        unit(),
        unit().astype(np.float64),
        unit().astype(np.float16),
        unit().astype(np.longdouble),
        unit().astype(">f4"),
        unit().tolist(),
        torch.from_numpy(unit()),
        torch.from_numpy(unit()).bfloat16(),
        torch.from_numpy(unit()).double().requires_grad_(),
        np.asfortranarray(unit()),
        unit()[::-1][::-1],
    ],
    ids=lambda given: f"{type(given).__name__}-{getattr(given, 'dtype', '')}",
)
def test_any_float_type_is_read_as_float32_of_unit_norm(given: object) -> None:
    rows = UnitRows(given, "X").tensor()
    assert rows.dtype == torch.float32
    assert not rows.requires_grad
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(20), atol=1e-4, rtol=0)
    torch.testing.assert_close(rows, torch.from_numpy(unit()), atol=4e-3, rtol=0)


def test_rows_of_unit_norm_stay_as_they_are_to_the_bit() -> None:
    values = unit()
    assert torch.equal(UnitRows(values, "X").tensor(), torch.from_numpy(values))
    nearly = values * np.float32(1.00005)
    assert torch.equal(UnitRows(nearly, "X").tensor(), torch.from_numpy(nearly))
    further = UnitRows(values * np.float32(1.01), "X").tensor()
    torch.testing.assert_close(further, torch.from_numpy(values), atol=1e-6, rtol=0)


def test_backward_and_read_only_arrays_are_read() -> None:
    values = unit()
    assert torch.equal(UnitRows(values[::-1], "X").tensor(), torch.from_numpy(values).flip(0))
    values.flags.writeable = False
    assert torch.equal(UnitRows(values, "X").tensor(), torch.tensor(values))


def test_an_array_on_disk_is_mapped_and_not_copied(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", unit().astype(np.float16))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    rows = UnitRows(mapped, "X")
    assert rows.values.data_ptr() == mapped.ctypes.data
    assert torch.equal(rows.tensor(), UnitRows(np.array(mapped), "X").tensor())
    writable = unit()
    assert as_tensor(writable).data_ptr() == writable.ctypes.data


def test_one_row_is_one_row_and_numbers_may_be_whole() -> None:
    assert UnitRows([0.6, 0.8], "X").tensor().tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]
    with pytest.warns(UserWarning, match="norms from 5 to 5"):
        assert UnitRows([[3, 4]], "X").tensor()[0].tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("factor", [0.5, 1.03, 30.0])
def test_rows_that_were_never_normalised_are_scaled_and_told(factor: float) -> None:
    values = unit()
    values[4] *= np.float32(factor)
    low, high = min(1, factor), max(1, factor)
    with pytest.warns(UserWarning, match=f"X: the rows have norms from {low:.3g} to {high:.3g}"):
        rows = UnitRows(values, "X")
    torch.testing.assert_close(rows.tensor(), torch.from_numpy(unit()))


def test_no_warning_for_what_is_close_or_empty() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        UnitRows(unit() * np.float32(1.01), "X")
        assert UnitRows(np.zeros((0, 4)), "X").tensor().shape == (0, 4)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([["a", "b"]]), r"X: found <U1 values; expected numbers \(n, d\)"),
        (np.array([[1j, 1]]), r"X: found complex128 values; expected numbers"),
        (np.array([[None, 1]]), r"X: found object values; expected numbers"),
        (torch.ones(2, 2, dtype=torch.long), r"X: found torch.int64 values; expected floats"),
        (np.ones((2, 2, 2)), r"X: found the shape \(2, 2, 2\); expected \(n, d\)"),
        (np.ones((2, 0)), r"X: found the shape \(2, 0\); expected \(n, d\)"),
        (np.float64(1), r"X: found the shape \(\); expected \(n, d\)"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(values: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        UnitRows(values, "X")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, "zeros"])
@pytest.mark.parametrize("row", [0, 7, BLOCK + 3])
def test_a_row_that_has_no_direction_is_named(bad: float | str, row: int) -> None:
    values = unit(BLOCK + 9, 3)
    if bad == "zeros":
        values[row] = 0
    else:
        values[row, 1] = bad
    values[-1] = 0  # the first of them is named
    with pytest.raises(InputError, match=f"X: row {row} is NaN, infinite or all zeros; expected"):
        UnitRows(values, "X")


def test_equal_rows_have_equal_checksums_and_others_do_not() -> None:
    values = matrix()
    values[11] = values[3]
    sums = Rows(torch.from_numpy(values)).checksums()
    assert sums[11] == sums[3]
    assert len(set(sums.tolist())) == 19
    assert sums.tolist() == [zlib.crc32(row.tobytes()) for row in values]


def test_a_row_is_the_same_in_any_type_it_is_stored_in() -> None:
    halves = unit().astype(np.float16)
    sums = [
        UnitRows(halves.astype(kind), "X").checksums().tolist()
        for kind in (np.float16, np.float32, np.float64)
    ]
    assert sums[0] == sums[1] == sums[2]
