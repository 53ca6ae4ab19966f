"""Lists of pictures: CSV files with a column of paths, and perhaps of classes and splits.

    path,label,split
    train/0.png,cat,train

The columns may have other names: that of paths is known by its cells, which end as pictures do.
Paths are relative to the folder of the file.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from infopursuit.core.csv_tables import read_csv_table
from infopursuit.core.errors import InputError
from infopursuit.core.files import is_file
from infopursuit.datasets.decoding import suffixes
from infopursuit.datasets.embedding_files import CLASSES, roles
from infopursuit.datasets.labels import class_labels
from infopursuit.datasets.samples import Samples, of_list

logger = logging.getLogger(__name__)

LISTS = (".csv", ".tsv")
# Columns that say something else of a picture than what it shows.
ABOUT = ("id", "split", *CLASSES)
# Bytes by which a list of pictures is known.
HEAD = 1 << 16


def is_picture_list(path: Path) -> bool:
    """Return whether a CSV file names pictures, rather than being a table to ask about."""
    if path.suffix.lower() not in LISTS or not is_file(path):
        return False
    with suppress(InputError), path.open("rb") as file:  # whoever reads the file says what is wrong
        head = file.read(HEAD)
        head = head if len(head) < HEAD else head[: head.rfind(b"\n") + 1]
        table = read_csv_table(path, content=head)
        return _paths({name: table.column(name) for name in table.names}, path.parent) is not None
    return False


def _paths(columns: Mapping[str, Sequence[str]], folder: Path) -> str | None:
    """Return the column whose cells name pictures.

    They have to be there, unless there is little else to ask about.
    """
    endings = tuple(suffixes() - {""})
    for name, cells in columns.items():
        known = [cell for cell in cells if cell]
        others = [each for each in columns if each != name and each.casefold() not in ABOUT]
        if not known or not all(cell.lower().endswith(endings) for cell in known):
            continue
        if len(others) < 2 or any(is_file(folder / cell) for cell in known):
            return name
    return None


def read_picture_list(path: Path, label: str | None = None) -> Samples:
    """Read the pictures of a list, with their classes and splits if it has some.

    Args:
        path: the file.
        label: the column of the classes; None for one called so, or the only other one.

    Raises:
        InputError: a row has no path, a picture is there twice, or none is there at all.
    """
    table = read_csv_table(path, expected="expected a list of pictures")
    columns = {name: table.column(name) for name in table.names}
    of_paths = _paths(columns, path.parent)
    if of_paths is None:
        raise InputError(
            f"{path}: no column of paths that end as pictures do, such as train/0.png; found "
            f"{', '.join(columns)}"
        )
    names, at = columns[of_paths], {name.casefold(): name for name in columns}
    others = [name for name in columns if name != of_paths and name.casefold() not in ABOUT]
    named = [at[each] for each in CLASSES if each in at] or (others if len(others) == 1 else [])
    chosen = named[0] if label is None and named else label
    if "" in names:
        raise InputError(f"{table.where(names.index(''))}: no {of_paths}; expected a value")
    files = [path.parent / name for name in names]
    first: dict[str, int] = {}
    for row, file in enumerate(files):
        if first.setdefault(os.path.normpath(file), row) != row:
            raise InputError(
                f"{table.where(row)}: the picture {names[row]!r} is there twice; expected one row "
                "for each"
            )
    missing = [name for name, file in zip(names, files, strict=True) if not is_file(file)]
    if missing:
        what = f"{len(missing)} of {len(files)} images are not there, the first is {missing[0]!r}"
        if len(missing) == len(files):
            raise InputError(f"{path}: {what}; expected paths relative to the folder of the file")
        logger.warning("%s: %s", path, what)
    if unused := [name for name in others if name != chosen]:
        logger.info("%s: a list of pictures; not used: %s", path, ", ".join(unused))
    classes = None if chosen is None else class_labels(path, table.column(chosen))
    samples = Samples(str(path), names, classes, pictures=of_list(files))
    if "split" not in at:
        return samples
    splits = roles(path, columns[at["split"]])
    rows = [row for row, split in enumerate(splits) if split is not None]
    return replace(samples, splits=splits).subset(rows)
