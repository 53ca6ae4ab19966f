"""The files in which data sets keep their lists: numbered lines, JSON mappings, MATLAB arrays.

Each reader names the file, and the line where there is one, of what it cannot read.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infopursuit.core.errors import InputError
from infopursuit.core.text_files import read_json, read_text

IN_ARCHIVE = "expected it as the data set's archive has it"


class Line(NamedTuple):
    """The rest of a numbered line, and where it is, for messages."""

    text: str
    where: str


def numbered_lines(path: Path) -> dict[int, Line]:
    """Read lines `NUMBER TEXT` with numbers of their own, in the order of the file.

    Raises:
        InputError: the file is missing, not UTF-8 or empty, or a line is not of this form or
            repeats a number.
    """
    lines: dict[int, Line] = {}
    for row, raw in enumerate(read_text(path, IN_ARCHIVE).splitlines(), start=1):
        where = f"{path}: line {row}"
        match = re.fullmatch(r"([0-9]+)\s+(\S.*?)\s*", raw)
        if match is None:
            raise InputError(f"{where}: expected a number, a blank and a text, found {raw[:80]!r}")
        number = int(match[1])
        if number in lines:
            raise InputError(f"{where} repeats the number {number}; expected distinct numbers")
        lines[number] = Line(match[2], where)
    if not lines:
        raise InputError(f"{path}: the file is empty; expected lines of a number and a text")
    return lines


def json_mapping(path: Path) -> dict[str, Any]:
    """Read a JSON object; InputError where the file is missing or holds something else."""
    content = read_json(path, IN_ARCHIVE)
    if not isinstance(content, dict):
        raise InputError(f"{path}: expected a JSON object, found {type(content).__name__}")
    return content


def matlab_array(path: Path, name: str, fields: tuple[str, ...] = ()) -> np.ndarray:
    """Read one variable of a .mat file, an (n,) array; of structs where it must have `fields`.

    Raises:
        InputError: the file is missing or damaged, or has no such variable or fields.
    """
    from scipy.io import loadmat

    if not path.is_file():
        raise InputError(f"{path}: no such file; {IN_ARCHIVE}")
    try:
        content = loadmat(path, squeeze_me=True)
    except Exception as error:  # a damaged file raises many things in scipy
        raise InputError(f"{path}: not a readable .mat file ({error})") from error
    if name not in content:
        found = ", ".join(key for key in content if not key.startswith("__"))
        raise InputError(f"{path}: no variable {name!r}; found {found or 'none'}")
    array = np.atleast_1d(content[name])
    for field in fields:
        if field not in (array.dtype.names or ()):
            found = ", ".join(array.dtype.names or ()) or "none"
            raise InputError(f"{path}: {name} has no field {field!r}; found {found}")
    return array
