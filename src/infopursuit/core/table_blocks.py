"""A table read a part at a time, from one file or from a folder of shards.

`table_blocks` goes through all rows in their order. `row_ranges` cuts the table into parts that can
be read each on its own, here or on another machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from infopursuit.core.errors import InputError
from infopursuit.core.shard_files import table_files
from infopursuit.core.tables import EMBEDDING, TableSchema, checked_column, open_table


class RowRange(NamedTuple):
    """Some row groups of a file.

    Attributes:
        file: the file.
        groups: number of the first row group, and of the one after the last.
        start: number of the first row, counted in this file.
        rows: how many there are.
    """

    file: Path
    groups: tuple[int, int]
    start: int
    rows: int


def table_shape(path: str | Path, schema: TableSchema) -> tuple[int, int]:
    """Number of rows n of all files, and width d of their embeddings.

    Raises:
        InputError: a file is no table of this schema, or shards differ in width.
    """
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
    """All rows in their order, at most `rows` at a time; with `any_lists` as `open_table` says.

    Yields:
        The file, the number of the block's first row in that file, and the block.

    Raises:
        InputError: as `read_table`.
    """
    for file in table_files(path):
        start = 0
        with open_table(file, schema, columns, any_lists) as opened:
            for batch in opened.iter_batches(rows, columns=list(columns), use_threads=False):
                table = _checked(file, pa.Table.from_batches([batch]), schema, start)
                yield str(file), start, table
                start += len(table)


def row_ranges(path: str | Path, schema: TableSchema, rows: int) -> list[RowRange]:
    """The table in parts of whole row groups, `rows` or a little more each, none across two files.

    Raises:
        InputError: a file is no table of this schema.
    """
    found: list[RowRange] = []
    for file in table_files(path):
        with open_table(file, schema, schema.names) as opened:
            sizes = [
                opened.metadata.row_group(group).num_rows for group in range(opened.num_row_groups)
            ]
        first = start = total = 0
        for group, size in enumerate(sizes):
            total += size
            if total >= rows or group == len(sizes) - 1:
                found.append(RowRange(file, (first, group + 1), start, total))
                first, start, total = group + 1, start + total, 0
    return found


def read_range(part: RowRange, schema: TableSchema, columns: Sequence[str]) -> pa.Table:
    """The given columns of a part.

    Raises:
        InputError: as `read_table`.
    """
    with open_table(part.file, schema, columns) as opened:
        groups = list(range(*part.groups))
        table = opened.read_row_groups(groups, columns=list(columns), use_threads=False)
    return _checked(part.file, table, schema, part.start)


def _checked(file: Path, table: pa.Table, schema: TableSchema, start: int) -> pa.Table:
    for field in schema.columns:
        if field.name in table.column_names:
            table = checked_column(file, table, field, start)
    return table
