"""What is known of each image beside its pixels: id, split, label, class name; and its checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from infopursuit.errors import InputError
from infopursuit.tables import IMAGES, read_table

SPLITS = ("train", "test")
COLUMNS = ("id", "split", "label", "class_name")
ROWS = pa.schema([field for field in IMAGES.columns if field.name in COLUMNS])


def read_image_rows(path: Path, classes: Sequence[str]) -> pa.Table:
    """The checked columns id, split, label, class_name of a Parquet file of images."""
    return checked_image_rows(path, read_table(path, IMAGES, columns=COLUMNS), classes)


def checked_image_rows(where: str | Path, rows: pa.Table, classes: Sequence[str]) -> pa.Table:
    """Check the rows of a data set against its classes, of which row i has label i.

    Class names agree where they differ in nothing but underscores for blanks; the result has the
    spelling of `classes`.

    Raises:
        InputError: an id occurs twice, a split is neither train nor test or is empty, a label has
            no class name, or a class name is not the label's.
    """
    splits: list[str] = rows.column("split").to_pylist()
    for row, split in enumerate(splits):
        if split not in SPLITS:
            raise InputError(
                f"{where}: the split of row {row} is {split!r}; expected 'train' or 'test'"
            )
    check_splits(where, splits)
    first: dict[str, int] = {}
    for row, name in enumerate(rows.column("id").to_pylist()):
        if first.setdefault(name, row) != row:
            raise InputError(
                f"{where}: the id {name!r} of row {row} is also that of row {first[name]}; "
                "expected distinct ids"
            )
    labels = rows.column("label").to_numpy()
    outside = (labels < 0) | (labels >= len(classes))
    if outside.any():
        row = int(outside.argmax())
        raise InputError(
            f"{where}: the label {labels[row]} of row {row} has no class name; "
            f"expected 0 to {len(classes) - 1}, for {len(classes)} classes"
        )
    expected = np.array(list(classes), dtype=object)[labels].tolist()
    names: list[str] = rows.column("class_name").to_pylist()
    for row, (name, wanted) in enumerate(zip(names, expected, strict=True)):
        if spelled(name) != spelled(wanted):
            raise InputError(
                f"{where}: row {row} has the class name {name!r} and the label {labels[row]}, "
                f"which is the class {wanted!r}; expected one class for both"
            )
    position = rows.schema.get_field_index("class_name")
    column = pa.array(expected, pa.string())
    return rows.set_column(position, ROWS.field("class_name"), column).select(COLUMNS)


def check_splits(where: str | Path, splits: Sequence[str]) -> None:
    """Raise InputError unless both splits have images."""
    for split in SPLITS:
        if split not in splits:
            raise InputError(f"{where}: the split {split!r} is empty; expected images in both")


def spelled(name: str) -> str:
    """A class name as it is compared: folders and archives write underscores for blanks."""
    return name.replace("_", " ")
