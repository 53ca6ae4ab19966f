"""Tables as CSV: one reader of what people, spreadsheets, R and we write, and one writer.

    table = read_csv_table(path, ["image", "text"], "expected answers of people")
    for row, image in zip(table.rows, table.column("image"), strict=True): ...
    write_csv(path, ["image", "text"], rows)

The reader takes commas, semicolons and tabs (also named by a first line `sep=;`), UTF-8 with and
without a mark, UTF-16 and Windows-1252, quotes, line breaks in quotes, any case of the names of
columns, and empty rows and columns. A row that lacks cells is an error, so a cut file is one.

Every cell that we write is in quotes: a file of ours that is cut ends within quotes, or in a row
that lacks cells. Where the header is in quotes, blanks around a cell are part of it; elsewhere they
are not. Cells that begin with = + - or @ are written as they are, so that names come back equal.
"""

from __future__ import annotations

import codecs
import csv
import io
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError, writable
from infopursuit.core.files import LARGEST, read_bytes, write_text

logger = logging.getLogger(__name__)

SEPARATORS = (",", ";", "\t")
MARK = "\ufeff"
# Rows by which the separator is found.
SAMPLE = 100
# A first line by which Excel knows the separator.
SEPARATOR_LINE = re.compile(r'"?sep=([,;\t|])"?[,;\t]*(?:\r\n|\r|\n)', re.IGNORECASE)
csv.field_size_limit(LARGEST)  # a name may be longer than the 131,072 characters of the default


@dataclass(frozen=True)
class CsvTable:
    """A table with a row of names, and below it rows of as many cells.

    Attributes:
        path: of the file.
        names: of the columns, in the case of the file; "" for a column without a name that has
            cells.
        rows: the cells, without empty rows and without columns that have neither name nor cell.
        numbers: of the rows, as a spreadsheet counts them; the first row of the file is 1.
        separator: between cells; a comma in a cell may be a decimal one if it is none.
        records: all rows of the file, the names and empty ones too.
        head: what stands in front of them: a mark of UTF-8, a line `sep=;`, or nothing.
    """

    path: Path
    names: list[str]
    rows: list[list[str]]
    numbers: list[int]
    separator: str
    records: list[list[str]]
    head: str

    @property
    def decimal_comma(self) -> bool:
        """Whether 1,5 may be a number, as spreadsheets write it beside semicolons and tabs."""
        return self.separator != ","

    def where(self, row: int, name: str | None = None) -> str:
        """Return how a message names one of `rows`, and perhaps a column of it."""
        column = "" if name is None else f", column {name!r}"
        return f"{self.path}: row {self.numbers[row]}{column}"

    def has(self, name: str) -> bool:
        """Return whether there is a column of this name, in any case."""
        return name.casefold() in (each.strip().casefold() for each in self.names)

    def place(self, name: str, columns: Sequence[str] = ()) -> int:
        """Return the number of a column, from 0; its name may be in any case.

        Raises:
            InputError: there is none, or more than one; the message names all `columns`.
        """
        folded = name.casefold()
        names = enumerate(each.strip().casefold() for each in self.names)
        places = [place for place, each in names if each == folded]
        if len(places) != 1:
            what = "several columns" if places else "no column"
            raise InputError(
                f"{self.path}: {what} {name!r}; expected a first line with "
                f"{','.join(columns or [name])}, found {','.join(self.names)}"
            )
        return places[0]

    def column(self, name: str) -> list[str]:
        """Return the cells of a column; its name may be in any case.

        Raises:
            InputError: there is none, or more than one.
        """
        place = self.place(name)
        return [row[place] for row in self.rows]

    def edited(
        self, cells: Mapping[tuple[int, str], str], more: Sequence[Mapping[str, str]]
    ) -> str:
        """Return the text of the file with other cells and more rows; the rest stays as it is.

        Args:
            cells: by the place in `rows` and the name of the column.
            more: rows behind the last, by the names of their columns; a new column comes last.
        """
        records = [list(row) for row in self.records]
        filled = [number for number, row in enumerate(records) if any(map(str.strip, row))]
        header, last = records[filled[0]], filled[-1]

        def place(name: str) -> int:
            names = [each.strip().casefold() for each in header]
            if name.casefold() not in names:
                header.append(name)
                return len(header) - 1
            return names.index(name.casefold())

        changes = [
            (self.numbers[row] - 1, place(name), cell) for (row, name), cell in cells.items()
        ]
        for number, each in enumerate(more, start=last + 1):
            records.insert(number, [])
            changes += [(number, place(name), cell) for name, cell in each.items()]
        for number, row in enumerate(records):
            if row or number > last:
                row.extend([""] * (len(header) - len(row)))
        for number, column, cell in changes:
            records[number][column] = cell
        return self.head + csv_text(records, self.separator)


