"""The knowledge table, its Parquet file, and the lists that a person writes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.core.errors import InputError
from infopursuit.queries.knowledge import (
    KnowledgeTable,
    distinct_texts,
    read_knowledge,
    write_knowledge,
)
from infopursuit.queries.knowledge_lists import (
    check_classes,
    is_prompt,
    knowledge_of_universe,
    open_knowledge,
    read_knowledge_lists,
)
from infopursuit.queries.normalization import normalize

NAN = float("nan")
ROOT = Path(__file__).parents[2]


def table(values: list[list[float]], classes: str = "zb", texts: str = "xyw") -> KnowledgeTable:
    return KnowledgeTable(tuple(classes), tuple(texts), np.array(values, np.float32))


SOME = table([[1, 0.5, NAN], [0, NAN, 1]])


def lists(path: Path, *entries: Any) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def about(name: str, yes: list[str], sometimes: list[str]) -> dict[str, Any]:
    return {"class": name, "yes": yes, "sometimes": sometimes}


def test_values_in_the_order_that_is_asked_for() -> None:
    found = SOME.for_classes_and_texts(["b", "ostrich", "z"], ["w", "nowhere", " X. ", "y", "x"])
    expected = [[1, NAN, 0, NAN, 0], [NAN] * 5, [NAN, NAN, 1, 0.5, 1]]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.array(expected, np.float32))
    assert SOME.for_classes_and_texts([], ["x"]).shape == (0, 1)
    assert SOME.for_classes_and_texts(["z"], []).shape == (1, 0)


def test_an_empty_table_knows_nothing() -> None:
    empty = KnowledgeTable((), (), np.empty((0, 0), np.float32))
    assert np.isnan(empty.for_classes_and_texts(["z", "b"], ["x"])).all()


def test_values_are_counted() -> None:
    assert SOME.counts() == {"true": 2, "sometimes": 1, "not_true": 1, "unknown": 2}


@pytest.mark.parametrize(
    ("classes", "texts", "values", "message"),
    [
        (("z", "z"), ("x",), [[1], [1]], "the class 'z' is there twice"),
        (("z",), ("Wings", "wings."), [[1, 1]], "the text 'wings' is there twice"),
        (("z",), ("x",), [[0.7]], r"'x' has the value 0\.69.* for the class 'z'; expected 0, 0\.5"),
        (("z",), ("x",), [[np.inf]], "'x' has the value inf"),
    ],
)
def test_a_table_that_is_none(
    classes: tuple[str, ...], texts: tuple[str, ...], values: list[list[float]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        KnowledgeTable(classes, texts, np.array(values, np.float32))


def test_a_table_of_another_shape() -> None:
    with pytest.raises(ValueError, match=r"shape \(1, 2\); expected \(2, 1\)"):
        KnowledgeTable(("z", "b"), ("x",), np.zeros((1, 2), np.float32))


def test_the_first_of_several_spellings() -> None:
    assert distinct_texts(["Wings", "tail", "wings.", "Tail"]) == ["Wings", "tail"]


@given(
    st.integers(0, 4).flatmap(
        lambda c: st.lists(
            st.lists(st.sampled_from([0, 0.5, 1, NAN]), min_size=3, max_size=3),
            min_size=c,
            max_size=c,
        )
    )
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, values: list[list[float]]
) -> None:
    classes = tuple(f"class {row}" for row in range(len(values)))
    texts = ("striped coat", "Tail", "四本足")
    array = np.array(values, np.float32).reshape(len(classes), 3)
    path = tmp_path_factory.mktemp("known") / "k.parquet"
    write_knowledge(path, KnowledgeTable(classes, texts, array))
    back = read_knowledge(path).for_classes_and_texts(classes, texts)
    np.testing.assert_array_equal(back, array)


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


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"class": ["z"], "text": ["x"]}, r"k\.parquet: no column 'value'"),
        (
            {"class": ["z", "b"], "text": ["x", "x"], "value": [1.0, 0.3]},
            r"k\.parquet: the value of row 1 is 0\.3.*; expected 0, 0\.5 or 1",
        ),
        (
            {"class": ["z", "b", "z"], "text": ["Tail", "x", "tail."], "value": [1.0, 1.0, 0.0]},
            r"k\.parquet: row 2 .* class 'z' and the text 'tail\.', as row 0 does",
        ),
    ],
)
def test_a_parquet_file_with_a_mistake(
    tmp_path: Path, columns: dict[str, list], message: str
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "k.parquet")
    with pytest.raises(InputError, match=message):
        read_knowledge(tmp_path / "k.parquet")


def test_lists_make_known_what_any_class_names(tmp_path: Path) -> None:
    path = lists(
        tmp_path / "k.jsonl",
        about("zebra", ["Striped coat", "four legs"], ["tall grass"]),
        about("bus", ["four wheels"], ["striped coat."]),
        about("fog", [], []),
    )
    known = read_knowledge_lists(path, ["wings"])
    assert known.classes == ("zebra", "bus", "fog")
    assert known.texts == ("Striped coat", "four legs", "tall grass", "four wheels")
    np.testing.assert_array_equal(known.values, [[1, 1, 0.5, 0], [0.5, 0, 0, 1], [0, 0, 0, 0]])


@pytest.mark.parametrize("complete", [True, False])
def test_of_the_other_texts_only_complete_lists_speak(tmp_path: Path, complete: bool) -> None:
    path = lists(
        tmp_path / "k.jsonl",
        {"complete": complete},
        about("zebra", ["Striped coat"], ["elsewhere"]),
        about("bus", [], []),
    )
    known = knowledge_of_universe(path, ["bus", "zebra"], ["wings", "striped coat"])
    assert known.classes == ("bus", "zebra")
    assert known.texts == ("wings", "striped coat"), "a text beyond the universe is left out"
    other = 0 if complete else NAN
    np.testing.assert_array_equal(known.values, np.array([[other, 0], [other, 1]], np.float32))


def test_the_shipped_file_says_nothing() -> None:
    path = ROOT / "params/no_knowledge.jsonl"
    known = knowledge_of_universe(path, ["zebra", "bus"], ["wings"])
    assert known.counts() == {"true": 0, "sometimes": 0, "not_true": 0, "unknown": 2}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", r"k\.jsonl: the file is empty; expected"),
        ('{"complete": 1}', r'line 1 is \{"complete": 1\}; expected \{"complete": true\}'),
        ('{"complete": true, "class": "z"}', r"line 1 is .*expected \{"),
        ("[]", r"k\.jsonl: line 1 is \[\]; expected \{\"class\""),
        ('{"class": "z", "yes": []}', r"line 1 is .*expected \{\"class\""),
        ('{"class": "z", "yes": "x", "sometimes": []}', r'line 1: yes is "x"; expected'),
        ('{"class": "z", "yes": [1], "sometimes": []}', r"line 1: yes holds 1; expected a text"),
        ('{"class": "z", "yes": [], "sometimes": [" ."]}', r'sometimes holds " \."; expected a'),
        ('{"class": " ", "yes": [], "sometimes": []}', r"line 1: class is blank"),
        ('\n{"class": "z", "yes"', r"k\.jsonl: line 2 is not valid JSON"),
        (
            '{"class": "z", "yes": ["A tail"], "sometimes": ["a tail."]}',
            r"line 1: the class 'z' has the text 'a tail\.' twice",
        ),
        (
            '{"complete": true}\n{"class": "z", "yes": [], "sometimes": []}\n\n'
            '{"class": "z", "yes": [], "sometimes": []}',
            r"k\.jsonl: line 4 is about the class 'z', as line 2 is",
        ),
        (
            '{"class": "z", "yes": [], "sometimes": []}\n{"complete": true}',
            r"k\.jsonl: line 2 is \{\"complete\": true\}; expected \{\"class\"",
        ),
    ],
)
def test_lists_with_a_mistake(tmp_path: Path, lines: str, message: str) -> None:
    path = tmp_path / "k.jsonl"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_knowledge_lists(path)


def test_lists_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "k.jsonl"
    with pytest.raises(InputError, match=r"k\.jsonl: no such file"):
        read_knowledge_lists(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"k\.jsonl: not a readable UTF-8 text file"):
        read_knowledge_lists(path)


def test_a_file_is_about_the_classes_of_the_data_set() -> None:
    check_classes("k", SOME, ["b", "z"])
    with pytest.raises(InputError, match="k: 'b' is no class of the data set; expected z, y"):
        check_classes("k", SOME, ["z", "y"])
    with pytest.raises(InputError, match="k: nothing about the class 'y'"):
        check_classes("k", SOME, ["z", "b", "y"])


def test_the_suffix_tells_what_knowledge_is(tmp_path: Path) -> None:
    assert [is_prompt(name) for name in ("a.jinja", "a.jsonl", "a.parquet")] == [True, False, False]
    with pytest.raises(InputError, match=r"a\.csv: unknown kind of knowledge '\.csv'"):
        is_prompt("a.csv")
    with pytest.raises(InputError, match=r"a\.jinja: expected lists"):
        open_knowledge("a.jinja")
    write_knowledge(tmp_path / "k.parquet", SOME)
    assert open_knowledge(tmp_path / "k.parquet").classes == SOME.classes


PRECOMPUTED = sorted((ROOT / "params/precomputed/knowledge").glob("*.jsonl"))


@pytest.mark.parametrize("path", PRECOMPUTED, ids=[path.stem for path in PRECOMPUTED])
def test_the_shipped_lists_are_about_their_data_sets(path: Path) -> None:
    classes = (ROOT / f"params/precomputed/classes/{path.name}").with_suffix(".txt")
    known = read_knowledge_lists(path)
    check_classes(path, known, classes.read_text(encoding="utf-8").splitlines())
    assert [text for text in known.texts if not normalize(text)] == []
    assert ((known.values > 0).sum(1) > 0).all(), "something is true of every class"
