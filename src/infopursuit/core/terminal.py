"""What people read in a terminal: nothing that others wrote gives it orders or adds lines.

Names of files, classes and questions may come from strangers, and a terminal obeys some characters:
one may take what is on the screen away, or fill the clipboard. All that a command prints goes
through `show`, and all that it logs through `LogLines`.
"""

from __future__ import annotations

import logging
import sys
from copy import copy
from pathlib import Path

from infopursuit.core.errors import InputError, printable


def show(text: str, table: bool = False) -> None:
    """Write to the standard output: exactly, or with escapes if it is a terminal.

    Args:
        text: its line ends stay.
        table: whether it is CSV. Line ends inside of its quotes are escaped, too.
    """
    if sys.stdout is None:
        raise InputError("the standard output is closed; expected it open, or --out")
    if sys.stdout.isatty():
        parts = text.split('"') if table else [text]  # a quote inside of quotes is two of them
        text = '"'.join(printable(part) if n % 2 else _lines(part) for n, part in enumerate(parts))
    sys.stdout.write(text)
    sys.stdout.flush()


class LogLines(logging.Formatter):
    """Formats what is logged: texts and paths that a message quotes are one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        if isinstance(record.args, tuple):
            record = copy(record)
            record.args = tuple(
                printable(str(each)) if isinstance(each, str | Path | Exception) else each
                for each in record.args or ()
            )
        return _lines(super().format(record))


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
