"""What is known of classes before any image is looked at: the knowledge table and its files.

A value says how a text stands to a class: 1 if it is true of the class, 0.5 if it differs between
pictures of the class, 0 if it is not true, NaN if it is unknown. Five kinds of file hold it:

- a Parquet table with a row for each value that is known (`texts.knowledge_tables`);
- a CSV table that a person edits, with a row for each class and a column for each text
  (`read_knowledge_csv`);
- lists that a person writes, class by class (`read_knowledge_lists`):

    {"complete": true}
    {"class": "zebra", "yes": ["striped coat", "four legs"], "sometimes": ["tall grass"]}

- a judge's table, text by text, against which a model is measured (`read_judge`):

    {"complete": true}
    {"text": "striped coat", "true": ["zebra"], "often": ["cat"]}

- a strict list of texts whose truth the class tells (`read_strict`):

    {"text": "animal", "kind": "hypernym", "true": ["zebra", "cat"], "unknown": ["saddle"]}

The last three have one JSON object a line (UTF-8). The first line may say that the author went
through all texts of the universe: what no line names is then true of no class. A file with the line
{"complete": false} alone says nothing, as params/no_knowledge.jsonl does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float32
from pydantic import AfterValidator, Field

from infopursuit.core.csv_tables import csv_text, read_csv_table
from infopursuit.core.errors import InputError
from infopursuit.core.files import suffix_of
from infopursuit.core.names import composed
from infopursuit.texts.checked_json import Entry, checked_lines
from infopursuit.texts.normalization import distinct, normalize

TRUE, SOMETIMES, NOT_TRUE = 1.0, 0.5, 0.0
VALUES = (NOT_TRUE, SOMETIMES, TRUE)
LIST_SUFFIX, TABLE_SUFFIX, PROMPT_SUFFIX, CSV_SUFFIX = ".jsonl", ".parquet", ".jinja", ".csv"
KINDS = {
    PROMPT_SUFFIX: "a prompt", LIST_SUFFIX: "lists written by a person", TABLE_SUFFIX: "a table",
    CSV_SUFFIX: "a table of a spreadsheet",
}  # fmt: skip
# The name of the first column of a CSV table, and how its cells are written.
CLASS_COLUMN = "class"
CELLS = {NOT_TRUE: "0", SOMETIMES: "0.5", TRUE: "1"}
# The spellings of spreadsheets and of R; a cell that was cut, such as "0.", is none.
READ = {"0": NOT_TRUE, "1": TRUE, "": np.nan, "NA": np.nan}
READ |= {f"0{point}0": NOT_TRUE for point in ".,"} | {f"1{point}0": TRUE for point in ".,"}
READ |= {f"{zero}{point}5": SOMETIMES for point in ".," for zero in ("0", "")}


@dataclass(frozen=True, eq=False)
class KnowledgeTable:
    """What is known of c classes and u texts.

    Attributes:
        classes: names, all different.
        texts: no two of one normalised spelling.
        values: (c, u) float32, each 0, 0.5, 1 or NaN.
    """

    classes: tuple[str, ...]
    texts: tuple[str, ...]
    values: Float32[np.ndarray, "c u"]

    def __post_init__(self) -> None:
        """Check names, shape and values."""
        shape = (len(self.classes), len(self.texts))
        if self.values.shape != shape:
            raise ValueError(f"the values have the shape {self.values.shape}; expected {shape}")
        composed_names = list(map(composed, self.classes))
        for what, names in (("class", composed_names), ("text", self._spellings())):
            if len(set(names)) < len(names):
                repeated = next(name for name in names if names.count(name) > 1)
                raise InputError(f"knowledge: the {what} {repeated!r} is there twice")
        allowed = np.isin(self.values, VALUES) | np.isnan(self.values)
        if not allowed.all():
            row, column = np.argwhere(~allowed)[0]
            raise InputError(
                f"knowledge: {self.texts[column]!r} has the value {self.values[row, column]} for "
                f"the class {self.classes[row]!r}; expected 0, 0.5, 1 or NaN"
            )

    def _spellings(self) -> list[str]:
        return [normalize(text) for text in self.texts]

    def for_classes_and_texts(
        self, classes: Sequence[str], texts: Sequence[str]
    ) -> Float32[np.ndarray, "c u"]:
        """Return the values of c classes and u texts, in that order.

        Args:
            classes: names, matched as they are written, but for the form of their accents.
            texts: matched by their normalised spelling; texts that differ only in spelling have
                the same values.

        Returns:
            NaN if this table knows nothing, of classes and texts that it lacks as well.
        """
        row_of = {composed(name): row for row, name in enumerate(self.classes)}
        column_of = {text: column for column, text in enumerate(self._spellings())}
        rows = np.array([row_of.get(composed(name), -1) for name in classes], np.int64)
        columns = np.array([column_of.get(normalize(text), -1) for text in texts], np.int64)
        values = np.full((len(rows), len(columns)), np.nan, np.float32)
        known = np.ix_(rows >= 0, columns >= 0)
        values[known] = self.values[np.ix_(rows[rows >= 0], columns[columns >= 0])]
        return values

    def counts(self) -> dict[str, int]:
        """Return how many values are true, sometimes, not true and unknown."""
        named = zip(("true", "sometimes", "not_true"), (TRUE, SOMETIMES, NOT_TRUE), strict=True)
        counts = {name: int((self.values == value).sum()) for name, value in named}
        return {**counts, "unknown": int(np.isnan(self.values).sum())}


def knowledge_csv(knowledge: KnowledgeTable) -> str:
    """Return a table as CSV: a row for each class, a column for each text; empty if unknown."""
    rows = zip(knowledge.classes, knowledge.values.tolist(), strict=True)
    cells = ([name, *(CELLS.get(value, "") for value in values)] for name, values in rows)
    return csv_text(chain([[CLASS_COLUMN, *knowledge.texts]], cells))


def read_knowledge_csv(path: str | Path, content: bytes | None = None) -> KnowledgeTable:
    """Read a CSV table, as `knowledge_csv` writes it and spreadsheets save it.

    Halves may be written with a comma, as spreadsheets do in many languages. `content` is that of
    the file, if it is read already.
    """
    expected = "expected a CSV table of classes and texts"
    table = read_csv_table(path, [CLASS_COLUMN], expected, content)
    if table.place(CLASS_COLUMN):
        first = table.names[0]
        raise InputError(f"{path}: the first column is {first!r}; expected {CLASS_COLUMN!r}")
    texts = table.names[1:]
    values = np.full((len(table.rows), len(texts)), np.nan, np.float32)
    classes: dict[str, None] = {}
    for row, (name, *cells) in enumerate(table.rows):
        if not name or name in classes:
            found = f"{name!r} again" if name else "none"
            raise InputError(f"{table.where(row)}: expected another class, found {found}")
        classes[name] = None
        for column, cell in enumerate(map(str.strip, cells)):
            if cell not in READ:
                where = table.where(row, texts[column])
                raise InputError(f"{where}: {cell!r}; expected 0, 0.5, 1 or an empty cell")
            values[row, column] = READ[cell]
    try:
        return KnowledgeTable(tuple(classes), tuple(texts), values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def is_prompt(path: str | Path) -> bool:
    """Return whether knowledge is a prompt for the language model, not a file that holds it."""
    return suffix_of(path, "knowledge", KINDS) == PROMPT_SUFFIX


def open_knowledge(path: str | Path, texts: Sequence[str] = ()) -> KnowledgeTable:
    """Return the knowledge that a file holds: lists (.jsonl) or a table (.csv, .parquet).

    Args:
        path: the file.
        texts: of the universe; those that complete lists do not name are true of no class.

    Raises:
        InputError: the file is missing or has a mistake, or its suffix is another.
    """
    if Path(path).suffix == TABLE_SUFFIX:
        from infopursuit.texts.knowledge_tables import read_knowledge

        return read_knowledge(path)
    if Path(path).suffix == LIST_SUFFIX:
        return read_knowledge_lists(path, texts)
    if Path(path).suffix == CSV_SUFFIX:
        return read_knowledge_csv(path)
    raise InputError(
        f"{path}: expected lists written by a person (.jsonl) or a table (.csv, .parquet)"
    )


def knowledge_of_universe(
    path: str | Path, classes: Sequence[str], texts: Sequence[str]
) -> KnowledgeTable:
    """Return what a file says of c classes of a data set and u texts of a universe.

    Texts are of distinct spelling; what the file says of others is left out.
    """
    knowledge = open_knowledge(path, texts)
    check_classes(path, knowledge, classes)
    values = knowledge.for_classes_and_texts(classes, texts)
    return KnowledgeTable(tuple(classes), tuple(texts), values)


def check_classes(path: str | Path, knowledge: KnowledgeTable, classes: Sequence[str]) -> None:
    """Raise InputError unless a file is about the classes of the data set, or says nothing."""
    theirs, ours = (set(map(composed, names)) for names in (knowledge.classes, classes))
    for name in knowledge.classes:
        if composed(name) not in ours:
            raise InputError(
                f"{path}: {name!r} is not a class of the data set; expected {', '.join(classes)}"
            )
    for name in classes if knowledge.classes else ():
        if composed(name) not in theirs:
            raise InputError(f"{path}: nothing about the class {name!r}; expected every class")


def read_knowledge_lists(path: str | Path, texts: Sequence[str] = ()) -> KnowledgeTable:
    """Read lists that a person wrote, class by class; see above.

    A text that some class lists is known of every class: it is not true of those that do not list
    it. A text that no class lists is true of none if the file is complete, and unknown otherwise.

    Returns:
        A table of the classes in the file's order and the texts in the order in which they are
        first named, then those of `texts` that the lists do not name.
    """
    expected = "expected knowledge of classes (JSON lines)"
    complete, lines = _read(path, expected, CLASS_FORM, _ClassLine)
    if complete is None and not lines:
        raise InputError(f"{path}: the file is empty; expected {CLASS_FORM}")
    _check_once(path, "class", [(where, composed(line.name)) for where, line in lines])
    cells = [
        (where, line.name, text, value)
        for where, line in lines
        for named, value in ((line.yes, TRUE), (line.sometimes, SOMETIMES))
        for text in named
    ]
    named = [text for _, _, text, _ in cells]
    return _filled([line.name for _, line in lines], [*named, *(texts if complete else ())], cells)


def read_judge(
    path: str | Path, classes: Sequence[str], texts: Sequence[str] = ()
) -> KnowledgeTable:
    """Read a judge's table of c classes: 1 true, 0.5 often, 0 neither.

    Returns:
        The texts in the order of the file, then those of `texts` that it does not name, if it is
        complete.
    """
    return _judged(path, JUDGE_FORM, _JudgeLine, classes, texts)


def read_strict(path: str | Path, classes: Sequence[str]) -> KnowledgeTable:
    """Read a strict list: 1 true, 0 not, NaN if the class does not tell."""
    return _judged(path, STRICT_FORM, _StrictLine, classes)


def _judged(
    path: str | Path,
    form: str,
    kind: type[Entry],
    classes: Sequence[str],
    texts: Sequence[str] = (),
) -> KnowledgeTable:
    complete, lines = _read(path, "expected judgements (JSON lines)", form, kind)
    _check_once(path, "text", [(where, normalize(line.text)) for where, line in lines])
    cells = [
        (where, name, line.text, value)
        for where, line in lines
        for names, value in line.values()
        for name in names
    ]
    named = [line.text for _, line in lines]
    return _filled(classes, [*named, *(texts if complete else ())], cells)


CLASS_FORM = '{"class": NAME, "yes": [TEXT, ...], "sometimes": [TEXT, ...]}'
JUDGE_FORM = '{"text": TEXT, "true": [CLASS, ...], "often": [CLASS, ...]}'
STRICT_FORM = '{"text": TEXT, "kind": KIND, "true": [CLASS, ...], "unknown": [CLASS, ...]}'


def _text(text: str) -> str:
    if not normalize(text):
        raise ValueError("expected a text")
    return text


Text = Annotated[str, AfterValidator(_text)]


class _FirstLine(Entry):
    complete: bool


class _ClassLine(Entry):
    name: Text = Field(alias="class")
    yes: list[Text]
    sometimes: list[Text]


class _JudgeLine(Entry):
    text: Text
    true: list[str]
    often: list[str]

    def values(self) -> list[tuple[list[str], float]]:
        return [(self.often, SOMETIMES), (self.true, TRUE)]


class _StrictLine(Entry):
    text: Text
    kind: str
    true: list[str]
    unknown: list[str]

    def values(self) -> list[tuple[list[str], float]]:
        return [(self.unknown, np.nan), (self.true, TRUE)]


def _read(
    path: str | Path, expected: str, form: str, kind: type[Entry]
) -> tuple[bool | None, list[tuple[str, Any]]]:
    """Return what the first line says of completeness, and the other lines with their places."""
    lines: list[tuple[str, Any]] = []

    def kind_of(value: Any) -> type[Entry]:
        says = not lines and isinstance(value, dict) and "complete" in value
        return _FirstLine if says else kind

    form = f'expected {form}, or {{"complete": true}} or {{"complete": false}} in the first line'
    for where, line in checked_lines(path, expected, form, kind_of):
        lines.append((where, line))
    if lines and isinstance(lines[0][1], _FirstLine):
        return lines[0][1].complete, lines[1:]
    return None, lines


def _check_once(path: str | Path, what: str, names: list[tuple[str, str]]) -> None:
    """Raise InputError if two lines are about one class or text."""
    first: dict[str, str] = {}
    for where, name in names:
        if first.setdefault(name, where) != where:
            earlier = first[name].removeprefix(f"{path}: ")
            raise InputError(f"{where} is about the {what} {name!r}, as {earlier} is; expected one")


def _filled(
    classes: Sequence[str], texts: Sequence[str], cells: Iterable[tuple[str, str, str, float]]
) -> KnowledgeTable:
    """Return a table of 0, but for cells (place in the file, class, text, value)."""
    texts = distinct(texts)
    row_of = {composed(name): row for row, name in enumerate(classes)}
    column_of = {normalize(text): column for column, text in enumerate(texts)}
    values = np.full((len(classes), len(texts)), NOT_TRUE, np.float32)
    filled: set[tuple[int, int]] = set()
    for where, name, text, value in cells:
        if composed(name) not in row_of:
            raise InputError(f"{where}, {text!r}: {name!r} is not a class of the data set")
        cell = row_of[composed(name)], column_of[normalize(text)]
        if cell in filled:
            raise InputError(f"{where}: the class {name!r} has the text {text!r} twice")
        filled.add(cell)
        values[cell] = value
    return KnowledgeTable(tuple(classes), tuple(texts), values)
