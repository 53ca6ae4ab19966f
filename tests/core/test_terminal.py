"""What a person reads in a terminal obeys nobody; a file or a pipe has every character."""

from __future__ import annotations

import csv
import io
import logging
import os
import sys
from pathlib import Path

import pytest

from infopursuit.core.terminal import LogLines, show

# Colours, the clipboard, CSI of one character, turned letters, lines of their own.
HOSTILE = (
    "red \x1b[31m",
    "\x1b]52;c;aGk=\x07",
    "\x9b31m",
    "\u202egnp.exe",
    "\u2066a\u2069",
    "cat\r\nPrediction: cat 100 %",
    "a\nb",
    "a\u2028b\x85c",
    'a "quoted", name',
    '"\n"',
    "Bär 四条腿 ไฮ",
)


def shown(monkeypatch: pytest.MonkeyPatch, text: str, table: bool) -> str:
    """What arrives at a terminal."""
    pty = pytest.importorskip("pty", reason="no terminals on this system")
    ours, theirs = pty.openpty()
    with open(theirs, "w", encoding="utf-8", newline="") as terminal:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", terminal)
        show(text, table)
        arrived = os.read(ours, 10_000).decode().replace("\r\n", "\n")
        monkeypatch.undo()
    os.close(ours)
    return arrived


def as_csv(rows: list[list[str]], quoting: int) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=quoting).writerows(rows)
    return text.getvalue()


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_names_in_a_table_are_escaped_in_a_terminal(
    quoting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [[name, "0.5", name] for name in HOSTILE]
    arrived = shown(monkeypatch, as_csv(rows, quoting), table=True)
    assert {each for each in arrived if not each.isprintable()} == {"\n"}
    assert arrived.count("\n") == len(HOSTILE)
    found = list(csv.reader(arrived.splitlines()))
    assert [row[0] for row in found] == [row[2] for row in found]
    assert [row[0] for row in found[-3:]] == ['a "quoted", name', r'"\n"', "Bär 四条腿 ไฮ"]
    assert found[5][0] == r"cat\r\nPrediction: cat 100 %"


def test_the_lines_of_a_text_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, 'one "\n\x1b[2J two\n', table=False) == 'one "\n\\x1b[2J two\n'


def test_a_pipe_gets_every_character(capsys: pytest.CaptureFixture[str]) -> None:
    written = as_csv([list(HOSTILE)], csv.QUOTE_MINIMAL)
    show(written, table=True)
    assert capsys.readouterr().out == written


def test_names_in_the_log_are_escaped() -> None:
    lines = LogLines("%(message)s")

    def logged(message: str, *given: object) -> str:
        return lines.format(logging.LogRecord("x", logging.INFO, "", 0, message, given, None))

    assert logged("saved: %s", Path("a\nb\x1b[m")) == r"saved: a\nb\x1b[m"
    assert logged("%s: %d of %s", "a\r\nb", 2, 0.5) == r"a\r\nb: 2 of 0.5"
    assert logged("two\nlines \u202e") == "two\nlines \\u202e"
    assert logged("100 %") == "100 %"
    assert logged("%s; again", OSError("cut\r\noff\x1b[m")) == r"cut\r\noff\x1b[m; again"
