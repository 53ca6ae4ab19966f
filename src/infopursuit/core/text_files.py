"""Texts and JSON that somebody else wrote: read whole, every fault told with its place.

JSON can hold what no one else can: numbers of any length, lists in lists without end, and half of a
surrogate pair, which no UTF-8 file can hold. All three are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError

# An escaped half of a surrogate pair; whole pairs have two of them.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_text(path: str | Path, expected: str) -> str:
    """The text of a file in UTF-8; a byte order mark, as Windows writes it, is no part of it.

    Args:
        path: the file.
        expected: what should be there, the end of the message about a file that is missing.

    Raises:
        InputError: the file is missing, not readable or not UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; {expected}") from error
    except (OSError, ValueError) as error:  # a path that no file can have is a ValueError
        told = (error.strerror if isinstance(error, OSError) else None) or error
        raise InputError(f"{path}: not a readable UTF-8 text file ({told})") from error


def read_json(path: str | Path, expected: str) -> Any:
    """The value in a JSON file.

    Args:
        path: the file.
        expected: what should be there, the end of every message.

    Raises:
        InputError: as `read_text`, or the file is not JSON; the message names the line.
    """
    text = read_text(path, expected)
    try:
        return _parsed(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}: not valid JSON, line {error.lineno}: {error.msg}; {expected}"
        ) from error
    except _UnusableError as error:
        raise InputError(f"{path} holds {error}; {expected}") from error


def json_lines(path: str | Path, expected: str, form: str) -> Iterator[tuple[int, Any]]:
    """The values in a file of one JSON value a line, with the numbers of their lines from 1 on.

    Blank lines are passed over.

    Args:
        path: the file.
        expected: what should be there, for the message about a file that is missing.
        form: what a line should be, the end of the message about one that is not JSON.

    Raises:
        InputError: as `read_text`, or a line is not JSON.
    """
    # Not splitlines: a JSON text may hold other characters that Unicode counts as line ends.
    for number, line in enumerate(read_text(path, expected).split("\n"), start=1):
        if line.strip():
            try:
                yield number, _parsed(line)
            except json.JSONDecodeError as error:
                raise InputError(
                    f"{path}: line {number} is not valid JSON: {error.msg}; {form}"
                ) from error
            except _UnusableError as error:
                raise InputError(f"{path}: line {number} holds {error}; {form}") from error


class _UnusableError(Exception):
    """JSON that this project has no use for; the message says what it holds."""


def _parsed(text: str) -> Any:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError as error:
        raise _UnusableError("lists or objects too deep in one another") from error
    except ValueError as error:  # Python reads no whole number of more than 4300 digits
        raise _UnusableError("a number that is too long") from error
    if _SURROGATE.search(text) and not is_unicode(json.dumps(value, ensure_ascii=False)):
        raise _UnusableError("half of a surrogate pair")
    return value


def there(path: Path) -> bool:
    """Whether there is a file; not where no file can be called that."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
