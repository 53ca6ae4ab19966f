"""Tables as spreadsheets, R, people and we write them; what is cut or uneven is named."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from infopursuit.core.csv_tables import csv_text, read_csv_table, write_csv
from infopursuit.core.errors import InputError

PLAIN = "species,size,red\nK\u00f6nigskerze,1.5,yes\nSorrel,,no\nFern,2,no\n"
NAMES = ["species", "size", "red"]
ROWS = [["K\u00f6nigskerze", "1.5", "yes"], ["Sorrel", "", "no"], ["Fern", "2", "no"]]


def trailing(text: str, commas: int) -> str:
    return "".join(f"{line}{',' * commas}\n" for line in text.splitlines())


def quoted(text: str) -> str:
    return csv_text(line.split(",") for line in text.splitlines())


UTF8 = [
    lambda text: text,
    lambda text: text[:-1],  # a person's file may end without a line break
    lambda text: "\ufeff" + text,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.replace("\n", "\r"),
    lambda text: "\n" + text.replace("\n", "\n\n"),
    lambda text: trailing(text, 2),
    lambda text: trailing(text, 1) + ",,,,,\n,,,\n",
    lambda text: text.replace(",", ";"),
    lambda text: text.replace(",", "\t"),
    lambda text: "sep=;\n" + text.replace(",", ";"),
    lambda text: '\ufeff"sep=\t"\r\n' + text.replace(",", "\t"),
    lambda text: text.replace(",", " , ").replace("\n", " \n"),
    quoted,
    lambda text: quoted(text).replace('","', '";"'),
    lambda text: quoted(text).replace("\n", "\r\n"),
    lambda text: text.replace("species,size,red", '"species","size","red"'),
]


@pytest.mark.parametrize("change", UTF8)
def test_a_table_is_the_same_however_it_was_saved(
    tmp_path: Path, change: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.csv").write_text(change(PLAIN), encoding="utf-8", newline="")
    table = read_csv_table(tmp_path / "a.csv", ["Size", "red"])
    assert (table.names, table.rows) == (NAMES, ROWS)
    assert table.column("SPECIES") == ["K\u00f6nigskerze", "Sorrel", "Fern"]
    assert table.decimal_comma == (";" in change(PLAIN) or "\t" in change(PLAIN))
    assert not caplog.records


@pytest.mark.parametrize(
    "encoded",
    [
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-16-le"),
        lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
        lambda text: text.replace(",", "\t").encode("utf-16"),
        lambda text: text.encode("cp1252"),
    ],
)
def test_encodings_of_spreadsheets(
    tmp_path: Path, encoded: Callable[[str], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.csv").write_bytes(encoded(PLAIN))
    assert read_csv_table(tmp_path / "a.csv").rows == ROWS
    guessed = encoded(PLAIN) == PLAIN.encode("cp1252")
    assert [b"K\xc3\xb6nigskerze".decode() in each.message for each in caplog.records] == [
        True
    ] * guessed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty; expected a CSV table"),
        (b",,\n\n,,\n", "the file is empty"),
        (b"a,b\nc,d\ne\n", "row 3: 1 cells; expected 2"),
        (b"a,b\nc,d\n\ne,f,g\n", "row 4: 3 cells; expected 2"),
        (b'a,b\n"c"d,e\n', r"row 2: .*expected after"),
        (b'"a","b"\n"c","', "row 2: a quote that is not closed; was the file cut"),
        (b"A,b,a\n1,2,3\n", "several columns 'a'; expected a first line with a, found A,b,a"),
        (b"b\nx\n", "no column 'a'; expected a first line with a, found b"),
        (b"a\n\xc3\xb6\n\xff\n", r"not a readable CSV file \('utf-8'"),
        (codecs.BOM_UTF16_LE + b"a\0,", r"not a readable CSV file \('utf-16-le'"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(InputError, match=rf"a\.csv: {message}"):
        read_csv_table(tmp_path / "a.csv", ["a"])
    with pytest.raises(InputError, match=r"b\.csv: no such file; expected a CSV table"):
        read_csv_table(tmp_path / "b.csv")


STRANGE = [
    *("cat", "cat ", " cat", "\ta\t", "a\rb", "a\r\nb", "a\nb", "a\u2028b", "\x85", "\x1c"),
    *('say "no"', "=1+1", "-1", "@", "a,b;c\td", "sep=;", "\ufeffa", "long" * 40_000),
]


def test_what_we_write_comes_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [[name, value, STRANGE[-1 - place]] for place, (name, value) in enumerate(
        zip(STRANGE, range(len(STRANGE)), strict=True))]  # fmt: skip
    for first in STRANGE:  # any of them may be the first name, too
        header = [first, "value", "other"]
        write_csv(path, header, rows)
        table = read_csv_table(path)
        assert (table.names, table.rows) == (header, [[a, str(b), c] for a, b, c in rows])
        assert table.edited({}, []).encode() == path.read_bytes()


def test_a_file_of_ours_that_is_cut_is_never_read_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.csv"
    write_csv(path, NAMES, [*ROWS, ["a", 'b "c" d', 'said "ann"']])
    whole = path.read_bytes()
    for cut in range(1, len(whole) - whole.index(b'"red"')):
        path.write_bytes(whole[:-cut])
        caplog.clear()
        try:
            read = read_csv_table(path).rows
        except InputError as error:
            assert "row" in str(error)
        else:
            complete = whole[-cut - 1 :].startswith(b"\n")
            assert complete or "was the file cut?" in caplog.text, whole[:-cut][-20:]
            rows = list(csv.reader(whole.decode().splitlines()))[1:]
            assert read[:-1] == rows[: max(len(read) - 1, 0)]


def test_cells_are_changed_and_all_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"sep=;\r\nA; b ;;\r\n\r\n1;\xe4;;note\r\n3;4\r\n;;;\r\n")
    table = read_csv_table(path)
    assert table.names == ["A", "b", ""]
    assert table.where(1, "b") == f"{path}: row 4, column 'b'"
    path.write_text(table.edited({(1, "B"): "5"}, [{"a": "6", "c": "7"}]), encoding="utf-8")
    assert path.read_text(encoding="utf-8").splitlines() == [
        "\ufeffsep=;",
        '"A";"b";"";"";"c"',
        "",
        '"1";"\u00e4";"";"note";""',
        '"3";"5";"";"";""',
        '"6";"";"";"";"7"',
        '"";"";"";"";""',
    ]
    again = read_csv_table(path)
    assert (again.names, again.numbers) == (["A", "b", "", "c"], [3, 4, 5])
