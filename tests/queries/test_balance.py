"""Nothing is lost between answers and universe: what goes in equals what comes out, by reason."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from infopursuit.core.tables import (
    QUERIES,
    REJECTED_LINES,
    REJECTED_TEXTS,
    ROW_GROUP,
    UNIVERSE,
    write_table,
)
from infopursuit.queries.corpora import Corpus, described_corpus
from infopursuit.queries.language_models import Answer
from infopursuit.queries.parsing import Reason
from infopursuit.queries.universe import Universe, UniverseFilters, build_universe
from tests.queries import grammar
from tests.queries import reference_parsing as reference

CAPTIONS = grammar.captions(3000)
ANSWERS = list(grammar.answers(len(CAPTIONS)))
FILTERS = UniverseFilters(
    max_words=5, min_characters=3, max_characters=60, drop_or=True, drop_parentheses=True,
    class_names=("fire_truck", "bus", "giraffe"),
)  # fmt: skip
DICTIONARY = [grammar.concept(rank) for rank in range(0, 500, 7)] + ["red bus", "Bus or truck"]
ALL_FILTERS = {
    "empty", "unprintable", "min_characters", "max_characters", "max_words", "or", "parentheses",
    "class_names",
}  # fmt: skip


def lines_of(answer: Answer) -> list[str]:
    """All lines that are not blank, without outer blanks; the end of thoughts ends a line."""
    text = "\n".join(answer.text.rpartition("</think>")[::2])
    return [line.strip() for line in text.splitlines() if line.strip()]


@cache
def described() -> Corpus:
    return described_corpus(CAPTIONS, ANSWERS, grammar.CONCEPTS)


@cache
def written() -> list[tuple[str, int]]:
    """Every line as a text of its own, as a list of another origin might have it."""
    return [
        (line, number)
        for caption, answer in zip(CAPTIONS, ANSWERS, strict=True)
        for line in lines_of(answer)
        for number in caption.ids
    ]


@cache
def universe() -> Universe:
    texts, numbers = zip(*written(), strict=True)
    lines = pa.table({"text": pa.array(texts), "caption_id": pa.array(numbers)})
    corpora = {"coco": pa.table(described().queries), "lines": lines}
    return build_universe({"menagerie": DICTIONARY}, corpora, FILTERS)


def test_lines_in_are_concepts_and_rejected_lines() -> None:
    counts, rejected = described().counts, described().rejected
    lines = [line for answer in ANSWERS for line in lines_of(answer)]
    assert counts["lines"] == len(lines)
    assert counts["lines"] == counts["concepts"] + sum(counts["rejected_lines"].values())
    assert set(counts["rejected_lines"]) == set(Reason)
    assert counts["rejected_lines"] == Counter(rejected["reason"].to_pylist())
    assert counts["rows"] == len(described().queries["text"])
    assert counts["distinct_texts"] == len(set(described().queries["text"].to_pylist()))


def test_every_rejected_line_is_a_line_of_its_answer() -> None:
    answer_of = dict(zip([caption.text for caption in CAPTIONS], ANSWERS, strict=True))
    lines = Counter((text, line) for text, answer in answer_of.items() for line in lines_of(answer))
    rejected = described().rejected
    found = Counter(zip(rejected["caption"].to_pylist(), rejected["line"].to_pylist(), strict=True))
    assert found <= lines


def test_concepts_are_those_of_the_obvious_version() -> None:
    expected = [
        (text, number)
        for caption, answer in zip(CAPTIONS, ANSWERS, strict=True)
        for text in reference.parse_answer(answer, grammar.CONCEPTS).concepts
        for number in caption.ids
    ]
    queries = described().queries
    assert expected == list(zip(*(column.to_pylist() for column in queries.values()), strict=True))


def test_texts_in_are_kept_dropped_and_merged() -> None:
    counts = universe().counts
    rows = [*DICTIONARY, *described().queries["text"].to_pylist(), *(t for t, _ in written())]
    assert sum(counts["rows"].values()) == len(rows)
    assert counts["distinct_spellings"] == len({row.strip() for row in rows})
    dropped = sum(counts["dropped"].values())
    assert counts["distinct_spellings"] == counts["texts"] + counts["merged_spellings"] + dropped
    assert counts["texts"] == len(universe().texts["text"])
    assert counts["merged_spellings"] > 0
    assert counts["dropped"] == Counter(universe().rejected["reason"].to_pylist())
    assert set(counts["dropped"]) == ALL_FILTERS
    assert set(counts["dictionary_texts_kept_against"]) == ALL_FILTERS
    assert counts["dictionary_texts_kept_against"]["class_names"] > 0


def test_one_text_for_each_normalised_spelling_with_all_captions_that_have_it() -> None:
    dropped = set(universe().rejected["text"].to_pylist())
    queries = described().queries
    rows: list[tuple[str, int | None]] = [(text, None) for text in DICTIONARY]
    rows += zip(queries["text"].to_pylist(), queries["caption_id"].to_pylist(), strict=True)
    rows += written()
    first: dict[str, str] = {}
    ids: dict[str, set[int]] = {}
    for text, number in ((text.strip(), number) for text, number in rows):
        if text not in dropped:
            key = reference.normalize(text)
            ids.setdefault(first.setdefault(key, text), set())
            if number is not None:
                ids[first[key]].add(number)
    texts: dict[str, Any] = universe().texts
    found = dict(zip(texts["text"].to_pylist(), texts["caption_ids"].to_pylist(), strict=True))
    assert found == {text: sorted(numbers) for text, numbers in ids.items()}
    assert list(found) == list(ids)


@pytest.mark.parametrize("spelling", grammar.SPELLINGS)
def test_every_way_of_writing_merges_with_the_plain_one(spelling: Any) -> None:
    plain = [grammar.concept(rank) for rank in range(2000)]
    texts = pa.table({"text": pa.array([*plain, *map(spelling, plain)])})
    texts = texts.append_column("caption_id", pa.array(range(4000)))
    loose = UniverseFilters(9, 1, 99, drop_or=False, drop_parentheses=False)
    merged = build_universe({}, {"c": texts}, loose)
    assert merged.texts["text"].to_pylist() == plain
    assert merged.texts["caption_ids"].to_pylist() == [[n, n + 2000] for n in range(2000)]


def test_the_files_do_not_depend_on_how_rows_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns in many chunks are written as the same bytes as in one."""
    monkeypatch.setattr("infopursuit.queries.corpora._Rows.CHUNK", ROW_GROUP)
    corpus = described_corpus(CAPTIONS, ANSWERS, grammar.CONCEPTS)
    assert corpus.queries["text"].num_chunks > 2
    for schema, columns in (
        (QUERIES, corpus.queries),
        (REJECTED_LINES, corpus.rejected),
        (UNIVERSE, universe().texts),
        (REJECTED_TEXTS, universe().rejected),
    ):
        write_table(tmp_path / "chunks.parquet", schema, columns)
        plain = {column: rows.to_pylist() for column, rows in columns.items()}
        write_table(tmp_path / "plain.parquet", schema, plain)
        assert (tmp_path / "chunks.parquet").read_bytes() == (
            tmp_path / "plain.parquet"
        ).read_bytes()


def test_counts_are_plain_json() -> None:
    for counts in (described().counts, universe().counts):
        assert json.loads(json.dumps(counts)) == counts
