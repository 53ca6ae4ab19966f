"""Plain lists of texts, one a line: dictionaries, class names, texts a person gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from infopursuit.core.errors import InputError
from infopursuit.core.text_files import read_text
from infopursuit.core.whole_files import write_text


def read_text_list(path: str | Path) -> list[str]:
    """Read one text a line, in order; blank lines are skipped, surrounding blanks removed.

    Raises:
        InputError: the file is missing, not UTF-8, empty, or names a text twice.
    """
    lines = read_text(path, "expected one text a line").splitlines()
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text:
            continue
        if text in seen:
            raise InputError(f"{path}: line {number} repeats {text!r} of line {seen[text]}")
        seen[text] = number
    if not seen:
        raise InputError(f"{path}: the file is empty; expected one text a line")
    return list(seen)


def write_text_list(path: str | Path, texts: Sequence[str]) -> None:
    """Write one text a line."""
    write_text(path, "".join(f"{text}\n" for text in texts))
