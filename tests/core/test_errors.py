"""A message is one line, whatever it quotes."""

from __future__ import annotations

import pytest

from infopursuit.core.errors import LONGEST, InputError


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("a.txt: no such file", "a.txt: no such file"),
        ("two\nlines", "two lines"),
        ("a \r\n  b\u2028c\x85d\x0be", "a b c d e"),
        ("red \x1b[31m and bell \x07", r"red \x1b[31m and bell \x07"),
        ("NUL \0", r"NUL \x00"),
        ("turned \u202eround", r"turned \u202eround"),
        ("half \ud800", r"half \ud800"),
        ("a\u200fb\u2060c\ufeffd", r"a\u200fb\u2060c\ufeffd"),
        ("soft\xad, \u061c, \U000e0041", r"soft\xad, \u061c, \U000e0041"),
        ("Bär 四条腿 🦓\u200d", "Bär 四条腿 🦓\u200d"),
        (r"a\nb", r"a\nb"),
    ],
)
def test_a_message_is_one_line_that_a_terminal_can_show(message: str, told: str) -> None:
    assert str(InputError(message)) == told
    assert str(InputError(InputError(message))) == told


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    told = str(InputError(f"a.json: found {'x' * 10**7}; expected a list"))
    assert len(told) == LONGEST
    assert told.startswith("a.json: found xxx")
    assert " ... xxx" in told
    assert told.endswith("xxx; expected a list")
    assert len(str(InputError("\x00" * LONGEST))) == LONGEST
