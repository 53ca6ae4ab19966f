"""Images to embed: where they lie, in a fixed order, one after the other.

The path decides the kind of source: a Parquet file of encoded images, a folder
`train/CLASS/*` and `test/CLASS/*`, or a card (.yaml) of a hub or torchvision data set or of one
that was downloaded by hand. The rows (id, split, label, class name) are known at once; pixels are
read as they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from infopursuit.embeddings.image_rows import (
    ROWS,
    SPLITS,
    checked_image_rows,
    labels_of,
    read_image_rows,
    spelled,
)
from infopursuit.embeddings.image_source import ImageSource, file_stamp, source_of_files
from infopursuit.errors import InputError
from infopursuit.tables import EMBEDDING

READ_ROWS = 64


def open_image_source(path: str | Path, classes: Sequence[str]) -> ImageSource:
    """The data set at `path`, whose classes in the order of the labels are `classes`.

    Raises:
        InputError: the path is no such source, or its rows do not fit the classes.
    """
    path = Path(path)
    if path.is_dir():
        return _folder(path, classes)
    if path.suffix == ".parquet":
        return _table(path, classes)
    if path.suffix in (".yaml", ".yml"):
        # Some cards lead to heavy imports that the other sources do without.
        from infopursuit.embeddings.image_cards import open_image_card

        return open_image_card(path, classes)
    found = "a file" if path.exists() else "nothing"
    raise InputError(
        f"{path}: expected images as a Parquet file, a folder or a card (.yaml), found {found}"
    )


def has_embeddings(path: str | Path) -> bool:
    """Whether `path` is a Parquet file of images that are embedded already."""
    path = Path(path)
    if path.suffix != ".parquet" or not path.is_file():
        return False
    try:
        return EMBEDDING in pq.read_schema(path).names
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({error})") from error


def _table(path: Path, classes: Sequence[str]) -> ImageSource:
    rows = read_image_rows(path, classes)
    field = pq.read_schema(path)
    if "image" not in field.names:
        raise InputError(
            f"{path}: no column 'image' or 'embedding'; expected encoded or embedded images"
        )
    kind = field.field("image").type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise InputError(f"{path}: column 'image' is {kind}; expected binary, encoded images")
    return ImageSource(str(path), rows, file_stamp(path), lambda start: _stored(path, start))


def _stored(path: Path, start: int) -> Iterator[bytes | None]:
    """The encoded images of a Parquet file, holding a few at a time."""
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


def _folder(path: Path, classes: Sequence[str]) -> ImageSource:
    labels = labels_of(path, classes)
    columns: dict[str, list[object]] = {name: [] for name in ROWS.names}
    files: list[Path] = []
    for split in SPLITS:
        folders: dict[int, Path] = {}
        if not (path / split).is_dir():
            raise InputError(f"{path}: no folder {split!r}; expected {split}/CLASS/IMAGE")
        for folder in sorted(_visible(path / split)):
            label = labels.get(spelled(folder.name))
            if label is None or label in folders or not folder.is_dir():
                raise InputError(
                    f"{folder}: no class has this name; expected one folder for each class"
                )
            folders[label] = folder
        for label in sorted(folders):
            for file in sorted(_files(folders[label])):
                files.append(file)
                columns["id"].append(file.relative_to(path).as_posix())
                columns["split"].append(split)
                columns["label"].append(label)
                columns["class_name"].append(classes[label])
    rows = checked_image_rows(path, pa.table(columns, schema=ROWS), classes)
    return source_of_files(path, rows, files)


def _files(folder: Path) -> Iterator[Path]:
    """All files below a folder; a link that leads nowhere is one too, and becomes a rejection."""
    for path in _visible(folder):
        if path.is_dir():
            yield from _files(path)
        else:
            yield path


def _visible(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if not path.name.startswith("."))
