"""Data sets whose images are embedded already: check, bring to unit norm, write in our schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from infopursuit.core.array_files import array_names, map_array, read_arrays
from infopursuit.core.clip_names import clip_of
from infopursuit.core.embeddings import unit_rows
from infopursuit.core.errors import InputError
from infopursuit.core.shard_files import is_sharded
from infopursuit.core.table_blocks import table_blocks
from infopursuit.core.tables import (
    EMBEDDED_IMAGES,
    EMBEDDING,
    REJECTED_IMAGES,
    embedding_array,
    embedding_matrix,
    read_table,
    table_writer,
    write_table,
)
from infopursuit.datasets.image_source import (
    COLUMNS,
    ROWS,
    SPLITS,
    check_class_names,
    checked_image_rows,
    labels_of,
    spelled,
)

BLOCK = 65536
# Arrays that every .npz file, or every folder of .npy files, has.
ARRAYS = tuple(f"{split}_{what}" for split in SPLITS for what in ("embeddings", "labels"))
OPTIONAL = ("class_names", "train_ids", "test_ids")


class Embedded(NamedTuple):
    """Rows as a data set has them.

    Attributes:
        rows: id, split, label, class_name of all n images, checked.
        blocks: reads their embeddings, one (m, d) array of at most BLOCK rows after the other.
        clip: the CLIP that the file says it comes from, None where it does not say.
    """

    rows: pa.Table
    blocks: Callable[[], Iterator[np.ndarray]]
    clip: str | None


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
        classes: class names in the order of the labels.
        out: table to write.
        rejected: Parquet file to write, without rows: embeddings are never skipped.
        width: width d of the CLIP that embeds the texts; the images must lie in its space.
        clip: its name, None where that is not known.
        shard_rows: rows of each file of `out`, a folder; None for one file.

    Returns:
        Numbers of images read and written.

    Raises:
        InputError: rows do not fit the classes, an embedding is missing, NaN, infinite or zero, or
            the embeddings have another width than the CLIP or say that they are of another one.
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
) -> Embedded:
    """The checked rows of precomputed embeddings; these themselves are checked as they are read.

    The arguments are those above.

    Raises:
        InputError: rows do not fit the classes, or the embeddings have another width than the CLIP
            (where `blocks` finds it) or say that they are of another one.
    """
    arrays = path.suffix != ".parquet" and not is_sharded(path)
    found = (_numpy if arrays else _parquet)(path, classes)

    def blocks() -> Iterator[np.ndarray]:
        for block in found.blocks():
            if block.shape[1] != width:
                raise InputError(
                    f"{path}: embeddings of width {block.shape[1]}, but `clip` has width {width}; "
                    "expected one CLIP for both"
                )
            yield block

    if found.clip is not None and clip is not None and found.clip != clip:
        raise InputError(
            f"{path}: embedded by {found.clip}, but `clip` is {clip}; expected one CLIP for both"
        )
    return found._replace(blocks=blocks)


def _parquet(path: Path, classes: Sequence[str]) -> Embedded:
    rows = checked_image_rows(path, read_table(path, EMBEDDED_IMAGES, COLUMNS), classes)

    def blocks() -> Iterator[np.ndarray]:
        for file, start, table in table_blocks(path, EMBEDDED_IMAGES, [EMBEDDING], BLOCK, True):
            yield embedding_matrix(table, file, first_row=start)

    return Embedded(rows, blocks, clip_of(path))


def _numpy(path: Path, classes: Sequence[str]) -> Embedded:
    arrays = _arrays(path)
    if "class_names" in arrays:
        check_class_names(path, [str(name) for name in arrays["class_names"]], classes, {})
    of_name = labels_of(path, classes)
    columns: dict[str, list[object]] = {name: [] for name in ROWS.names}
    parts = []
    for split in SPLITS:
        matrix = arrays[f"{split}_embeddings"]
        if matrix.ndim != 2 or matrix.dtype.kind != "f" or not matrix.shape[1]:
            raise InputError(
                f"{path}: {split}_embeddings is {matrix.dtype} of shape {matrix.shape}; expected "
                "floats (n, d)"
            )
        labels = _labels(path, f"{split}_labels", arrays[f"{split}_labels"], of_name)
        ids = arrays.get(f"{split}_ids")
        names = [f"{split}/{row:07d}" for row in range(len(matrix))] if ids is None else list(ids)
        for what, found in (("labels", labels), ("ids", names)):
            if len(found) != len(matrix):
                raise InputError(
                    f"{path}: {split}_{what} has {len(found)} values for the {len(matrix)} rows of "
                    f"{split}_embeddings; expected one for each"
                )
        parts.append(matrix)
        columns["id"] += map(str, names)
        columns["split"] += [split] * len(matrix)
        columns["label"] += labels
        columns["class_name"] += [
            classes[label] if 0 <= label < len(classes) else "" for label in labels
        ]
    rows = checked_image_rows(path, pa.table(columns, schema=ROWS), classes)

    def blocks() -> Iterator[np.ndarray]:
        for part in parts:
            for start in range(0, len(part), BLOCK):
                yield part[start : start + BLOCK]

    return Embedded(rows, blocks, None)


def _labels(path: Path, name: str, labels: np.ndarray, of_name: dict[str, int]) -> list[int]:
    """Labels as numbers, given as such or as class names."""
    if labels.ndim == 1 and labels.dtype.kind in "iu":
        return labels.tolist()
    if labels.ndim != 1 or labels.dtype.kind != "U":
        raise InputError(
            f"{path}: {name} is {labels.dtype} of shape {labels.shape}; expected integers or class "
            "names (n,)"
        )
    for row, label in enumerate(labels.tolist()):
        if spelled(label) not in of_name:
            raise InputError(f"{path}: {name}: row {row} has the class {label!r}, which is none")
    return [of_name[spelled(label)] for label in labels.tolist()]


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file or of the .npy files of a folder, which stay on the disk."""
    if not path.exists():
        raise InputError(f"{path}: no such file; expected arrays {', '.join(ARRAYS)}")
    if path.is_dir():
        files = {name: path / f"{name}.npy" for name in (*ARRAYS, *OPTIONAL)}
        arrays = {name: map_array(file) for name, file in files.items() if file.is_file()}
        there = sorted(file.stem for file in path.glob("*.npy"))
    else:
        arrays = read_arrays(path, (*ARRAYS, *OPTIONAL))
        there = array_names(path)
    missing = [name for name in ARRAYS if name not in arrays]
    if missing:
        raise InputError(
            f"{path}: no array {missing[0]!r}; expected {', '.join(ARRAYS)}, found "
            f"{', '.join(there) or 'none'}"
        )
    for name in OPTIONAL:
        if name in arrays and arrays[name].ndim != 1:
            raise InputError(
                f"{path}: {name} has the shape {arrays[name].shape}; expected a list (n,)"
            )
    return arrays
