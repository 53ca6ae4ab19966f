"""A table as a folder of Parquet files, its shards: their names, their order, and how they appear.

    NAME.parquet                            one file, the default
    NAME.parquet/part-00000-of-00003.parquet, ...     shards of so many rows, the last of fewer

Every name tells how many shards there are, so that one that is missing is found out.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from infopursuit.core.errors import InputError
from infopursuit.core.whole_files import whole_folder

SHARD = re.compile(r"part-(\d{5})-of-(\d{5})\.parquet")


def shard_name(number: int, count: int) -> str:
    """The name of shard `number` of 0..count-1."""
    return f"part-{number:05d}-of-{count:05d}.parquet"


def table_files(path: str | Path) -> list[Path]:
    """The files of a table in their order: the file itself, or the shards of a folder.

    Raises:
        InputError: a folder holds anything but the shards of one table, or lacks one of them.
    """
    path = Path(path)
    if not path.is_dir():
        return [path]
    found = sorted(file.name for file in path.iterdir())
    if not found:
        raise InputError(f"{path}: an empty folder; expected shards such as {shard_name(0, 1)}")
    match = SHARD.fullmatch(found[0])
    count = int(match[2]) if match else 0
    wanted = [shard_name(number, count) for number in range(count)]
    strange = sorted(set(found) - set(wanted))
    if strange:
        raise InputError(
            f"{path}: {strange[0]!r} is no shard of this table; expected a folder of "
            f"{shard_name(0, count or 1)} and the like alone"
        )
    missing = sorted(set(wanted) - set(found))
    if missing:
        raise InputError(
            f"{path}: the shard {missing[0]!r} is missing; expected {count} shards, found "
            f"{len(found)}"
        )
    return [path / name for name in wanted]


def is_sharded(path: str | Path) -> bool:
    """Whether there is a folder with at least one shard of a table."""
    path = Path(path)
    return path.is_dir() and any(SHARD.fullmatch(file.name) for file in path.iterdir())


class ShardWriter:
    """Cuts the tables it is given into files of `shard_rows` rows each.

    Args:
        folder: where the files go; it exists.
        schema: of the tables.
        rows: how many rows all tables have together.
        shard_rows: how many a file has; the last has those that are left.
    """

    def __init__(self, folder: Path, schema: pa.Schema, rows: int, shard_rows: int) -> None:
        self.schema = schema
        self._folder, self._rows, self._size = folder, rows, shard_rows
        self._count = max(1, -(-rows // shard_rows))
        self._written = 0
        self._file: pq.ParquetWriter | None = None

    def write_table(self, table: pa.Table, row_group_size: int | None = None) -> None:
        """Write the next rows."""
        while True:
            room = self._size - self._written % self._size
            if self._file is None:
                self._open()
            assert self._file is not None
            part = table.slice(0, room)
            if len(part) or not self._rows:
                self._file.write_table(part, row_group_size)
            self._written += len(part)
            if len(part) == room:
                self._close()
            table = table.slice(room)
            if not len(table):
                return

    def finish(self) -> None:
        """Close the last file.

        Raises:
            ValueError: there were more or fewer rows than announced.
        """
        if not self._rows and self._file is None:
            self._open()
        self._close()
        if self._written != self._rows:
            raise ValueError(f"{self._written} rows were written; expected {self._rows}")

    def _open(self) -> None:
        name = shard_name(self._written // self._size, self._count)
        self._file = pq.ParquetWriter(self._folder / name, self.schema, compression="zstd")

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


@contextmanager
def shard_writer(
    path: str | Path, schema: pa.Schema, rows: int, shard_rows: int
) -> Iterator[ShardWriter]:
    """A writer whose folder appears under its name only when all its shards are complete."""
    check_replaceable(Path(path))
    with whole_folder(path) as partial:
        writer = ShardWriter(partial, schema, rows, shard_rows)
        try:
            yield writer
            writer.finish()
        finally:
            writer._close()


def check_replaceable(path: Path) -> None:
    """Raise InputError where a folder is in the place of a table that is not one of shards."""
    if path.is_dir() and any(not SHARD.fullmatch(file.name) for file in path.iterdir()):
        raise InputError(f"{path}: a folder of other files; expected a table or nothing")


def remove_shards(path: Path) -> None:
    """Remove a folder of shards, or nothing where there is none."""
    if path.is_dir():
        check_replaceable(path)
        shutil.rmtree(path)
