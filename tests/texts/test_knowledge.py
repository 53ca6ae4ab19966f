"""The knowledge table, its Parquet file, and its CSV table."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text_list
from infopursuit.texts.knowledge import KnowledgeTable, knowledge_csv
from infopursuit.texts.knowledge_files import (
    check_classes,
    is_prompt,
    knowledge_of_classes,
    open_knowledge,
)
from infopursuit.texts.knowledge_tables import read_knowledge, write_knowledge

NAN = float("nan")
ROOT = Path(__file__).parents[2]


def table(values: list[list[float]], classes: str = "zb", texts: str = "xyw") -> KnowledgeTable:
    return KnowledgeTable(tuple(classes), tuple(texts), np.array(values, np.float32))


SOME = table([[1, 0.5, NAN], [0, NAN, 1]])


def test_values_in_the_requested_order() -> None:
    found = SOME.for_classes_and_texts(["b", "ostrich", "z"], ["w", "nowhere", " X. ", "y", "x"])
    expected = [[1, NAN, 0, NAN, 0], [NAN] * 5, [NAN, NAN, 1, 0.5, 1]]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.array(expected, np.float32))
    assert SOME.for_classes_and_texts([], ["x"]).shape == (0, 1)
    assert SOME.for_classes_and_texts(["z"], []).shape == (1, 0)


def test_the_file_has_a_row_for_each_known_value(tmp_path: Path) -> None:
    path = tmp_path / "k.parquet"
    write_knowledge(path, SOME)
    assert pq.read_table(path).to_pydict() == {
        "class": ["z", "z", "b", "b"],
        "text": ["x", "y", "x", "w"],
        "value": [1, 0.5, 0, 1],
    }
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"
    first = path.read_bytes()
    write_knowledge(path, read_knowledge(path))
    assert path.read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]


def test_a_class_is_one_in_both_forms_of_its_accents() -> None:
    forms = ["caf\xe9", "cafe\u0301"]
    for name, other in (forms, forms[::-1]):
        table = KnowledgeTable((name, "b"), ("x",), np.array([[1], [0]], np.float32))
        check_classes("k", table, ["b", other])
        assert table.for_classes_and_texts(["b", other], ["x"]).tolist() == [[0], [1]]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: "\ufeff" + text.replace(",", ";").replace("0.5", "0,5") + ";;\r\n",
        lambda text: text.replace(",", "\t").replace("\n", "\r\n"),
        lambda text: text.replace('"', ""),
        lambda text: text.replace('""', "NA").replace('"0.5"', "0.5").replace('"0"', "0"),
        lambda text: text.replace('"class"', "Class").replace('"', "").replace("\n", ",,\n"),
    ],
    ids=["as written", "a German spreadsheet", "tabs", "no quotes", "R", "empty columns"],
)
def test_a_table_goes_through_a_spreadsheet(tmp_path: Path, change: Callable) -> None:
    (tmp_path / "k.csv").write_text(change(knowledge_csv(SOME)), encoding="utf-8")
    read = open_knowledge(tmp_path / "k.csv")
    assert (read.classes, read.texts) == (SOME.classes, SOME.texts)
    np.testing.assert_array_equal(read.values, SOME.values)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("name,legs\nz,1\n", "first line"),
        ("legs,class\n1,z\n", "first column"),
        ("class,legs\nz,2\n", "row 2"),
        ("class,legs\nz,1,0\n", "cells"),
        ("class,legs\nz,1\nz,0\n", "row 3"),
        ("class,legs,Legs\nz,1,0\n", "twice"),
        ("class,legs\nz,1\n", "'b'"),
        ("class,legs\nz,1\nb,0\nc,0\n", "'c'"),
    ],
)
def test_tables_that_are_refused(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "k.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=word):
        knowledge_of_classes(tmp_path / "k.csv", ["z", "b"])


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: table([[1, 0, 0], [1, 0, 0]], "zz"), "twice"),
        (lambda: table([[1, 1, 1]], "z", "Xx."), "twice"),
        (lambda: table([[0.7, 0, 0]], "z"), "0.5"),
        (lambda: table([[np.inf, 0, 0]], "z"), "inf"),
        (lambda: is_prompt("a.txt"), "txt"),
        (lambda: open_knowledge("a.jinja"), "csv"),
    ],
)
def test_values_and_files_that_are_none(make: Callable, word: str) -> None:
    with pytest.raises(InputError, match=word):
        make()


SHIPPED = ROOT / "params/precomputed"
TABLES = sorted([*SHIPPED.glob("knowledge/*.csv"), *SHIPPED.glob("reference_labels/*/*.csv")])


@pytest.mark.parametrize("path", TABLES, ids=[f"{each.parent.name}-{each.stem}" for each in TABLES])
def test_a_shipped_table_is_about_its_data_set(path: Path) -> None:
    classes = read_text_list(SHIPPED / f"classes/{path.stem.split('-')[0]}.txt")
    values = knowledge_of_classes(path, classes).values
    if path.parent.name == "answers":
        assert ((values == 1).any(axis=0) & (values == 0).any(axis=0)).all(), "it separates"
    else:
        assert not np.isnan(values).any()
        assert (values >= 0.5).any(axis=1).all(), "something is true of every class"
