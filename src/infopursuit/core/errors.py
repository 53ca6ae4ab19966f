"""Errors that a user can mend: bad input (`InputError`), and what a disk refuses."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

# The longest message, and how much of its end stays when the middle is left out.
LONGEST, END = 2000, 400
_LINE_ENDS = re.compile(r"[ ]*[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]\s*")
# What a terminal obeys, what turns the order of letters round or has no width, and halves of
# surrogate pairs. Two joiners without a width stay: scripts and emoji need them.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)

_SURROGATE = re.compile("[\ud800-\udfff]")
# What the client of the Hugging Face hub adds to each error.
_REQUEST = re.compile(r"\s*\(Request ID:[^)]*\)")

# Errors of the operating system that a user can mend.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
MISSING = frozenset({errno.ENOENT, errno.ENOTDIR})
BAD_NAMES = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.EISDIR})
USER_ERRORS = NO_ROOM | READ_ONLY | MISSING | BAD_NAMES
REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota of this user is used up",
    errno.EFBIG: "the file is larger than this process may write (ulimit -f)",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "this user may not write there",
    errno.EPERM: "this user may not write there",
}


class InputError(ValueError):
    """A bad parameter, file, row or service, reported in one line that a person can act on.

    The message names the file, key or row, what was expected and what was found. Stages print it
    without a traceback and exit with status 1 (see `infopursuit.core.stage`).

    It quotes what others wrote: line ends become blanks, other control characters are written as
    escapes, and a long message loses its middle.
    """

    def __init__(self, *mistakes: object) -> None:
        super().__init__("\n".join(one_line(str(mistake)) for mistake in mistakes))


def one_such_as(unknown: object, known: Iterable[object], count: int = 3) -> str:
    """Say what is expected in place of a name that is unknown: `one such as 'pizza'`.

    These are the names spelled most alike, or the first ones if none is.
    """
    names = {str(name): name for name in known}
    near = get_close_matches(str(unknown), names, n=count, cutoff=0.5) or list(names)[:count]
    return f"one such as {', '.join(repr(names[name]) for name in near)}"


def writable(text: object) -> str:
    """Return a text that UTF-8 can write: halves of surrogate pairs become U+FFFD."""
    return _SURROGATE.sub("\ufffd", str(text))


def one_line(text: str) -> str:
    """Return a text as one line of at most `LONGEST` characters that any terminal can show."""
    line = _LINE_ENDS.sub(" ", _shorten(text))
    return _shorten(printable(line))


def printable(text: str) -> str:
    """Return a text with escapes in place of what a terminal obeys."""
    return _UNPRINTABLE.sub(lambda match: ascii(match[0])[1:-1], text)


def _shorten(text: str) -> str:
    middle = " ... "
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - END - len(middle)]}{middle}{text[-END:]}"


def is_user_error(error: OSError) -> bool:
    """Return whether a user can mend an error: a full disk, a missing file, no permission."""
    return _number(error) in USER_ERRORS


def explain_os_error(error: OSError, path: str | Path | None = None) -> str:
    """Return one line about an error that a user can mend, with the name of the file."""
    number = _number(error) or errno.ENOSPC
    name = path or error.filename
    if number in BAD_NAMES:
        return f"{name}: {error.strerror}; expected another path"
    if number in MISSING:
        name = name or (None if error.errno else error)  # pyarrow's message is the path
        line = f"{name}: no such file or folder" if name else str(error)
        return f"{line}; it may have been removed meanwhile"
    if number in (errno.EACCES, errno.EPERM) and path is None:  # to read or to write
        return f"{name}: permission denied" if name else str(error)
    reason = REASONS[number]
    return f"{name}: cannot be written, {reason}" if name else f"{reason}; nothing was written"


def _number(error: OSError) -> int | None:
    """Return the number of an error; pyarrow's FileNotFoundError has none."""
    if error.errno is None and isinstance(error, FileNotFoundError):
        return errno.ENOENT
    return error.errno


def hub_reason(error: Exception) -> str:
    """Return what the client of the Hugging Face hub says of an error."""
    # "Please check your connection" stands for what went wrong with it.
    offline = type(error).__name__ == "LocalEntryNotFoundError"
    cause = error.__cause__ if offline else None
    return _REQUEST.sub("", str(cause or error)).strip(" .") or type(error).__name__
