"""Texts and JSON of others: what cannot be read is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.text_files import json_lines, read_json, read_text


def test_a_text_comes_without_the_mark_of_windows(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("\ufeffcat\n".encode())
    assert read_text(tmp_path / "a", "expected a text") == "cat\n"


def test_what_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"\xff")
    with pytest.raises(InputError, match="a: no such file; expected a text"):
        read_text(tmp_path / "a", "expected a text")
    with pytest.raises(InputError, match="b: not a readable UTF-8 text file"):
        read_text(tmp_path / "b", "expected a text")
    with pytest.raises(InputError, match=r"not a readable UTF-8 text file .*null"):
        read_text("a\0b", "expected a text")
    with pytest.raises(InputError, match=r"not a readable UTF-8 text file .*too long"):
        read_text("a" * 5000, "expected a text")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not valid JSON, line 1: .*; expected x"),
        ("[" * 5000, "holds lists or objects too deep in one another; expected x"),
        ("9" * 5000, "holds a number that is too long; expected x"),
        (r'["\ud800"]', "holds half of a surrogate pair; expected x"),
        (r'{"\uDC00": 1}', "holds half of a surrogate pair; expected x"),
    ],
)
def test_json_that_nobody_can_use_is_told(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=f"a.json:? {told}"):
        read_json(path, "expected x")
    path.write_text(f"1\n\n{text}\n")
    line = told.replace("not valid JSON, line 1", "is not valid JSON").replace(
        "expected x", "expected y"
    )
    with pytest.raises(InputError, match=f"a.json: line 3 {line}"):
        list(json_lines(path, "expected x", "expected y"))


def test_whole_pairs_and_plain_values_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": ["\\ud83e\\udd93", 1.5, null]}', encoding="utf-8")
    assert read_json(path, "") == {"a": ["\U0001f993", 1.5, None]}
    path.write_text('"a\u2028b"\n3\n', encoding="utf-8")
    assert list(json_lines(path, "", "")) == [(1, "a\u2028b"), (2, 3)]
