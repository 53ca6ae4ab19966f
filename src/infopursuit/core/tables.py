"""What every Parquet file of the pipeline holds: one schema a kind, read and written here.

A table is one file, or a folder of shards, which are read in their order:

    NAME.parquet                            one file, the default
    NAME.parquet/part-00000-of-00003.parquet, ...     shards; every name gives their number

Embeddings are FixedSizeList<float16>[d], one unit-norm row per text or image. The name of the CLIP
that made them is in the schema's metadata (key `clip`), so that files of different spaces are never
mixed by accident. Files hold no time stamps: equal rows in equal order are equal bytes.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from infopursuit.core.arrays import fixed_size_lists, is_list_of_floats
from infopursuit.core.errors import InputError
from infopursuit.core.files import atomic_folder, atomic_write, is_file

# Where the metadata of a Parquet file has the name of the CLIP.
CLIP_KEY = b"clip"
EMBEDDING = "embedding"
ROW_GROUP = 16384  # rows; a reader that goes row group by row group holds no more at a time
SHARD = re.compile(r"part-(\d{5})-of-(\d{5})\.parquet")


@dataclass(frozen=True)
class TableSchema:
    """The columns of one kind of Parquet file; with `embedded`, and a column `embedding`."""

    what: str
    columns: tuple[pa.Field, ...]
    embedded: bool = False

    @property
    def names(self) -> list[str]:
        """Return the names of all columns."""
        return [field.name for field in self.columns] + ([EMBEDDING] if self.embedded else [])

    def arrow(self, width: int | None = None, clip: str | None = None) -> pa.Schema:
        """Return the arrow schema, with the width d of the embeddings if the file has them."""
        fields = list(self.columns)
        if self.embedded:
            if width is None:
                raise ValueError(f"{self.what}: the width of the embeddings is needed")
            fields.append(pa.field(EMBEDDING, pa.list_(pa.field("element", pa.float16()), width)))
        return pa.schema(fields, metadata={CLIP_KEY: clip.encode()} if clip else None)


def _schema(
    what: str,
    columns: Mapping[str, pa.DataType],
    embedded: bool = False,
    nullable: Sequence[str] = (),
) -> TableSchema:
    fields = (pa.field(name, kind, name in nullable) for name, kind in columns.items())
    return TableSchema(what, tuple(fields), embedded)


TEXT, TEXTS, IDS = pa.string(), pa.list_(pa.string()), pa.list_(pa.int64())
LABELS = {"id": TEXT, "split": TEXT, "label": pa.int32(), "class_name": TEXT}

QUERIES = _schema(
    "texts of one corpus, a row for each caption and concept",
    {"text": TEXT, "caption_id": pa.int64()},
    nullable=("caption_id",),
)
ANSWERS = _schema(
    "answers of the language model, a row for each distinct caption",
    {"caption": TEXT, "caption_ids": IDS, "answer": TEXT, "finish_reason": TEXT},
)
REJECTED_LINES = _schema(
    "lines of answers that are not a query, with the reason",
    {"caption": TEXT, "line": TEXT, "reason": TEXT},
)
UNIVERSE = _schema(
    "texts of the universe with where they came from",
    {"text": TEXT, "sources": TEXTS, "caption_ids": IDS},
)
REJECTED_TEXTS = _schema(
    "texts that a filter of the universe dropped", {"text": TEXT, "source": TEXT, "reason": TEXT}
)
KNOWLEDGE = _schema(
    "what is known of classes and texts: 1 true, 0.5 sometimes, 0 not; no row if it is unknown",
    {"class": TEXT, "text": TEXT, "value": pa.float32()},
)
REJECTED_KNOWLEDGE = _schema(
    "answers about classes and texts that could not be used, with the reason",
    {"class": TEXT, "texts": TEXTS, "answer": TEXT, "finish_reason": TEXT, "reason": TEXT},
)
EMBEDDED_TEXTS = _schema(
    "embedded texts of the universe", {"text": TEXT, "source": TEXT}, embedded=True
)
IMAGES = _schema("encoded images with labels", {**LABELS, "image": pa.binary()})
EMBEDDED_IMAGES = _schema("embedded images with labels", LABELS, embedded=True)
REJECTED_IMAGES = _schema(
    "images that could not be read, with the reason", {"id": TEXT, "reason": TEXT}
)
NEAR_COPIES = _schema(
    "test images that nearly equal a training image, each with the most similar one",
    {
        "id": TEXT,
        "class_name": TEXT,
        "train_id": TEXT,
        "train_class_name": TEXT,
        "cosine": pa.float32(),
        "copies": pa.int64(),
    },
)
EMBEDDED_CLASSES = _schema(
    "embedded class names, for zero-shot; no rows if the CLIP cannot embed a new text",
    {"label": pa.int32(), "class_name": TEXT},
    embedded=True,
)
PREDICTIONS = _schema(
    "predicted label of each test image after t = 0..T queries",
    {"id": TEXT, "label": pa.int32(), "predicted": pa.list_(pa.int16())},
)


def read_table(
    path: str | Path, schema: TableSchema, columns: Sequence[str] | None = None
) -> pa.Table:
    """Read a table and check it against its schema.

    Columns beyond the schema are ignored, integer and string columns are cast if no value changes,
    embeddings may be any lists of floats, so that files made by others are welcome.
    """
    names = [name for name in schema.names if columns is None or name in columns]
    tables = []
    for file in table_files(path):
        with open_table(file, schema, names, any_lists=True):
            table = pq.read_table(file, columns=names)
            table.validate(full=True)  # a Parquet file may have strings that are not UTF-8
        tables.append(_checked(file, table, schema))
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
    """Open one Parquet file that has the given columns of its schema, to be read in batches.

    Embeddings are fixed-size lists, whose width is known at once, or with `any_lists` any lists.
    """
    path = Path(path)
    missing = f"{path}: no such file; expected a Parquet file of {schema.what}"
    if not is_file(path):
        raise InputError(missing)
    try:
        # Read ahead, or without a buffer, a row group would be in memory as a whole.
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20) as file:
            _check_columns(path, file.schema_arrow, schema, columns, any_lists)
            yield file
    except (pa.ArrowException, OSError) as error:
        if not is_file(path):  # deleted while it is read
            raise InputError(missing) from error
        raise InputError(f"{path}: not a readable Parquet file ({error})") from error


def _check_columns(
    path: Path, found: pa.Schema, schema: TableSchema, columns: Sequence[str], any_lists: bool
) -> None:
    for name in columns:
        if found.names.count(name) > 1:
            raise InputError(f"{path}: several columns are called {name!r}; expected one")
        if name not in found.names:
            raise InputError(
                f"{path}: no column {name!r}; expected columns {', '.join(schema.names)}, "
                f"found {', '.join(found.names)}"
            )
    if EMBEDDING in columns:
        kind = found.field(EMBEDDING).type
        if not (is_list_of_floats(kind) and (any_lists or pa.types.is_fixed_size_list(kind))):
            expected = "a list of floats" if any_lists else "a fixed-size list of floats"
            raise InputError(f"{path}: column 'embedding' is {kind}; expected {expected}")


def _checked(path: Path, table: pa.Table, schema: TableSchema, first_row: int = 0) -> pa.Table:
    """Return the table with the types of its schema; InputError for a null or another type."""
    for field in schema.columns:
        if field.name not in table.column_names:
            continue
        column = table.column(field.name)
        if column.null_count and not field.nullable:
            row = first_row + pc.index(column.is_null(), True).as_py()
            raise InputError(
                f"{path}: column {field.name!r} is empty in row {row}; expected a value"
            )
        if column.type != field.type:
            try:
                column = column.cast(field.type)
            except pa.ArrowException as error:
                raise InputError(
                    f"{path}: column {field.name!r} is {column.type}; expected {field.type}"
                ) from error
            table = table.set_column(table.schema.get_field_index(field.name), field, column)
    return table


def embedding_matrix(
    table: pa.Table, path: str | Path = "table", dtype: type | None = None, first_row: int = 0
) -> np.ndarray:
    """Return the `embedding` column as an (n, d) array without NaN or infinity."""
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
    """Return an (n, d) matrix as a FixedSizeList<float16>[d] column."""
    values = pa.array(np.ascontiguousarray(matrix, dtype=np.float16).reshape(-1))
    kind = pa.list_(pa.field("element", pa.float16()), matrix.shape[1])
    return pa.FixedSizeListArray.from_arrays(values, type=kind)


def table_shape(path: str | Path, schema: TableSchema) -> tuple[int, int]:
    """Return the number of rows n of all files, and the width d of their embeddings."""
    rows, widths = 0, []
    for file in table_files(path):
        with open_table(file, schema, schema.names) as opened:
            rows += opened.metadata.num_rows
            widths.append(opened.schema_arrow.field(EMBEDDING).type.list_size)
        if widths[-1] != widths[0]:
            raise InputError(
                f"{file}: embeddings of width {widths[-1]}; expected {widths[0]}, as in the first "
                "shard"
            )
    return rows, widths[0]


def table_blocks(
    path: str | Path,
    schema: TableSchema,
    columns: Sequence[str],
    rows: int,
    any_lists: bool = False,
) -> Iterator[tuple[str, int, pa.Table]]:
    """Yield all rows in order, at most `rows` at a time; for `any_lists` see `open_table`."""
    for file in table_files(path):
        start = 0
        with open_table(file, schema, columns, any_lists) as opened:
            for batch in opened.iter_batches(rows, columns=list(columns), use_threads=False):
                table = _checked(file, pa.Table.from_batches([batch]), schema, start)
                yield str(file), start, table
                start += len(table)


class RowRange(NamedTuple):
    """Some row groups of a file."""

    file: Path
    groups: tuple[int, int]  # number of the first row group, and of the one after the last
    start: int  # number of the first row, counted in this file
    rows: int  # how many there are


def row_ranges(path: str | Path, schema: TableSchema, rows: int) -> list[RowRange]:
    """Cut a table into parts of whole row groups, `rows` or a little more each, none in two files.

    Each part can be read by itself, here or on another machine.
    """
    ranges: list[RowRange] = []
    for file in table_files(path):
        with open_table(file, schema, schema.names) as opened:
            sizes = [
                opened.metadata.row_group(group).num_rows for group in range(opened.num_row_groups)
            ]
        first = start = total = 0
        for group, size in enumerate(sizes):
            total += size
            if total >= rows or group == len(sizes) - 1:
                ranges.append(RowRange(file, (first, group + 1), start, total))
                first, start, total = group + 1, start + total, 0
    return ranges


def read_range(part: RowRange, schema: TableSchema, columns: Sequence[str]) -> pa.Table:
    """Return the given columns of a part; raises InputError as `read_table`."""
    with open_table(part.file, schema, columns) as opened:
        groups = list(range(*part.groups))
        table = opened.read_row_groups(groups, columns=list(columns), use_threads=False)
    return _checked(part.file, table, schema, part.start)


def clip_of(path: str | Path) -> str | None:
    """Return the name of the CLIP that made a file's embeddings; None if the file does not say."""
    return clip_name(path, pq.read_schema(table_files(path)[0]))


