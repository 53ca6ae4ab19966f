"""Data sets of the pipeline whose images are embedded already: .npz, .npy and Parquet files.

`read_embedded_images` checks one against its class list, and `copy_embedded_images` writes it in
our schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from infopursuit.core.arrays import array_names, map_array, read_arrays, unit_rows
from infopursuit.core.errors import InputError
from infopursuit.core.tables import (
    EMBEDDED_IMAGES,
    EMBEDDING,
    REJECTED_IMAGES,
    clip_of,
    embedding_array,
    embedding_matrix,
    is_sharded,
    read_table,
    table_blocks,
    table_writer,
    write_table,
)
from infopursuit.datasets.embedding_files import ARRAYS, rows_of_split, texts_of
from infopursuit.datasets.image_source import (
    COLUMNS,
    SPLITS,
    check_class_names,
    checked_image_rows,
    image_rows,
    labels_of,
    spelled,
)

BLOCK = 65536
OPTIONAL = ("class_names", "train_ids", "test_ids")


class EmbeddedImages(NamedTuple):
    """Images of a data set that are embedded already."""

    rows: pa.Table  # id, split, label, class_name of all n images, checked
    # Reads their embeddings, one (m, d) array of at most BLOCK rows after the other.
    blocks: Callable[[], Iterator[np.ndarray]]
    clip: str | None  # the CLIP that the file says it comes from, None if it does not say


def copy_embedded_images(
    path: Path,
    classes: Sequence[str],
    out: Path,
    rejected: Path,
    width: int,
    clip: str | None,
    shard_rows: int | None = None,
) -> tuple[int, int]:
    """Copy precomputed embeddings to `out` (EMBEDDED_IMAGES), in their order, with unit norm.

    Args:
        path: a Parquet file or a folder of such shards, an .npz file or a folder of .npy files, see
            `infopursuit.datasets.open_images`.

    Returns:
        Numbers of images read and written.
    """
    rows, blocks, name = read_embedded_images(path, classes, width, clip)
    write_table(rejected, REJECTED_IMAGES, {"id": [], "reason": []})
    arrow = EMBEDDED_IMAGES.arrow(width, name)
    first = 0
    shards = None if shard_rows is None else (len(rows), shard_rows)
    with table_writer(out, EMBEDDED_IMAGES, width, name, shards) as writer:
        for block in blocks():
            unit = unit_rows(block, str(path), first)
            of_block = rows.slice(first, len(block))
            arrays = [of_block.column(column).combine_chunks() for column in COLUMNS]
            arrays.append(embedding_array(unit))
            writer.write_table(pa.Table.from_arrays(arrays, schema=arrow))
            first += len(block)
    return len(rows), len(rows)


def read_embedded_images(
    path: Path, classes: Sequence[str], width: int, clip: str | None
) -> EmbeddedImages:
    """Check the rows of precomputed embeddings; these themselves are checked as they are read.

    The arguments are those above.
    """
    arrays = path.suffix != ".parquet" and not is_sharded(path)
    images = (_of_arrays if arrays else _of_table)(path, classes)

    def blocks() -> Iterator[np.ndarray]:
        for block in images.blocks():
            if block.shape[1] != width:
                raise InputError(
                    f"{path}: embeddings of width {block.shape[1]}, but `clip` has width {width}; "
                    "expected one CLIP for both"
                )
            yield block

    if images.clip is not None and clip is not None and images.clip != clip:
        raise InputError(
            f"{path}: embedded by {images.clip}, but `clip` is {clip}; expected one CLIP for both"
        )
    return images._replace(blocks=blocks)


def _of_table(path: Path, classes: Sequence[str]) -> EmbeddedImages:
    rows = checked_image_rows(path, read_table(path, EMBEDDED_IMAGES, COLUMNS), classes)

    def blocks() -> Iterator[np.ndarray]:
        for file, start, table in table_blocks(path, EMBEDDED_IMAGES, [EMBEDDING], BLOCK, True):
            yield embedding_matrix(table, file, first_row=start)

    return EmbeddedImages(rows, blocks, clip_of(path))


def _of_arrays(path: Path, classes: Sequence[str]) -> EmbeddedImages:
    arrays = _arrays(path)
    if "class_names" in arrays:
        names = texts_of(arrays.pop("class_names"))
        check_class_names(path, list(map(str, names)), classes)
    numbers = labels_of(path, classes)
    ids, splits, labels, parts = [], [], [], []
    for split in SPLITS:
        part = rows_of_split(path, arrays, split)
        assert part is not None  # `_arrays` has seen to it
        rows, of_split = part
        n = len(rows)
        if rows.dtype.kind != "f" or not rows.shape[1] or of_split.dtype.kind not in "iuU":
            raise InputError(
                f"{path}: {split}_embeddings is {rows.dtype} {rows.shape} and {split}_labels "
                f"{of_split.dtype}; expected floats (n, d) and integers or class names (n,)"
            )
        names = arrays.get(f"{split}_ids", [f"{split}/{row:07d}" for row in range(n)])
        if len(names) != n:
            raise InputError(
                f"{path}: {split}_ids has {len(names)} values for the {n} rows of "
                f"{split}_embeddings; expected one for each"
            )
        ids += map(str, names)
        splits += [split] * n
        for row, label in enumerate(of_split.tolist()):
            if isinstance(label, str) and spelled(label) not in numbers:
                raise InputError(
                    f"{path}: {split}_labels: row {row} has the class {label!r}; expected one of "
                    f"the class list, such as {classes[0]!r}"
                )
            labels.append(numbers[spelled(label)] if isinstance(label, str) else label)
        parts.append(rows)

    def blocks() -> Iterator[np.ndarray]:
        for part in parts:
            for start in range(0, len(part), BLOCK):
                yield part[start : start + BLOCK]

    return EmbeddedImages(image_rows(path, ids, splits, labels, classes), blocks, None)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    if not path.exists():
        raise InputError(f"{path}: no such file; expected arrays {', '.join(ARRAYS)}")
    if path.is_dir():
        files = {name: path / f"{name}.npy" for name in (*ARRAYS, *OPTIONAL)}
        arrays = {name: map_array(file) for name, file in files.items() if file.is_file()}
        names = sorted(file.stem for file in path.glob("*.npy"))
    else:
        arrays, names = read_arrays(path, (*ARRAYS, *OPTIONAL)), array_names(path)
    missing = [name for name in ARRAYS if name not in arrays]
    if missing:
        raise InputError(
            f"{path}: no array {missing[0]!r}; expected {', '.join(ARRAYS)}, found "
            f"{', '.join(names) or 'none'}"
        )
    for name in OPTIONAL:
        if name in arrays and arrays[name].ndim != 1:
            raise InputError(
                f"{path}: {name} has the shape {arrays[name].shape}; expected a list (n,)"
            )
    return arrays
