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

from infopursuit.core.arrays import unit_rows
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
from infopursuit.datasets.embedding_files import class_names_of, samples_of_arrays
from infopursuit.datasets.image_source import (
    COLUMNS,
    check_class_names,
    check_splits,
    checked_image_rows,
    image_rows,
    labels_of,
    spelled,
)

BLOCK = 65536


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
    parts = samples_of_arrays(path, "{split}/{row:07d}")
    check_splits(path, [split for part in parts for split in set(part.splits or ())])
    names = class_names_of(path)
    if names:
        check_class_names(path, names, classes)
    numbers = labels_of(path, classes)
    ids, splits, labels = [], [], []
    for part in parts:
        kind = part.rows.dtype
        if kind.kind != "f" or not part.rows.shape[1]:
            shape = part.rows.shape
            raise InputError(f"{path}: embeddings are {kind} {shape}; expected floats (n, d)")
        for row, (each, label) in enumerate(zip(part.ids, part.classes, strict=True)):
            number = numbers.get(spelled(str(label)), label if isinstance(label, int) else None)
            if number is None:
                raise InputError(
                    f"{path}: row {row} ({each}) has the class {label!r}; expected one of the "
                    f"class list, such as {classes[0]!r}"
                )
            labels.append(number)
        ids += part.ids
        splits += part.splits or []

    def blocks() -> Iterator[np.ndarray]:
        for part in parts:
            for start in range(0, len(part.rows), BLOCK):
                yield part.rows[start : start + BLOCK]

    return EmbeddedImages(image_rows(path, ids, splits, labels, classes), blocks, None)
