"""Tables as people keep them: CSV and Parquet files with a column for the class of each row."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from infopursuit.core.csv_tables import read_csv_table
from infopursuit.core.errors import InputError
from infopursuit.core.files import check_regular
from infopursuit.core.numbers import NUMBER, number_cells
from infopursuit.datasets.samples import Samples
from infopursuit.datasets.table_columns import MARK, MOST_CATEGORIES, Wanted, is_dates

logger = logging.getLogger("infopursuit")

EXPECTED = "expected a table with a row of names and a row for each thing"
# What an empty cell may hold: what pandas reads as a gap.
GAPS = frozenset(
    (
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
        *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    )
)
WHOLE = re.compile(r"[+-]?\d+(\.0*)?")
# Names of columns that number or name rows. "PassengerId" is one, "acid" is none.
NAMES_ROWS = re.compile(
    r"(.*[\W_])?(?i:id|index(_level_\d+)?|key|no|nr|number|uuid|guid)[\W_]*|.*([a-z]I[dD])|"
)


@dataclass(frozen=True)
class TableFile:
    """n rows with named columns.

    Attributes:
        path: of the file.
        values: the columns, numbers where all cells of one are numbers; null for a gap.
        written: the cells of a CSV file as they are written; the same as `values` otherwise.
    """

    path: Path
    values: pa.Table
    written: pa.Table

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self.values.column_names

    def place(self, name: str) -> str:
        """Return a column by its name, in any case if that is one column.

        Raises:
            InputError: there is none; the message names the nearest.
        """
        alike = [each for each in self.names if each.casefold() == name.casefold()]
        if name in self.names or len(alike) == 1:
            return name if name in self.names else alike[0]
        folded = {each.casefold(): each for each in self.names}
        near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
        meant = f"did you mean {folded[near[0]]!r}? " if near else ""
        shown = ", ".join(self.names[:10]) + (", ..." if len(self.names) > 10 else "")
        raise InputError(f"{self.path}: no column {name!r}; {meant}found {shown}")

    def texts(self, name: str) -> list[str | None]:
        """Return the cells of a column as texts; None for a gap."""
        values = self.written.column(name).to_pylist()
        return [None if value is None or value != value else str(value) for value in values]

    def rows(self, places: list[int]) -> TableFile:
        """Return some of the rows."""
        return TableFile(self.path, self.values.take(places), self.written.take(places))

    def marks(self, label: str | None) -> list[bytes]:
        """Return what tells each row from others, whatever file has it: all cells but the class."""
        names = sorted(name for name in self.names if name != label)
        columns = [self.values.column(name).to_pylist() for name in names]
        numbers = [[float(each) if isinstance(each, int) else each for each in column]
                   for column in columns]  # fmt: skip
        return [repr((names, row)).encode() for row in zip(*numbers, strict=True)]

    def not_asked(self, label: str) -> dict[str, str]:
        """Return the columns that no question is about, and why: they name rows, hold dates, ..."""
        reasons = {name: self._reason(name) for name in self.names if name != label}
        return {name: reason for name, reason in reasons.items() if reason is not None}

    def names_rows(self, name: str) -> bool:
        """Whether a column numbers or names the rows: all values differ, none is measured."""
        known = [text for text in self.texts(name) if text is not None]
        if len(set(known)) < len(known):
            return False
        if not all(WHOLE.fullmatch(text) for text in known):
            return not self._has_numbers(name) and not is_dates(known)
        numbers = sorted(int(float(text)) for text in known)
        counted = len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1
        return counted or NAMES_ROWS.fullmatch(name) is not None

    def _has_numbers(self, name: str) -> bool:
        kind, mark = self.values.schema.field(name).type, (self.values.schema.metadata or {})
        if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
            return True
        cells = [text.strip() for text in self.texts(name) if text is not None]
        return number_cells(cells, mark.get(MARK, b".").decode()).numbers is not None

    def _reason(self, name: str) -> str | None:
        kind = self.values.schema.field(name).type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return f"holds {kind}"
        texts = self.texts(name)
        known = [text for text in texts if text is not None]
        if pa.types.is_temporal(kind) or is_dates(known):
            return "holds dates or times"
        if not known:
            return "is empty"
        if len(set(known)) < 2:  # a gap beside it may tell, such as a symptom that is not mentioned
            return "has one value" if len(known) == len(texts) else None
        if self.names_rows(name):
            return f"all its {len(known)} values differ"
        if len(set(known)) > MOST_CATEGORIES and not self._has_numbers(name):
            odd = next((text for text in known if not NUMBER.fullmatch(text)), known[0])
            return f"has {len(set(known))} different texts, such as {odd[:40]!r}"
        return None


def read_table(path: Path) -> TableFile:
    """Read a table from a CSV file, or from Parquet.

    Raises:
        InputError: the file is no table, or two columns have one name.
    """
    if path.suffix.lower() == ".parquet":
        check_regular(path)
        try:
            values = written = pq.read_table(path)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{path}: not a readable Parquet file ({error})") from error
        names = values.column_names
    else:
        table = read_csv_table(path, expected=EXPECTED)
        names = table.names
        cells = [
            [None if row[place].strip() in GAPS else row[place].strip() for row in table.rows]
            for place in range(len(names))
        ]
        typed = [_typed(column, table.decimal_comma) for column in cells]
        values = pa.Table.from_arrays(typed, names=names)
        if table.decimal_comma:
            values = values.replace_schema_metadata({MARK: b","})
        written = pa.Table.from_arrays([pa.array(each, pa.string()) for each in cells], names=names)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"{path}: {len(twice)} columns are called {twice[0]!r}; expected one")
    if not len(values):
        raise InputError(f"{path}: no rows; {EXPECTED}")
    return TableFile(path, values, written)


def table_samples(path: Path, wanted: Wanted) -> Samples:
    """Read the columns that a model of a table asks about, and the class if there is a column."""
    table = read_table(path)
    columns, label = wanted.columns, None
    others = {name.casefold(): name for name in table.names}
    if wanted.label is not None and wanted.label.casefold() in others:
        label = table.place(wanted.label)
    if columns is None:
        columns = [name for name in table.names if name != label]
        if len(columns) != wanted.width:
            raise InputError(
                f"{path}: {len(columns)} columns; the model was fitted on {wanted.width} without "
                "names"
            )
    places = [table.place(name) for name in columns]
    not_needed = [name for name in table.names if name not in {*places, label}]
    named_by = next(
        (name for name in not_needed if name == wanted.named_by),
        next((name for name in not_needed if table.names_rows(name)), None),
    )
    ignored = [name for name in not_needed if name != named_by]
    if ignored:
        logger.info("%s: columns that the model does not ask: %s", path, ", ".join(ignored))
    names = [f"row {row}" for row in range(len(table.values))]
    if named_by is not None:
        names = [text or name for text, name in zip(table.texts(named_by), names, strict=True)]
    values = table.values.select(places).rename_columns(list(columns))
    classes, marks = None if label is None else table.texts(label), table.marks(label)
    return Samples(str(path), names, classes, rows=values, marks=marks)


def _typed(cells: list[str | None], decimal_comma: bool) -> pa.Array:
    numbers: list[float | None] = []
    for cell in cells:
        text = cell.replace(",", ".") if cell is not None and decimal_comma else cell
        if text is not None and not NUMBER.fullmatch(text):
            return pa.array(cells, pa.string())
        numbers.append(None if text is None else float(text))
    return pa.array(numbers, pa.float64())
