"""The one way in for what a person gives to a model: pictures, embeddings, or rows of a table.

photos/                   CLASS/IMAGE, or train/CLASS/IMAGE and test/CLASS/IMAGE, or images alone
new.jpg  'new/*.jpg'      images whose class is not known
images.parquet            columns image (encoded), embedding or both; class_name or label, id, split
images.npz  rows.npy      embeddings, without pictures; as `infopursuit fit` takes them
table.csv  table.parquet  to a model of a table: its columns, by their names, in any order
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from infopursuit.core.errors import InputError, writable
from infopursuit.core.names import is_systems
from infopursuit.core.tables import EMBEDDING
from infopursuit.datasets.embedded_files import (
    read_embeddings,
    read_given_table,
    read_rows,
    rows_alone,
)
from infopursuit.datasets.image_folders import image_files as pictures_below
from infopursuit.datasets.image_folders import read_image_folder
from infopursuit.datasets.image_source import SPLITS
from infopursuit.datasets.table_columns import Wanted
from infopursuit.datasets.table_files import read_table

logger = logging.getLogger("infopursuit")

TRAINING, TESTED = SPLITS
IMAGE = "image"
CLASSES = ("class_name", "label")
# Suffixes of files that hold rows rather than one picture.
ROWS = (".npz", ".npy", ".parquet")
TABLES = (".csv", ".tsv", ".parquet")

# Gives the pictures of some rows.
Pictures = Callable[[Sequence[int]], Sequence[Any]]


@dataclass(frozen=True)
class Given:
    """n images or rows as they were given.

    Attributes:
        where: for messages.
        ids: what explanations and pages call them.
        classes: the class of each: a name, a number, or None; None if no class is known.
        splits: `train` or `test`, of each; None if all are test images.
        pictures: gives those of some rows; None if there are none.
        rows: (n, d) embeddings, or the n rows of a table; None if a CLIP has to embed the pictures.
        clip: the CLIP that embeddings come from, None if it is not known.
        marks: what a model of a table remembers of each row; None of images.
    """

    where: str
    ids: list[str]
    classes: Sequence[Any] | None = None
    splits: list[str] | None = None
    pictures: Pictures | None = None
    rows: np.ndarray | pa.Table | None = None
    clip: str | None = None
    marks: list[bytes] | None = None

    def some(self, places: Sequence[int]) -> Any:
        """Return some of them as a model takes them: embeddings, rows of a table or pictures."""
        if self.rows is None:
            assert self.pictures is not None
            return list(self.pictures(places))
        if isinstance(self.rows, pa.Table):
            return self.rows.take(list(places))
        return self.rows[list(places)]


def is_rows(given: str, table: Wanted | None) -> bool:
    """Whether this is a file of rows, of embeddings or of a table, rather than pictures."""
    suffix = Path(given).suffix.lower()
    return suffix in ROWS or suffix in TABLES or table is not None


def read_given(given: str, table: Wanted | None = None) -> Given:
    """Read what a folder, a file or a pattern has; pictures stay on the disk.

    Args:
        given: as a person typed it.
        table: what the model takes if it asks about the columns of a table; None if it asks about
            images.
    """
    path = Path(given)
    if table is not None:
        return _of_table(path, table)
    if path.is_dir() and any(each.is_dir() for each in path.iterdir() if not is_systems(each.name)):
        folder = read_image_folder(path)
        ids = [writable(file.relative_to(path).as_posix()) for file in folder.pictures]
        return Given(given, ids, folder.labels, folder.splits, _of_list(folder.pictures))
    if path.suffix == ".parquet" and path.exists():
        return _of_parquet(path)
    if path.suffix == ".npz":
        return _of_arrays(path)
    if path.suffix == ".npy":
        rows = read_rows(path)
        return Given(given, _numbered(path, len(rows)), rows=rows)
    if path.suffix in TABLES:
        raise InputError(
            f"{given}: a table; the model asks about images: expected pictures or embeddings "
            f"({', '.join(ROWS)})"
        )
    files = image_files([given])
    ids = [writable(file.relative_to(path).as_posix() if path.is_dir() else file) for file in files]
    return Given(given, ids, pictures=_of_list(files))


def image_files(given: Sequence[str]) -> list[Path]:
    """List the files of files, folders (searched for images) and patterns, each once, in order."""
    if not given:
        raise InputError("no image is given; expected files, folders or patterns")
    files: list[Path] = []
    for each in given:
        path = Path(each)
        if path.is_dir():
            more = pictures_below(path)
        elif not path.exists() and set(each) & set("*?["):  # quoted, or on Windows
            pattern = path.expanduser()
            matching = Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))
            typed = [part for part in pattern.parts if is_systems(part)]
            more = sorted(
                file
                for file in matching
                if file.is_file()
                and all(
                    any(fnmatch(part, of) for of in typed)
                    for part in file.parts
                    if is_systems(part)
                )
            )
        else:
            files.append(path)
            continue
        if not more:
            raise InputError(f"{each}: no image there; expected at least one")
        files += more
    return list(dict.fromkeys(files))


def _numbered(path: Path, count: int) -> list[str]:
    return [f"{path.name}[{row}]" for row in range(count)]


def _of_list(pictures: Sequence[Any]) -> Pictures:
    return lambda rows: [pictures[row] for row in rows]


# -- files of embeddings --------------------------------------------------------------------


def _of_arrays(path: Path) -> Given:
    alone = rows_alone(path)
    if alone is not None:
        return Given(str(path), _numbered(path, len(alone)), rows=alone)
    train, test = read_embeddings(path)
    parts = [(TESTED, train)] if test is None else [(TRAINING, train), (TESTED, test)]
    return Given(
        str(path),
        [f"{split}[{row}]" for split, part in parts for row in range(len(part.labels))],
        [each for _, part in parts for each in part.labels.tolist()],
        [split for split, part in parts for _ in part.labels],
        rows=np.concatenate([part.rows for _, part in parts]),
    )


def _of_parquet(path: Path) -> Given:
    table = read_given_table(path, ("id", "split", *CLASSES), nulls=CLASSES)
    if not {IMAGE, EMBEDDING} & set(table.names):
        raise InputError(
            f"{path}: no column {IMAGE!r} or {EMBEDDING!r}; found {', '.join(table.names)}"
        )
    if IMAGE in table.names:
        kind = pq.read_schema(path).field(IMAGE).type
        if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
            raise InputError(f"{path}: image is {kind}; expected binary, encoded images")
    columns = table.columns
    odd = [split for split in columns.get("split", []) if split not in SPLITS]
    if odd:
        raise InputError(f"{path}: the split {odd[0]!r}; expected 'train' or 'test'")
    return Given(
        str(path),
        [str(each) for each in columns.get("id", _numbered(path, table.rows))],
        columns.get("class_name") or columns.get("label"),
        columns.get("split"),
        _of_column(path) if IMAGE in table.names else None,
        columns.get(EMBEDDING),
        table.clip,
    )


def _of_column(path: Path) -> Pictures:
    """Return what reads the encoded images of some rows, from their row groups alone."""

    def pictures(rows: Sequence[int]) -> list[Any]:
        wanted, images, first = set(rows), {}, 0
        try:
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    count = file.metadata.row_group(group).num_rows
                    here = wanted & set(range(first, first + count))
                    if here:
                        column = file.read_row_group(group, columns=[IMAGE]).column(IMAGE)
                        images |= {row: column[row - first].as_py() for row in here}
                    first += count
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path}: column {IMAGE!r} is damaged ({error})") from error
        return [images[row] for row in rows]

    return pictures


# -- files of tables ------------------------------------------------------------------------


def _of_table(path: Path, wanted: Wanted) -> Given:
    if path.suffix == ".npy" and wanted.columns is None:
        rows = read_rows(path)
        return Given(str(path), _numbered(path, len(rows)), rows=rows)
    if path.suffix.lower() not in TABLES:
        raise InputError(
            f"{path}: the model asks about the columns of a table; expected one "
            f"({', '.join(TABLES)})"
        )
    table = read_table(path)
    columns, label = wanted.columns, None
    others = {name.casefold(): name for name in table.names}
    if wanted.label is not None and wanted.label.casefold() in others:
        label = table.place(wanted.label)
    if columns is None:
        columns = [name for name in table.names if name != label]
        if len(columns) != wanted.width:
            raise InputError(
                f"{path}: {len(columns)} columns; the model was fitted on {wanted.width} without "
                "names"
            )
    found = [table.place(name) for name in columns]
    not_needed = [name for name in table.names if name not in {*found, label}]
    named_by = next(
        (name for name in not_needed if name == wanted.named_by),
        next((name for name in not_needed if table.names_rows(name)), None),
    )
    ignored = [name for name in not_needed if name != named_by]
    if ignored:
        logger.info("%s: columns that the model does not ask: %s", path, ", ".join(ignored))
    names = [f"row {row}" for row in range(len(table.values))]
    if named_by is not None:
        names = [text or name for text, name in zip(table.texts(named_by), names, strict=True)]
    values = table.values.select(found).rename_columns(list(columns))
    classes, marks = None if label is None else table.texts(label), table.marks(label)
    return Given(str(path), names, classes, rows=values, marks=marks)
