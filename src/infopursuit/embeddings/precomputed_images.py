"""Data sets whose images are embedded already: check, bring to unit norm, write in our schema."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from infopursuit.embeddings.clip import Clip
from infopursuit.embeddings.image_rows import COLUMNS, checked_image_rows
from infopursuit.embeddings.unit_rows import unit_rows
from infopursuit.errors import InputError
from infopursuit.tables import (
    EMBEDDED_IMAGES,
    REJECTED_IMAGES,
    clip_of,
    embedding_array,
    embedding_matrix,
    read_table,
    table_writer,
    write_table,
)

BLOCK = 65536


def copy_embedded_images(
    path: Path, classes: Sequence[str], out: Path, rejected: Path, clip: Clip
) -> tuple[int, int]:
    """Copy precomputed embeddings (EMBEDDED_IMAGES), in their order, with unit norm.

    Args:
        path: Parquet file (id, split, label, class_name, embedding).
        classes: class names in the order of the labels.
        out: Parquet file to write.
        rejected: Parquet file to write, without rows: embeddings are never skipped.
        clip: what embeds the texts; the images must lie in its space.

    Returns:
        Numbers of images read and written.

    Raises:
        InputError: rows do not fit the classes, an embedding is missing, NaN, infinite or zero, or
            the embeddings have another width than `clip` or say that they are of another one.
    """
    table = read_table(path, EMBEDDED_IMAGES)
    rows = checked_image_rows(path, table.select(COLUMNS), classes)
    matrix = embedding_matrix(table, path)
    width, name = matrix.shape[1], clip_of(path)
    if width != clip.width:
        raise InputError(
            f"{path}: embeddings of width {width}, but `clip` has width {clip.width}; "
            "expected one CLIP for both"
        )
    if name is not None and clip.name is not None and name != clip.name:
        raise InputError(
            f"{path}: embedded by {name}, but `clip` is {clip.name}; expected one CLIP for both"
        )
    write_table(rejected, REJECTED_IMAGES, {"id": [], "reason": []})
    arrow = EMBEDDED_IMAGES.arrow(width, name)
    with table_writer(out, EMBEDDED_IMAGES, width, name) as writer:
        for start in range(0, len(rows), BLOCK):
            part = rows.slice(start, BLOCK)
            unit = unit_rows(matrix[start : start + BLOCK], str(path))
            arrays = [part.column(column).combine_chunks() for column in COLUMNS]
            arrays.append(embedding_array(unit))
            writer.write_table(pa.Table.from_arrays(arrays, schema=arrow))
    return len(rows), len(rows)
