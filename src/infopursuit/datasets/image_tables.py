"""Tables of images: a Parquet file that holds them encoded, a CSV file that names their files."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from infopursuit.core.errors import InputError
from infopursuit.datasets.image_source import (
    ROWS,
    SPLITS,
    ImageSource,
    checked_image_rows,
    file_stamp,
    labels_of,
    read_image_rows,
    source_of_files,
    spelled,
)

READ_ROWS = 64
CSV_COLUMNS = ("path", "label", "split")
NUMBER = re.compile("[0-9]{1,9}")


def open_parquet(path: Path, classes: Sequence[str]) -> ImageSource:
    """The data set of a Parquet file (id, split, label, class_name, image).

    Raises:
        InputError: a column is missing or of another type, or the rows do not fit the classes.
    """
    rows = read_image_rows(path, classes)
    schema = pq.read_schema(path)
    if "image" not in schema.names:
        raise InputError(
            f"{path}: no column 'image' or 'embedding'; expected encoded or embedded images"
        )
    kind = schema.field("image").type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise InputError(f"{path}: column 'image' is {kind}; expected binary, encoded images")
    return ImageSource(str(path), rows, file_stamp(path), lambda start: _stored(path, start))


def _stored(path: Path, start: int) -> Iterator[bytes | None]:
    """The encoded images of a Parquet file, holding a few at a time.

    Raises:
        InputError: the column is damaged.
    """
    try:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16) as file:
            first, groups = 0, []
            for group in range(file.num_row_groups):
                count = file.metadata.row_group(group).num_rows
                if groups or first + count > start:
                    groups.append(group)
                else:
                    first += count
            skip = start - first
            for batch in file.iter_batches(READ_ROWS, row_groups=groups, columns=["image"]):
                if skip < len(batch):
                    yield from batch.column(0)[skip:].to_pylist()
                skip = max(skip - len(batch), 0)
    except (pa.ArrowException, OSError) as error:  # pages are read when they are needed
        raise InputError(f"{path}: column 'image' is damaged ({error})") from error


def open_csv(path: Path, classes: Sequence[str]) -> ImageSource:
    """The data set of a CSV file with the columns path, label and split, in its order.

    A path is absolute or relative to the folder of the CSV file, and is the id of its image. A
    label is a class name, or the number of a class where no class is called that.

    Raises:
        InputError: the file is not UTF-8, a column or a value is missing, or a row has an unknown
            class or split.
    """
    of_name = labels_of(path, classes)
    columns: dict[str, list[object]] = {name: [] for name in ROWS.names}
    files: list[Path] = []
    for line, (name, given, split) in _csv_rows(path):
        label = of_name.get(spelled(given))
        if label is None and NUMBER.fullmatch(given) and int(given) < len(classes):
            label = int(given)
        if label is None:
            raise InputError(
                f"{path}: line {line}: no class {given!r}; expected a class name or a number from "
                f"0 to {len(classes) - 1}"
            )
        if split not in SPLITS:
            raise InputError(f"{path}: line {line}: split {split!r}; expected 'train' or 'test'")
        files.append(path.parent / name)
        for column, value in zip(ROWS.names, (name, split, label, classes[label]), strict=True):
            columns[column].append(value)
    rows = checked_image_rows(path, pa.table(columns, schema=ROWS), classes)
    source = source_of_files(path, rows, files)
    return ImageSource(source.where, rows, f"{file_stamp(path)} {source.stamp}", source.images)


def _csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Number of the line and the values of CSV_COLUMNS, of each row."""
    try:
        # Excel marks UTF-8 files at their beginning.
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            found = list(rows.fieldnames or ())
            missing = [name for name in CSV_COLUMNS if name not in found]
            if missing:
                raise InputError(
                    f"{path}: no column {missing[0]!r}; expected a first line with "
                    f"{','.join(CSV_COLUMNS)}, found {','.join(found) or 'nothing'}"
                )
            for row in rows:
                if None in row:
                    raise InputError(
                        f"{path}: line {rows.line_num}: more values than the {len(found)} columns "
                        "of the first line"
                    )
                values = [(row[name] or "").strip() for name in CSV_COLUMNS]
                if "" in values:
                    name = CSV_COLUMNS[values.index("")]
                    raise InputError(f"{path}: line {rows.line_num}: no {name}; expected a value")
                yield rows.line_num, values
    except (UnicodeDecodeError, csv.Error, OSError) as error:
        raise InputError(f"{path}: not a readable CSV file in UTF-8 ({error})") from error
