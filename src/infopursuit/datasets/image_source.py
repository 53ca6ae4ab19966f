"""A data set of images: its checked rows (id, split, label, class name), pixels when asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from infopursuit.core.errors import InputError
from infopursuit.core.names import composed
from infopursuit.core.tables import IMAGES
from infopursuit.datasets.decoding import Encoded

SPLITS = ("train", "test")
# The words by which splits are called, and those that say nothing beside them.
WORDS = {
    **dict.fromkeys(("train", "training", "trainval"), "train"),
    **dict.fromkeys(("test", "testing", "eval", "evaluation"), "test"),
    **dict.fromkeys(("val", "valid", "validation", "dev", "development"), "validation"),
}
FILLERS = ("set", "data", "dataset", "images", "imgs", "split", "folder")
_FUSED = re.compile(rf"({'|'.join(WORDS)})(?:{'|'.join(FILLERS)})")
# Classes that a message names.
LISTED = 5
COLUMNS = ("id", "split", "label", "class_name")
# Images that are in memory at a time.
READ_ROWS = 64
# Rows whose strings are Python's at a time: 100 million would take more than 10 GB.
AT_ONCE = 65536
ROWS = pa.schema([field for field in IMAGES.columns if field.name in COLUMNS])


@dataclass(frozen=True)
class ImageSource:
    """A data set of images."""

    where: str  # the path the user gave, for messages
    rows: pa.Table  # id, split, label, class_name of all n images, checked
    stamp: str  # changes when the images do
    images: Callable[[int], Iterator[Encoded]]  # the images from a row to the end


def source_of_files(where: str | Path, rows: pa.Table, files: Sequence[Path]) -> ImageSource:
    """Return the data set whose row i is the image file i; a broken link is a file too."""
    return ImageSource(str(where), rows, files_stamp(files), lambda start: iter(files[start:]))


def streamed(
    pictures: Callable[[Sequence[int]], Sequence[Encoded]], count: int
) -> Callable[[int], Iterator[Encoded]]:
    """Return what gives n images from a row to the end, of what gives those of some rows."""

    def images(start: int) -> Iterator[Encoded]:
        for first in range(start, count, READ_ROWS):
            yield from pictures(range(first, min(first + READ_ROWS, count)))

    return images


def files_stamp(files: Iterable[Path]) -> str:
    """Return size and time of change of each file, or that it is missing."""
    return " ".join(map(_stamp_or_missing, files))


def file_stamp(path: Path) -> str:
    """Return size and time of change: cheap, and enough to tell an edited file from the old."""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def file_within(where: object, file: Path, folders: Sequence[Path]) -> Path:
    """Return a file that a data set names; InputError unless it lies in one of the folders.

    The author of a data set could name any file of this machine, for its page to show.
    """
    if not any(file.resolve().is_relative_to(folder.resolve()) for folder in folders):
        expected = " or ".join(map(str, folders))
        raise InputError(f"{where}: the image {file} is not in it; expected files in {expected}")
    return file


def _stamp_or_missing(path: Path) -> str:
    try:
        return file_stamp(path)
    except (OSError, ValueError):  # nothing there, or a name that no file can have
        return "missing"


def checked_image_rows(where: str | Path, rows: pa.Table, classes: Sequence[str]) -> pa.Table:
    """Check the rows of a data set against its classes, in the order of their labels.

    Class names agree if they are `spelled` the same; the result has the spelling of `classes`.
    """
    splits = rows.column("split").unique().to_pylist()
    for split in splits:
        if split not in SPLITS:
            row = pc.index(rows.column("split"), split).as_py()
            raise InputError(
                f"{where}: the split of row {row} is {split!r}; expected 'train' or 'test'"
            )
    check_splits(where, splits)
    _check_distinct(where, rows.column("id"))
    labels = rows.column("label").to_numpy()
    outside = (labels < 0) | (labels >= len(classes))
    if outside.any():
        row = int(outside.argmax())
        hint = "; -1 says that an image has no label" if labels[row] == -1 else ""
        raise InputError(
            f"{where}: the label {labels[row]} of row {row} has no class name, as those of "
            f"{outside.sum()} of {len(labels)} rows; expected 0 to {len(classes) - 1}, for "
            f"{len(classes)} classes{hint}"
        )
    codes = rows.column("class_name").dictionary_encode().combine_chunks()
    names = codes.dictionary.to_pylist()
    # Each pair of a label and a name is checked once, at its first row.
    pairs = labels.astype(np.int64) * len(names) + codes.indices.to_numpy()
    for row in np.sort(np.unique(pairs, return_index=True)[1]).tolist():
        name, wanted = names[codes.indices[row].as_py()], classes[labels[row]]
        if spelled(name) != spelled(wanted):
            raise InputError(
                f"{where}: row {row} has the class name {name!r} and the label {labels[row]}, "
                f"which is the class {wanted!r}; expected one class for both"
            )
    column = pa.array(list(classes), pa.string()).take(pa.array(labels))
    position = rows.schema.get_field_index("class_name")
    return rows.set_column(position, ROWS.field("class_name"), column).select(COLUMNS)


def image_rows(
    where: str | Path,
    ids: Sequence[str],
    splits: Sequence[str],
    labels: Sequence[int],
    classes: Sequence[str],
) -> pa.Table:
    """Return the checked rows of a data set, from one value of each column per image."""
    names = [classes[label] if 0 <= label < len(classes) else "" for label in labels]
    table = pa.table(dict(zip(COLUMNS, (ids, splits, labels, names), strict=True)), schema=ROWS)
    return checked_image_rows(where, table, classes)


def strings(column: pa.ChunkedArray) -> Iterator[str]:
    """Yield the values of a column of strings, of which few are Python's at a time."""
    for start in range(0, len(column), AT_ONCE):
        yield from column.slice(start, AT_ONCE).to_pylist()


