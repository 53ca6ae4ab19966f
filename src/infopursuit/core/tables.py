"""What every Parquet file of the pipeline holds: one schema a kind, read and written here.

A table is one file, or a folder of shards (`core.shard_files`), which are read in their order.
Embeddings are FixedSizeList<float16>[d], one unit-norm row per text or image. The name of the CLIP
that made them travels in the schema metadata (key `clip`), so that files of different spaces are
never mixed by accident. Files hold no time stamps: equal rows in equal order are equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from infopursuit.core.clip_names import CLIP_KEY
from infopursuit.core.embeddings import fixed_size_lists, is_list_of_floats
from infopursuit.core.errors import InputError
from infopursuit.core.shard_files import ShardWriter, remove_shards, shard_writer, table_files
from infopursuit.core.text_files import there
from infopursuit.core.whole_files import whole_file

EMBEDDING = "embedding"
ROW_GROUP = 16384  # rows; a reader that goes row group by row group holds no more at a time


@dataclass(frozen=True)
class TableSchema:
    """Columns of one kind of Parquet file; where `embedded`, a column `embedding` beside them."""

    what: str
    columns: tuple[pa.Field, ...]
    embedded: bool = False

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        return [field.name for field in self.columns] + ([EMBEDDING] if self.embedded else [])

    def arrow(self, width: int | None = None, clip: str | None = None) -> pa.Schema:
        """The arrow schema, with `width` d of the embeddings where the file has them."""
        fields = list(self.columns)
        if self.embedded:
            if width is None:
                raise ValueError(f"{self.what}: the width of the embeddings is needed")
            fields.append(pa.field(EMBEDDING, pa.list_(pa.field("element", pa.float16()), width)))
        return pa.schema(fields, metadata={CLIP_KEY: clip.encode()} if clip else None)


def _column(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


QUERIES = TableSchema(
    "texts of one corpus, a row for each caption and concept",
    (_column("text", pa.string()), pa.field("caption_id", pa.int64())),
)
ANSWERS = TableSchema(
    "answers of the language model, a row for each distinct caption",
    (
        _column("caption", pa.string()),
        _column("caption_ids", pa.list_(pa.int64())),
        _column("answer", pa.string()),
        _column("finish_reason", pa.string()),
    ),
)
REJECTED_LINES = TableSchema(
    "lines of answers that are no query, with the reason",
    (
        _column("caption", pa.string()),
        _column("line", pa.string()),
        _column("reason", pa.string()),
    ),
)
UNIVERSE = TableSchema(
    "texts of the universe with where they came from",
    (
        _column("text", pa.string()),
        _column("sources", pa.list_(pa.string())),
        _column("caption_ids", pa.list_(pa.int64())),
    ),
)
REJECTED_TEXTS = TableSchema(
    "texts that a filter of the universe dropped",
    (_column("text", pa.string()), _column("source", pa.string()), _column("reason", pa.string())),
)
KNOWLEDGE = TableSchema(
    "what is known of classes and texts: 1 true, 0.5 sometimes, 0 not; no row where it is unknown",
    (
        _column("class", pa.string()),
        _column("text", pa.string()),
        _column("value", pa.float32()),
    ),
)
REJECTED_KNOWLEDGE = TableSchema(
    "answers about classes and texts that could not be used, with the reason",
    (
        _column("class", pa.string()),
        _column("texts", pa.list_(pa.string())),
        _column("answer", pa.string()),
        _column("finish_reason", pa.string()),
        _column("reason", pa.string()),
    ),
)
EMBEDDED_TEXTS = TableSchema(
    "embedded texts of the universe",
    (_column("text", pa.string()), _column("source", pa.string())),
    embedded=True,
)
IMAGES = TableSchema(
    "encoded images with labels",
    (
        _column("id", pa.string()),
        _column("split", pa.string()),
        _column("label", pa.int32()),
        _column("class_name", pa.string()),
        _column("image", pa.binary()),
    ),
)
EMBEDDED_IMAGES = TableSchema(
    "embedded images with labels",
    (
        _column("id", pa.string()),
        _column("split", pa.string()),
        _column("label", pa.int32()),
        _column("class_name", pa.string()),
    ),
    embedded=True,
)
REJECTED_IMAGES = TableSchema(
    "images that could not be read, with the reason",
    (_column("id", pa.string()), _column("reason", pa.string())),
)
NEAR_COPIES = TableSchema(
    "test images that nearly equal a training image, each with the most similar one",
    (
        _column("id", pa.string()),
        _column("class_name", pa.string()),
        _column("train_id", pa.string()),
        _column("train_class_name", pa.string()),
        _column("cosine", pa.float32()),
        _column("copies", pa.int64()),
    ),
)
EMBEDDED_CLASSES = TableSchema(
    "embedded class names, for zero-shot; no rows where the CLIP cannot embed a new text",
    (_column("label", pa.int32()), _column("class_name", pa.string())),
    embedded=True,
)
PREDICTIONS = TableSchema(
    "predicted label of each test image after t = 0..T queries",
    (
        _column("id", pa.string()),
        _column("label", pa.int32()),
        _column("predicted", pa.list_(pa.int16())),
    ),
)


def read_table(
    path: str | Path, schema: TableSchema, columns: Sequence[str] | None = None
) -> pa.Table:
    """Read a Parquet file, or all shards of a folder, and check them against their schema.

    Columns beyond the schema are ignored, integer and string columns are cast where no value
    changes, embeddings may be any lists of floats, so that files made by others are welcome.

    Raises:
        InputError: the file is missing, is no Parquet file, lacks a column, holds a value of the
            wrong type or a null, or its embeddings are not lists of floats; or shards differ.
    """
    wanted = [name for name in schema.names if columns is None or name in columns]
    tables = []
    for file in table_files(path):
        with open_table(file, schema, wanted, any_lists=True):
            table = pq.read_table(file, columns=wanted)
            table.validate(full=True)  # a Parquet file may have strings that are no UTF-8
        for field in schema.columns:
            if field.name in wanted:
                table = checked_column(file, table, field)
        tables.append(table)
    try:
        return pa.concat_tables(tables)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"{path}: its shards have columns of different types or widths ({error})"
        ) from error


@contextmanager
def open_table(
    path: str | Path, schema: TableSchema, columns: Sequence[str], any_lists: bool = False
) -> Iterator[pq.ParquetFile]:
    """One Parquet file that has the given columns of its schema, to be read in batches.

    Embeddings are a fixed-size list, whose width is known at once, or with `any_lists` any list.

    Raises:
        InputError: as `read_table`, here or, for what Arrow cannot read, inside the context.
    """
    path = Path(path)
    if not there(path):
        raise InputError(f"{path}: no such file; expected a Parquet file of {schema.what}")
    try:
        # Read ahead, or without a buffer, a row group would be in memory as a whole.
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20) as file:
            found = file.schema_arrow
            for name in columns:
                if found.names.count(name) > 1:
                    raise InputError(f"{path}: several columns are called {name!r}; expected one")
            missing = [name for name in columns if name not in found.names]
            if missing:
                raise InputError(
                    f"{path}: no column {missing[0]!r}; expected columns "
                    f"{', '.join(schema.names)}, found {', '.join(found.names)}"
                )
            if EMBEDDING in columns:
                _check_embedding_type(path, found.field(EMBEDDING).type, any_lists)
            yield file
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({error})") from error


def checked_column(path: Path, table: pa.Table, field: pa.Field, first_row: int = 0) -> pa.Table:
    """The table with a column of the type of its schema.

    Raises:
        InputError: a value is missing, or of another type.
    """
    column = table.column(field.name)
    if column.null_count and not field.nullable:
        row = first_row + pc.index(column.is_null(), True).as_py()
        raise InputError(f"{path}: column {field.name!r} is empty in row {row}; expected a value")
    if column.type == field.type:
        return table
    try:
        cast = column.cast(field.type)
    except pa.ArrowException as error:
        raise InputError(
            f"{path}: column {field.name!r} is {column.type}; expected {field.type}"
        ) from error
    return table.set_column(table.schema.get_field_index(field.name), field, cast)


def _check_embedding_type(path: Path, kind: pa.DataType, any_lists: bool) -> None:
    if not (is_list_of_floats(kind) and (any_lists or pa.types.is_fixed_size_list(kind))):
        wanted = "a list of floats" if any_lists else "a fixed-size list of floats"
        raise InputError(f"{path}: column 'embedding' is {kind}; expected {wanted}")


def embedding_matrix(
    table: pa.Table, path: str | Path = "table", dtype: type | None = None, first_row: int = 0
) -> np.ndarray:
    """The `embedding` column as an (n, d) array without NaN or infinity.

    Args:
        table: a whole file, or some rows of it.
        path: the file that messages name.
        dtype: float type of the array; None keeps the one of the column.
        first_row: where in the file the table begins.

    Raises:
        InputError: a row is null, not finite, or all zeros, or has another width than the first.
    """
    column = table.column(EMBEDDING).combine_chunks()
    if column.null_count:
        row = first_row + pc.index(column.is_null(), True).as_py()
        raise InputError(f"{path}: the embedding of row {row} is empty; expected d numbers")
    column = fixed_size_lists(column, str(path), first_row)
    width = column.type.list_size
    matrix = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    if dtype is not None:
        with np.errstate(over="ignore"):  # infinity is found below
            matrix = matrix.astype(dtype, copy=False)
    for start in range(0, len(matrix), ROW_GROUP):
        block = matrix[start : start + ROW_GROUP].astype(np.float32)
        bad = ~np.isfinite(block).all(axis=1) | ~block.any(axis=1)
        if bad.any():
            row = first_row + start + int(bad.argmax())
            raise InputError(
                f"{path}: the embedding of row {row} is NaN, infinite or all zeros; "
                "expected finite numbers"
            )
    return matrix


def embedding_array(matrix: np.ndarray) -> pa.FixedSizeListArray:
    """An (n, d) matrix as a FixedSizeList<float16>[d] column."""
    values = pa.array(np.ascontiguousarray(matrix, dtype=np.float16).reshape(-1))
    kind = pa.list_(pa.field("element", pa.float16()), matrix.shape[1])
    return pa.FixedSizeListArray.from_arrays(values, type=kind)


@contextmanager
def table_writer(
    path: str | Path,
    schema: TableSchema,
    width: int | None = None,
    clip: str | None = None,
    shards: tuple[int, int] | None = None,
) -> Iterator[pq.ParquetWriter | ShardWriter]:
    """A writer whose table appears under its name only when it is complete.

    Args:
        path: of the file, or of the folder of shards; either may replace the other.
        schema: of the table.
        width: d of the embeddings, where the table has some.
        clip: what embedded them.
        shards: how many rows the whole table has and how many a shard; None for one file.
    """
    arrow = schema.arrow(width, clip)
    if shards is not None:
        with shard_writer(path, arrow, *shards) as writer:
            yield writer
        return
    with whole_file(path) as partial:
        with pq.ParquetWriter(partial, arrow, compression="zstd") as writer:
            yield writer
        remove_shards(Path(path))


def write_table(
    path: str | Path, schema: TableSchema, columns: Mapping[str, Any], clip: str | None = None
) -> None:
    """Write columns (lists or arrays; `embedding` as an (n, d) matrix) as one Parquet file."""
    arrays = dict(columns)
    width = None
    if schema.embedded:
        width = int(arrays[EMBEDDING].shape[1])
        arrays[EMBEDDING] = embedding_array(arrays[EMBEDDING])
    arrow = schema.arrow(width, clip)
    ordered = [arrays[name] for name in arrow.names]
    typed = [
        values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values, field.type)
        for values, field in zip(ordered, arrow, strict=True)
    ]
    with table_writer(path, schema, width, clip) as writer:
        writer.write_table(pa.Table.from_arrays(typed, schema=arrow), ROW_GROUP)
