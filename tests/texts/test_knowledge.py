"""The knowledge table, its Parquet file, and the lists that a person writes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text_list
from infopursuit.texts.knowledge import KnowledgeTable, knowledge_csv
from infopursuit.texts.knowledge_files import (
    check_classes,
    is_prompt,
    knowledge_of_universe,
    open_knowledge,
)
from infopursuit.texts.knowledge_lists import read_judge, read_knowledge_lists, read_strict
from infopursuit.texts.knowledge_tables import read_knowledge, write_knowledge

NAN = float("nan")
JUDGED = ["cat", "zebra"]
ROOT = Path(__file__).parents[2]


def table(values: list[list[float]], classes: str = "zb", texts: str = "xyw") -> KnowledgeTable:
    return KnowledgeTable(tuple(classes), tuple(texts), np.array(values, np.float32))


SOME = table([[1, 0.5, NAN], [0, NAN, 1]])


def lists(path: Path, *entries: Any) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def about(name: str, yes: list[str], sometimes: list[str]) -> dict[str, Any]:
    return {"class": name, "yes": yes, "sometimes": sometimes}


def test_values_in_the_requested_order() -> None:
    found = SOME.for_classes_and_texts(["b", "ostrich", "z"], ["w", "nowhere", " X. ", "y", "x"])
    expected = [[1, NAN, 0, NAN, 0], [NAN] * 5, [NAN, NAN, 1, 0.5, 1]]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.array(expected, np.float32))
    assert SOME.for_classes_and_texts([], ["x"]).shape == (0, 1)
    assert SOME.for_classes_and_texts(["z"], []).shape == (1, 0)


@pytest.mark.parametrize(
    ("classes", "texts", "values", "message"),
    [
        (("z", "z"), ("x",), [[1], [1]], "the class 'z' is there twice"),
        (("z",), ("Wings", "wings."), [[1, 1]], "the text 'wings' is there twice"),
        (("z",), ("x",), [[0.7]], r"'x' has the value 0\.69.* for the class 'z'; expected 0, 0\.5"),
        (("z",), ("x",), [[np.inf]], "'x' has the value inf"),
    ],
)
def test_values_that_a_table_refuses(
    classes: tuple[str, ...], texts: tuple[str, ...], values: list[list[float]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        KnowledgeTable(classes, texts, np.array(values, np.float32))


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
def test_only_complete_lists_cover_the_other_texts(tmp_path: Path, complete: bool) -> None:
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


ZEBRA = '{"text": "stripes", "true": ["zebra"], "often": ["cat"]}\n'


def judge(path: Path) -> KnowledgeTable:
    return read_judge(path, JUDGED)


LISTED = '{"class": "z", "yes": [], "sometimes": []}\n'


@pytest.mark.parametrize(
    ("reader", "lines", "message"),
    [
        (read_knowledge_lists, "", "the file is empty; expected"),
        (read_knowledge_lists, '{"complete": true, "class": "z"}', r"line 1: class: Extra .*\{"),
        (read_knowledge_lists, LISTED.replace("[]", "7"), "yes: .* list, found 7"),
        (read_knowledge_lists, LISTED.replace("[]", '[" ."]'), r"yes\[0\]: expected a text, found"),
        (read_knowledge_lists, LISTED.replace("z", " "), "class: expected a text"),
        (read_knowledge_lists, LISTED + '{"complete": true}', "line 2: class: Field required"),
        (judge, '{"text": "a", "true": []}', 'line 1: often: .*; expected {"text": TEXT, "true"'),
        (judge, ZEBRA + '{"complete": true}', "line 2: text: Field required"),
    ],
)
def test_mistakes_are_named_with_their_line(
    tmp_path: Path, reader: Callable[[Path], KnowledgeTable], lines: str, message: str
) -> None:
    (tmp_path / "k.jsonl").write_text(lines, encoding="utf-8")
    with pytest.raises(InputError, match=rf"k\.jsonl: .*{message}"):
        reader(tmp_path / "k.jsonl")


def test_a_file_is_about_the_classes_of_the_data_set() -> None:
    check_classes("k", SOME, ["b", "z"])
    with pytest.raises(InputError, match="k: 'b' is not a class of the data set; expected z, y"):
        check_classes("k", SOME, ["z", "y"])
    with pytest.raises(InputError, match="k: nothing about the class 'y'"):
        check_classes("k", SOME, ["z", "b", "y"])


def test_a_class_is_one_in_both_forms_of_its_accents() -> None:
    forms = ["caf\xe9", "cafe\u0301"]
    for name, other in (forms, forms[::-1]):
        table = KnowledgeTable((name, "b"), ("x",), np.array([[1], [0]], np.float32))
        check_classes("k", table, ["b", other])
        assert table.for_classes_and_texts(["b", other], ["x"]).tolist() == [[0], [1]]
    with pytest.raises(InputError, match=r"the class .* is there twice"):
        KnowledgeTable(tuple(forms), ("x",), np.array([[1], [0]], np.float32))


def test_the_suffix_names_the_kind_of_knowledge(tmp_path: Path) -> None:
    assert [is_prompt(name) for name in ("a.jinja", "a.jsonl", "a.parquet")] == [True, False, False]
    with pytest.raises(InputError, match=r"a\.txt: unknown kind of knowledge '\.txt'"):
        is_prompt("a.txt")
    with pytest.raises(InputError, match=r"a\.jinja: expected lists"):
        open_knowledge("a.jinja")
    write_knowledge(tmp_path / "k.parquet", SOME)
    assert open_knowledge(tmp_path / "k.parquet").classes == SOME.classes


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
    ("text", "message"),
    [
        ("", "the file is empty; expected a CSV table of classes"),
        ("name,legs\nz,1\n", "expected a first line with class, found name,legs"),
        ("legs,class\n1,z\n", "the first column is 'legs'; expected 'class'"),
        ("class,legs\nz,2\n", "row 2, column 'legs': '2'; expected 0, 0.5, 1 or an empty cell"),
        ("class,legs\nz,1,0\n", "row 2: 3 cells; expected 2, as in the first row"),
        ("class,legs\nz,1\nz,0\n", "row 3: expected another class, found 'z' again"),
        ("class,legs,Legs\nz,1,0\n", "the text 'legs' is there twice"),
    ],
)
def test_mistakes_of_a_spreadsheet(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "k.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rf"k\.csv: .*{message}"):
        open_knowledge(tmp_path / "k.csv")


SHIPPED = ROOT / "params/precomputed"
KNOWLEDGE, MEANING = SHIPPED / "knowledge", SHIPPED / "meaning"


def stems(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.jsonl"))


@pytest.mark.parametrize("name", stems(KNOWLEDGE))
def test_the_shipped_lists_are_about_their_data_sets(name: str) -> None:
    known = read_knowledge_lists(KNOWLEDGE / f"{name}.jsonl")
    check_classes(name, known, read_text_list(SHIPPED / f"classes/{name}.txt"))
    assert ((known.values > 0).sum(1) > 0).all(), "something is true of every class"


@pytest.mark.parametrize("name", stems(MEANING / "strict"))
def test_each_shipped_strict_text_separates_classes(name: str) -> None:
    classes = read_text_list(SHIPPED / f"classes/{name.split('-')[0]}.txt")
    found = read_strict(MEANING / f"strict/{name}.jsonl", classes)
    assert (found.values == 1).any(axis=0).all()
    assert (found.values == 0).any(axis=0).all()


@pytest.mark.parametrize("name", stems(KNOWLEDGE))
def test_the_shipped_judge_covers_the_knowledge(name: str) -> None:
    knowledge = open_knowledge(KNOWLEDGE / f"{name}.jsonl")
    found = read_judge(MEANING / f"judge/{name}.jsonl", knowledge.classes, knowledge.texts)
    values = found.for_classes_and_texts(knowledge.classes, knowledge.texts)
    assert not np.isnan(values).any()
    assert (values >= 0.5).any(axis=1).all(), "nothing fits some class"


def test_a_strict_text_may_be_unknown_and_classes_have_the_requested_order() -> None:
    classes = list(open_knowledge(KNOWLEDGE / "food10.jsonl").classes)
    found = read_strict(MEANING / "strict/food10-vitb32.jsonl", classes)
    fries = found.values[:, found.texts.index("french fries")]
    assert fries[classes.index("french fries")] == 1
    assert np.isnan(fries[classes.index("hamburger")])
    assert fries[classes.index("sushi")] == 0
    turned = read_strict(MEANING / "strict/food10-vitb32.jsonl", classes[::-1])
    assert np.array_equal(turned.values, found.values[::-1], True)


def test_a_complete_judge_covers_every_text_once(tmp_path: Path) -> None:
    path, texts = tmp_path / "k.jsonl", ["Stripes", "wheels", "Wheels"]
    path.write_text('{"complete": true}\n' + ZEBRA, encoding="utf-8")
    whole = read_judge(path, JUDGED, texts)
    assert whole.texts == ("stripes", "wheels")
    assert whole.values.tolist() == [[0.5, 0.0], [1.0, 0.0]]
    path.write_text(ZEBRA, encoding="utf-8")
    assert read_judge(path, JUDGED, texts).texts == ("stripes",)
