from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.tables import ANSWERS, QUERIES, REJECTED_LINES, read_table, write_table
from infopursuit.queries.captions import Caption
from infopursuit.queries.corpora import described_corpus, given_corpus, has_captions
from infopursuit.queries.language_models import Answer

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
    table = pa.table({"text": pa.array(["TV", "TV"], pa.large_string()), "source": ["a", "b"]})
    pq.write_table(table, tmp_path / "texts.parquet")
    corpus = given_corpus(tmp_path / "texts.parquet")
    assert plain(corpus.queries)["text"] == ["TV", "TV"]
    assert corpus.counts == {"rows": 2, "distinct_texts": 1}
    write_table(tmp_path / "answers.parquet", ANSWERS, corpus.answers)
    write_table(tmp_path / "rejected.parquet", REJECTED_LINES, corpus.rejected)
    assert read_table(tmp_path / "answers.parquet", ANSWERS).num_rows == 0


def test_bad_tables_are_named(tmp_path: Path) -> None:
    path = tmp_path / "texts.parquet"
    with pytest.raises(InputError, match=r"texts\.parquet: no such file"):
        given_corpus(path)
    pq.write_table(pa.table({"text": ["a", " "]}), path)
    with pytest.raises(InputError, match="text of row 1 is blank"):
        given_corpus(path)
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), path)
    with pytest.raises(InputError, match="no rows"):
        given_corpus(path)
    pq.write_table(pa.table({"name": ["a"]}), path)
    with pytest.raises(InputError, match="no column 'text'"):
        given_corpus(path)


def test_the_suffix_tells_the_kind() -> None:
    assert has_captions("a/captions.json")
    assert not has_captions("texts.txt")
    assert not has_captions("texts.parquet")
    assert not has_captions("texts.csv")
    with pytest.raises(InputError, match=r"texts\.tsv: unknown kind of corpus '\.tsv'"):
        has_captions("texts.tsv")


def test_phrases_with_their_kinds_are_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("kind,phrase\npart,long tail\ncolor, dark blue\n")
    assert given_corpus(tmp_path / "words.csv").queries["text"].to_pylist() == [
        "long tail",
        "dark blue",
    ]
    for content, message in (
        ("kind,text\npart,tail\n", r"no column 'phrase' in the first line, found kind, text"),
        ("", "no column 'phrase' in the first line, found nothing"),
        ("phrase\n", "no rows; expected one phrase a row"),
        ("phrase,kind\ntail,part\n,part\n", "the phrase of row 1 is blank"),
    ):
        (tmp_path / "words.csv").write_text(content)
        with pytest.raises(InputError, match=message):
            given_corpus(tmp_path / "words.csv")
    with pytest.raises(InputError, match="no such file"):
        given_corpus(tmp_path / "nowhere.csv")