def _check_distinct(where: str | Path, ids: pa.ChunkedArray) -> None:
    if len(ids.unique()) == len(ids):
        return
    first: dict[str, int] = {}
    for row, name in enumerate(strings(ids)):
        if first.setdefault(name, row) != row:
            raise InputError(
                f"{where}: the id {name!r} of row {row} is also that of row {first[name]}; "
                "expected distinct ids"
            )


def check_splits(where: str | Path, splits: Sequence[str]) -> None:
    """Raise InputError unless both splits have images."""
    for split in SPLITS:
        if split not in splits:
            raise InputError(f"{where}: the split {split!r} is empty; expected images in both")


def split_name(name: str) -> tuple[str, tuple[str, ...]] | None:
    """Return which split a name says, and its other words; None for the name of a class."""
    words = re.findall(r"[^\W\d_]+", composed(name).casefold())
    words = [fused[1] if (fused := _FUSED.fullmatch(word)) else word for word in words]
    roles = {WORDS[word] for word in words if word in WORDS}
    rest = tuple(word for word in words if word not in WORDS and word not in FILLERS)
    if roles == {"train", "validation"}:  # train_val
        roles = {"train"}
    return (roles.pop(), rest) if len(roles) == 1 else None


def classes_of_one_split(
    where: str | Path, train: Collection[Any], test: Collection[Any]
) -> Iterator[str]:
    """Say which classes only the training images have, and which only the test images."""

    def named(classes: set[Any]) -> str:
        few = sorted(map(str, classes))[:LISTED]
        more = f" and {len(classes) - LISTED} more" if len(classes) > LISTED else ""
        return f"{', '.join(map(repr, few))}{more}"

    of_train, of_test = set(train), set(test)
    count = len(of_train | of_test)
    if new := of_test - of_train:
        yield (
            f"{where}: {len(new)} of {count} classes have no training images, and their test "
            f"images are left out, also of the accuracy: {named(new)}"
        )
    if old := of_train - of_test:
        yield (
            f"{where}: {len(old)} of {count} classes have no test images, and the accuracy is "
            f"that of the others: {named(old)}"
        )


def check_class_names(
    where: str | Path,
    names: Sequence[str],
    classes: Sequence[str],
    renamed: Mapping[str, str] | None = None,
) -> None:
    """Compare the class names of a data set with the user's class list."""
    for label, (name, wanted) in enumerate(zip(names, classes, strict=False)):
        if spelled((renamed or {}).get(name, name)) != spelled(wanted):
            raise InputError(
                f"{where}: label {label} is {name!r} in the data set; expected the class "
                f"{wanted!r} of the class list (if both mean one class, `renamed` in the "
                "YAML file can say so)"
            )
    if len(names) != len(classes):
        raise InputError(
            f"{where}: the data set has {len(names)} classes; expected the {len(classes)} of the "
            "class list"
        )


def labels_of(where: str | Path, classes: Sequence[str]) -> dict[str, int]:
    """Return the label of each `spelled` class name; InputError if two are spelled the same."""
    labels: dict[str, int] = {}
    for label, name in enumerate(classes):
        other = labels.setdefault(spelled(name), label)
        if other != label:
            raise InputError(
                f"{where}: the classes {classes[other]!r} and {name!r} have one name but for "
                "case and punctuation; expected distinct names"
            )
    return labels


@lru_cache(maxsize=1 << 14)
def spelled(name: str) -> str:
    """Return a class name as it is compared: without its number, case, `_`, `-` and `/`.

    Folders and archives cannot keep to a spelling: `001.Black_footed_Albatross`, `Ram C-V Van`.
    """
    name = re.sub(r"^[0-9]+\.(?=[^0-9])", "", composed(name))
    return re.sub(r"[\s_/-]+", " ", name).strip().casefold()