def read_csv_table(
    path: str | Path,
    columns: Sequence[str] = (),
    expected: str = "",
    content: bytes | None = None,
) -> CsvTable:
    """Read a table.

    Args:
        path: the file.
        columns: names, in any case, that have to be there.
        expected: the end of messages, such as "expected a table of classes".
        content: of the file, if it is read already.

    Raises:
        InputError: the file is no table, lacks a column, or has a row of another length.
    """
    path, expected = Path(path), expected or "expected a CSV table"
    text = _decoded(path, read_bytes(path, expected) if content is None else content)
    head = MARK if text.startswith(MARK) else ""
    text = text.lstrip(MARK)
    if named := SEPARATOR_LINE.match(text):
        head, text = head + named[0], text[named.end() :]
    separator = named[1] if named else _separator(text, columns)
    records: list[list[str]] = []
    try:
        records.extend(_parsed(text, separator))
    except csv.Error as error:
        cut = "unexpected end" in str(error)
        reason = "a quote that is not closed; was the file cut?" if cut else str(error)
        raise InputError(f"{path}: row {len(records) + 1}: {reason}; {expected}") from error
    filled = [number for number, row in enumerate(records) if any(map(str.strip, row))]
    if not filled:
        raise InputError(f"{path}: the file is empty; {expected}")
    header = records[filled[0]]
    quoted = text.lstrip("\r\n").startswith(csv_text([header], separator)[:-1])
    ended = text.endswith(("\r", "\n"))
    if not ended and (not records[-1][-1] or (quoted and text.endswith('"'))):
        logger.warning("%s: no line break at the end of the last row; was the file cut?", path)
    if not quoted:
        records = [list(map(str.strip, row)) for row in records]
    table = _table(path, records, filled, separator, head)
    for name in columns:
        table.place(name, columns)
    return table


def csv_text(rows: Iterable[Sequence[Any]], separator: str = ",") -> str:
    """Return rows as CSV with every cell in quotes; floats with all their digits."""
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows(rows)
    return writable(written.getvalue())


def write_csv(path: str | Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table that `read_csv_table` reads back as it is, atomically."""
    write_text(path, csv_text(chain([header], rows)))


def _decoded(path: Path, content: bytes) -> str:
    """Return the text of a file, with a mark in front unless it is plain UTF-8."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in content[:2]:
        encoding = "utf-16-be" if content[:1] in (b"\0", b"\xfe") else "utf-16-le"
    else:
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            # A letter of Windows-1252 is one of UTF-8 by rare chance; a damaged file has others.
            if not content.decode(errors="ignore").isascii():
                raise InputError(f"{path}: not a readable CSV file ({error})") from error
            encoding = "cp1252"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a readable CSV file ({error})") from error
    if encoding == "cp1252":
        word = next(word for word in text.split() if not word.isascii())
        logger.warning("%s: not UTF-8; read as Windows-1252, such as %r", path, word[:40])
    return MARK + text


def _parsed(text: str, separator: str) -> Iterator[list[str]]:
    lines = io.StringIO(text, newline="")
    return csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=True)


def _separator(text: str, columns: Sequence[str]) -> str:
    """Return what separates the cells.

    That finds the most columns, then gives the most rows the length of the first, then has the
    most cells.
    """
    best, chosen = (0, 0.0, 0), SEPARATORS[0]
    for separator in SEPARATORS:
        rows: list[list[str]] = []
        with suppress(csv.Error):  # `read_csv_table` names the row
            rows.extend(row for row in islice(_parsed(text, separator), SAMPLE) if any(row))
        if not rows or len(rows[0]) < 2:
            continue
        names = {cell.strip().casefold() for cell in rows[0]}
        matches = sum(name.casefold() in names for name in columns)
        alike = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        best, chosen = max((best, chosen), ((matches, alike, len(rows[0])), separator))
    return chosen


def _table(
    path: Path, records: list[list[str]], filled: list[int], separator: str, head: str
) -> CsvTable:
    names, numbers = records[filled[0]], [number + 1 for number in filled[1:]]
    width = len(names)
    needed = max(place for place, name in enumerate(names) if name.strip()) + 1
    rows: list[list[str]] = []
    for number in numbers:
        row = records[number - 1]
        if len(row) < needed or any(map(str.strip, row[width:])):
            raise InputError(
                f"{path}: row {number}: {len(row)} cells; expected {needed}, as in the first row"
            )
        rows.append([*row[:width], *[""] * (width - len(row))])
    columns = [
        place
        for place, name in enumerate(names)
        if name.strip() or any(row[place].strip() for row in rows)
    ]
    if len(columns) < width:
        names = [names[place] for place in columns]
        rows = [[row[place] for place in columns] for row in rows]
    return CsvTable(path, names, rows, numbers, separator, records, head)
