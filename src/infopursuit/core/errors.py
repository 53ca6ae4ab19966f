"""The one exception that means: the input is at fault, and here is what to change."""

from __future__ import annotations

import re

# What a message may have at most: whoever sends a text of 10 MB has it told by its beginning.
LONGEST, END = 2000, 400
_LINE_ENDS = re.compile(r"[ ]*[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]\s*")
# What a terminal obeys, what turns the order of letters round, and halves of surrogate pairs.
_UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class InputError(ValueError):
    """A bad parameter, file, row or service, told in one line a person can act on.

    The message names the file, key or row, what was expected and what was found. Stages print it
    without a traceback and exit with status 1 (see `infopursuit.core.stage`).

    It quotes what others wrote: line ends become blanks, other control characters are written as
    escapes, and of a long message the middle is left out.
    """

    def __init__(self, message: object) -> None:
        super().__init__(one_line(str(message)))


class CheckError(InputError):
    """Several mistakes at once, a line for each, as `infopursuit check` tells them."""

    def __init__(self, message: str) -> None:
        ValueError.__init__(self, "\n".join(map(one_line, message.split("\n"))))


def one_line(text: str) -> str:
    """A text as one line of at most `LONGEST` characters that any terminal can show."""
    line = _LINE_ENDS.sub(" ", _shortened(text))
    return _shortened(_UNSHOWN.sub(lambda found: ascii(found[0])[1:-1], line))


def _shortened(text: str) -> str:
    """The beginning and the end, where a text is too long."""
    middle = " ... "
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - END - len(middle)]}{middle}{text[-END:]}"