def clip_name(path: str | Path, schema: pa.Schema) -> str | None:
    """Return the same from the schema of a file; InputError if the name is not UTF-8."""
    name = (schema.metadata or {}).get(CLIP_KEY)
    try:
        return name.decode() if name else None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: the name of its CLIP is {name!r}; expected UTF-8") from error


def check_same_space(first: str | Path, second: str | Path) -> None:
    """Raise InputError unless the embeddings of two tables have one width and one CLIP."""
    schemas = [pq.read_schema(table_files(path)[0]) for path in (first, second)]
    widths = [schema.field(EMBEDDING).type.list_size for schema in schemas]
    if widths[0] != widths[1]:
        raise InputError(
            f"{first} has embeddings of width {widths[0]} and {second} of width {widths[1]}; "
            "expected one CLIP for both"
        )
    clips = [clip_of(path) for path in (first, second)]
    if None not in clips and clips[0] != clips[1]:
        raise InputError(
            f"{first} was embedded by {clips[0]} and {second} by {clips[1]}; "
            "expected one CLIP for both"
        )


def shard_name(number: int, count: int) -> str:
    """Return the name of shard `number` of 0..count-1."""
    return f"part-{number:05d}-of-{count:05d}.parquet"


def table_files(path: str | Path) -> list[Path]:
    """Return the files of a table in order: the file itself, or the shards of a folder."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    names = sorted(file.name for file in path.iterdir())
    if not names:
        raise InputError(f"{path}: an empty folder; expected shards such as {shard_name(0, 1)}")
    match = SHARD.fullmatch(names[0])
    count = int(match[2]) if match else 0
    shards = [shard_name(number, count) for number in range(count)]
    strange = sorted(set(names) - set(shards))
    if strange:
        raise InputError(
            f"{path}: {strange[0]!r} is not a shard of this table; expected a folder of "
            f"{shard_name(0, count or 1)} and the like alone"
        )
    missing = sorted(set(shards) - set(names))
    if missing:
        raise InputError(
            f"{path}: the shard {missing[0]!r} is missing; expected {count} shards, found "
            f"{len(names)}"
        )
    return [path / name for name in shards]


def is_sharded(path: str | Path) -> bool:
    """Return whether a path is a folder with at least one shard of a table."""
    path = Path(path)
    return path.is_dir() and any(SHARD.fullmatch(file.name) for file in path.iterdir())


class ShardWriter:
    """Cuts the tables that it is given into files of `size` rows each, `rows` in all."""

    def __init__(self, folder: Path, schema: pa.Schema, rows: int, size: int) -> None:
        self._folder, self.schema, self._rows, self._size = folder, schema, rows, size
        self._written = 0
        self._file: pq.ParquetWriter | None = None

    def write_table(self, table: pa.Table, row_group_size: int | None = None) -> None:
        """Write the next rows; a table without any rows is one empty file."""
        first, end = self._written, self._written + len(table)
        while self._written < end or (not self._rows and self._file is None):
            if self._written % self._size == 0:
                self.close()
                count = max(1, -(-self._rows // self._size))
                name = shard_name(self._written // self._size, count)
                self._file = pq.ParquetWriter(self._folder / name, self.schema, compression="zstd")
            assert self._file is not None
            part = table.slice(self._written - first, self._size - self._written % self._size)
            self._file.write_table(part, row_group_size)
            self._written += len(part)

    def finish(self) -> None:
        """Close the last file; ValueError if the rows were more or fewer than announced."""
        self.write_table(self.schema.empty_table())
        self.close()
        if self._written != self._rows:
            raise ValueError(f"{self._written} rows were written; expected {self._rows}")

    def close(self) -> None:
        """Close the open file, if there is one."""
        if self._file is not None:
            self._file.close()


@contextmanager
def table_writer(
    path: str | Path,
    schema: TableSchema,
    width: int | None = None,
    clip: str | None = None,
    shards: tuple[int, int] | None = None,
) -> Iterator[pq.ParquetWriter | ShardWriter]:
    """Give a writer whose table appears under its name only when it is complete."""
    path, arrow = Path(path), schema.arrow(width, clip)
    if path.is_dir() and any(not SHARD.fullmatch(file.name) for file in path.iterdir()):
        raise InputError(f"{path}: a folder of other files; expected a table or nothing")
    if shards is None:
        with atomic_write(path) as partial:
            with pq.ParquetWriter(partial, arrow, compression="zstd") as writer:
                yield writer
            if path.is_dir():
                shutil.rmtree(path)
        return
    with atomic_folder(path) as partial:
        writer = ShardWriter(partial, arrow, *shards)
        try:
            yield writer
            writer.finish()
        finally:
            writer.close()


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
