"""Knowledge as lists that a person writes: one JSON object a line (UTF-8), of three forms.

- lists of a person, class by class (`read_knowledge_lists`):

    {"complete": true}
    {"class": "zebra", "yes": ["striped coat", "four legs"], "sometimes": ["tall grass"]}

- a judge's table, text by text, against which a model is measured (`read_judge`):

    {"complete": true}
    {"text": "striped coat", "true": ["zebra"], "often": ["cat"]}

- a strict list of texts whose truth the class tells (`read_strict`):

    {"text": "animal", "kind": "hypernym", "true": ["zebra", "cat"], "unknown": ["saddle"]}

The first line may say that the author went through all texts of the universe: what no line names is
then true of no class. A file with the line {"complete": false} alone says nothing, as
params/no_knowledge.jsonl does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from infopursuit.core.errors import InputError
from infopursuit.core.names import composed
from infopursuit.texts.checked_json import Entry, checked_lines
from infopursuit.texts.knowledge import NOT_TRUE, SOMETIMES, TRUE, KnowledgeTable
from infopursuit.texts.normalization import distinct, normalize


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
