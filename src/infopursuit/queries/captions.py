"""Captions of images, read from a JSON file in the format of COCO's caption annotations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from infopursuit.core.errors import InputError
from infopursuit.core.text_files import read_json

FORMAT = 'expected COCO captions, {"annotations": [{"id": 1, "caption": "A dog."}, ...]}'
# What the columns of ids hold.
IDS = range(-(2**63), 2**63)


class Caption(NamedTuple):
    """A distinct caption with the ids of all annotations that say it, in the file's order."""

    text: str
    ids: tuple[int, ...]


def read_captions(path: str | Path, limit: int | None = None) -> list[Caption]:
    """Read captions and join those that say the same.

    Blanks inside a caption, line breaks among them, become single spaces. Distinct captions come in
    the order of their first annotation.

    Args:
        path: a JSON file with the key `annotations`, a list of objects with `id` and `caption`.
        limit: use only the first so many annotations.

    Raises:
        InputError: the file is missing, not UTF-8 or not JSON, lacks a key, has no annotation, or
            an annotation has no id of its own or no text; the message names the row.
    """
    path = Path(path)
    ids_of: dict[str, list[int]] = {}
    row_of: dict[int, int] = {}
    for row, annotation in enumerate(_annotations(path)):
        number, text = _checked(path, row, annotation)
        if number in row_of:
            raise InputError(
                f"{path}: annotations[{row}] has the id {number} of annotations[{row_of[number]}]; "
                "expected a different id for each"
            )
        row_of[number] = row
        if limit is None or row < limit:
            ids_of.setdefault(text, []).append(number)
    return [Caption(text, tuple(ids)) for text, ids in ids_of.items()]


def _annotations(path: Path) -> Sequence[Any]:
    content = read_json(path, FORMAT)
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds a {type(content).__name__}; {FORMAT}")
    if not isinstance(content.get("annotations"), list):
        found = ", ".join(content) or "none"
        raise InputError(f"{path}: no list 'annotations', found the keys {found}; {FORMAT}")
    if not content["annotations"]:
        raise InputError(f"{path}: 'annotations' is empty; {FORMAT}")
    return content["annotations"]


def _checked(path: Path, row: int, annotation: Any) -> tuple[int, str]:
    where = f"{path}: annotations[{row}]"
    if not isinstance(annotation, dict):
        raise InputError(f"{where} is {type(annotation).__name__}; {FORMAT}")
    for key, kind, called in (("id", int, "an integer"), ("caption", str, "a text")):
        value = annotation.get(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            found = repr(value) if key in annotation else f"keys {', '.join(map(str, annotation))}"
            raise InputError(f"{where} has no {key}; expected {called}, found {found}")
    text = " ".join(annotation["caption"].split())
    if not text:
        raise InputError(f"{where} (id {annotation['id']}) has an empty caption; expected a text")
    if annotation["id"] not in IDS:
        raise InputError(
            f"{where} has the id {annotation['id']}; expected a number that fits into 64 bits"
        )
    return annotation["id"], text
