import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.tables import ANSWERS, QUERIES, REJECTED_LINES, read_table, write_table
from infopursuit.generation.corpora import (
    Caption,
    described_corpus,
    given_corpus,
    has_captions,
    read_captions,
)
from infopursuit.generation.language_models import Answer

CAPTIONS = [Caption("A dog.", (7, 5)), Caption("Nothing.", (3,)), Caption("A cat.", (9,))]
ANSWERED = [
    Answer("1. Four legs\n2. tail or ear\n3. fur", "stop"),
    Answer("UNFIT", "stop"),
    Answer("1. four legs\n2. whisk", "length"),
]


def plain(columns: dict[str, Any]) -> dict[str, list[Any]]:
    """Columns as lists, whether they are lists or Arrow arrays."""
    return {
        name: rows if isinstance(rows, list) else rows.to_pylist() for name, rows in columns.items()
    }


def test_each_concept_goes_with_every_id_of_its_caption(tmp_path: Path) -> None:
    corpus = described_corpus(CAPTIONS, ANSWERED, limit=20)
    assert list(zip(*plain(corpus.queries).values(), strict=True)) == [
        ("four legs", 7), ("four legs", 5), ("fur", 7), ("fur", 5), ("four legs", 9),
    ]  # fmt: skip
    assert list(zip(*plain(corpus.rejected).values(), strict=True)) == [
        ("A dog.", "2. tail or ear", "or"),
        ("Nothing.", "UNFIT", "unfit caption"),
        ("A cat.", "2. whisk", "truncated"),
    ]
    assert corpus.counts == {
        "captions": 4,
        "distinct_captions": 3,
        "captions_without_concepts": 1,
        "finish_reasons": {"stop": 2, "length": 1},
        "lines": 6,
        "concepts": 3,
        "rejected_lines": {"or": 1, "unfit caption": 1, "truncated": 1},
        "rows": 5,
        "distinct_texts": 2,
    }
    for schema, columns in (
        (QUERIES, corpus.queries),
        (ANSWERS, corpus.answers),
        (REJECTED_LINES, corpus.rejected),
    ):
        write_table(tmp_path / "table.parquet", schema, columns)
        assert read_table(tmp_path / "table.parquet", schema).to_pydict() == plain(columns)


def test_answers_without_any_concept() -> None:
    with pytest.raises(InputError, match=r"none of 1 answers holds a concept.*'unfit caption': 1"):
        described_corpus(CAPTIONS[:1], ANSWERED[1:2], limit=20)


def test_given_texts_keep_their_spelling(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("Long Tail\n two wheels \n", encoding="utf-8")
    assert plain(given_corpus(tmp_path / "texts.txt").queries) == {
        "text": ["Long Tail", "two wheels"],
        "caption_id": [None, None],
    }
    (tmp_path / "words.csv").write_text("kind,phrase\npart,long tail\ncolor, dark blue\n")
    phrases = given_corpus(tmp_path / "words.csv").queries["text"].to_pylist()
    assert phrases == ["long tail", "dark blue"]
    table = pa.table({"text": pa.array(["TV", "TV"], pa.large_string()), "source": ["a", "b"]})
    pq.write_table(table, tmp_path / "texts.parquet")
    corpus = given_corpus(tmp_path / "texts.parquet")
    assert plain(corpus.queries)["text"] == ["TV", "TV"]
    assert corpus.counts == {"rows": 2, "distinct_texts": 1}
    write_table(tmp_path / "answers.parquet", ANSWERS, corpus.answers)
    assert read_table(tmp_path / "answers.parquet", ANSWERS).num_rows == 0


@pytest.mark.parametrize(
    ("column", "message"),
    [({"text": ["a", " "]}, "row 1 is blank"), ({"name": ["a"]}, "no column 'text'")],
)
def test_bad_texts_are_named(tmp_path: Path, column: dict[str, list], message: str) -> None:
    pq.write_table(pa.table(column), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=rf"t\.parquet: .*{message}"):
        given_corpus(tmp_path / "t.parquet")


def test_the_suffix_names_the_kind() -> None:
    names = ("a/captions.json", "texts.txt", "texts.parquet", "texts.csv")
    assert [has_captions(name) for name in names] == [True, False, False, False]
    with pytest.raises(InputError, match=r"texts\.tsv: unknown kind of corpus '\.tsv'"):
        has_captions("texts.tsv")


def annotations(*pairs: tuple[object, object]) -> str:
    rows = [{"id": i, "image_id": 1, "caption": text} for i, text in pairs]
    return json.dumps({"annotations": rows})


def test_equal_captions_are_joined_in_order_of_their_first(tmp_path: Path) -> None:
    path = tmp_path / "captions.json"
    path.write_text(annotations((7, "A dog. "), (3, "A cat."), (5, "A\ndog.")), encoding="utf-8")
    assert read_captions(path) == [Caption("A dog.", (7, 5)), Caption("A cat.", (3,))]
    assert read_captions(path, limit=2) == [Caption("A dog.", (7,)), Caption("A cat.", (3,))]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (annotations(), "annotations: List should have at least 1 item"),
        (annotations((2**64, "x")), "id: .* less than 9223"),
        (annotations((1, "x"), (1, "y")), r"annotations\[1\] has the id 1 of"),
        (annotations((1, "\ud83d")), "surrogate"),
        (annotations((True, "x")), r"annotations\[0\]\.id: .* found True"),
        (annotations((1, "x"), (2, " \n")), r"annotations\[1\] \(id 2\) has an empty caption"),
    ],
)
def test_bad_captions_are_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "c.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_captions(tmp_path / "c.json")
