import re
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.queries.normalization import normalize
from infopursuit.queries.universe import Universe, UniverseFilters, build_universe

LOOSE = UniverseFilters(
    max_words=99, min_characters=1, max_characters=999, drop_or=False, drop_parentheses=False
)
STRICT = UniverseFilters(
    max_words=2, min_characters=2, max_characters=9, drop_or=True, drop_parentheses=True,
    class_names=("bus", "city_Fly"),
)  # fmt: skip


def corpus(*rows: tuple[str, int | None] | str) -> pa.Table:
    pairs = [(row, None) if isinstance(row, str) else row for row in rows]
    columns = {"text": [text for text, _ in pairs], "caption_id": [number for _, number in pairs]}
    return pa.table(columns, pa.schema({"text": pa.string(), "caption_id": pa.int64()}))


def rows_of(columns: dict[str, Any]) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in columns.values()), strict=True))


def kept(universe: Universe) -> list[tuple[Any, ...]]:
    return rows_of(universe.texts)


def rejected(universe: Universe) -> list[tuple[Any, ...]]:
    return rows_of(universe.rejected)


def test_dictionaries_first_then_corpora_in_order_of_appearance() -> None:
    universe = build_universe(
        {"b": ["tail", "Wheel"], "a": ["fur", "tail"]},
        {
            "coco": corpus(("paw", 4), ("fur", 9), ("paw", 2), ("fur", 9)),
            "nouns": corpus("Paw", "x"),
        },
        LOOSE,
    )
    assert kept(universe) == [
        ("tail", ["dictionary/b", "dictionary/a"], []),
        ("Wheel", ["dictionary/b"], []),
        ("fur", ["dictionary/a", "corpus/coco"], [9]),
        ("paw", ["corpus/coco", "corpus/nouns"], [2, 4]),
        ("x", ["corpus/nouns"], []),
    ]
    assert universe.counts["rows"] == {
        "dictionary/b": 2, "dictionary/a": 2, "corpus/coco": 4, "corpus/nouns": 2,
    }  # fmt: skip
    assert universe.counts["distinct_spellings"] == 6
    assert universe.counts["merged_spellings"] == 1
    assert universe.counts["texts"] == 5


def test_a_given_text_breaks_filters_and_is_one_with_its_other_spellings() -> None:
    universe = build_universe(
        {"a": ["Bus", "tail"], "b": ["bus", "Tail", "head or tail"]},
        {"c": corpus(("TAIL", 1), ("ear or eye", 2))},
        STRICT,
    )
    assert [text for text, *_ in kept(universe)] == ["Bus", "tail", "head or tail"]
    assert kept(universe)[1] == ("tail", ["dictionary/a", "dictionary/b", "corpus/c"], [1])
    assert rejected(universe) == [("ear or eye", "corpus/c", "max_characters")]
    against = universe.counts["dictionary_texts_kept_against"]
    assert against["class_names"] == 2
    assert against["max_characters"] == 1


def test_lists_and_texts_to_keep_are_given_too() -> None:
    universe = build_universe(
        {"a": ["tail"]},
        {"c": corpus(("gray skin", 1))},
        STRICT,
        {"a": ["Gray skin"]},
        ["or not", "Tail"],
    )
    assert kept(universe) == [
        ("tail", ["dictionary/a", "kept"], []),
        ("Gray skin", ["list/a", "corpus/c"], [1]),
        ("or not", ["kept"], []),
    ]


def test_banned_texts_and_words_are_in_no_text_whoever_gave_it() -> None:
    filters = replace(LOOSE, banned=("TAIL", "red (or blue"))
    universe = build_universe(
        {"a": ["tail", "tailed"]},
        {"c": corpus("long tail", "a red (or blue", "tail-like", "fur")},
        filters,
        {"a": ["head, tail"]},
    )
    assert [text for text, *_ in kept(universe)] == ["tailed", "fur"]
    assert {reason for *_, reason in rejected(universe)} == {"banned"}
    assert universe.counts["dropped"]["banned"] == 5
    assert universe.counts["dictionary_texts_kept_against"]["banned"] == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("...", "empty"),
        ("a\u200bb", "unprintable"),
        ("two\nlines", "unprintable"),
        ("a\u2028b", "unprintable"),
        ("a", "min_characters"),
        ("abcdefghij", "max_characters"),
        ("a b c", "max_words"),
        ("a OR", "or"),
        ("or/and", "or"),
        ("(tail)", "parentheses"),
        ("ta(il", "parentheses"),
        ("bus", "class_names"),
        ("Red BUS", "class_names"),
        ("buses", "class_names"),
        ("bus-stop", "class_names"),
        ("City fly", "class_names"),
        ("city\u00a0fly", "class_names"),
        ("busy", None),
        ("orb", None),
        ("robust", None),
        ("éé", None),
    ],
)
def test_filters(text: str, reason: str | None) -> None:
    universe = build_universe({}, {"c": corpus(text)}, STRICT)
    assert rejected(universe) == ([(text, "corpus/c", reason)] if reason else [])
    assert sum(universe.counts["dropped"].values()) == (reason is not None)


def test_plural_of_a_name_in_y() -> None:
    filters = UniverseFilters(9, 1, 99, True, True, class_names=("city fly", "a+b"))
    universe = build_universe({}, {"c": corpus("city flies", "a+b", "aab", "cities")}, filters)
    assert [text for text, *_ in kept(universe)] == ["aab", "cities"]


def test_a_dropped_spelling_does_not_take_its_twin_along() -> None:
    universe = build_universe({}, {"c": corpus(("(tail)", 1), ("tail", 2))}, STRICT)
    assert kept(universe) == [("tail", ["corpus/c"], [2])]


def test_nothing_in_nothing_out() -> None:
    universe = build_universe({}, {"c": corpus()}, STRICT)
    assert kept(universe) == []
    assert universe.counts["texts"] == 0


def slow_reason(text: str) -> str | None:
    names = r"\b(bus|buss|buses|city fly|city flys|city flyes|city flies)\b"
    tests = {
        "empty": normalize(text) == "",
        "min_characters": len(text) < 2,
        "max_characters": len(text) > 9,
        "max_words": len(text.split()) > 2,
        "or": "or" in re.split(r"\W+", text.lower()),
        "parentheses": "(" in text or ")" in text,
        "class_names": re.search(names, normalize(text)) is not None,
    }
    return next((name for name, broken in tests.items() if broken), None)


def slow_universe(
    dictionaries: dict[str, list[str]], corpora: dict[str, list[tuple[str, int | None]]]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The same by plain loops over rows."""
    texts: dict[str, tuple[list[str], set[int]]] = {}
    first_of: dict[str, str] = {}
    dropped: dict[str, tuple[str, str, str]] = {}
    rows = [
        (f"dictionary/{name}", text, None) for name in dictionaries for text in dictionaries[name]
    ]
    given = {text.strip() for _, text, _ in rows}
    rows += [(f"corpus/{name}", text, number) for name in corpora for text, number in corpora[name]]
    for source, raw, number in rows:
        text = raw.strip()
        reason = slow_reason(text)
        if text not in given and reason is not None:
            dropped.setdefault(text, (text, source, reason))
            continue
        owner = first_of.setdefault(normalize(text), text)
        sources, numbers = texts.setdefault(owner, ([], set()))
        if source not in sources:
            sources.append(source)
        if number is not None:
            numbers.add(number)
    return (
        [(text, sources, sorted(numbers)) for text, (sources, numbers) in texts.items()],
        list(dropped.values()),
    )


WORDS = st.lists(
    st.sampled_from(
        ["bus", "Bus", "tail", "TAIL", "or", "city", "fly", "(fur)", "\u00e9", "-", ""]
    ),
    min_size=1,
    max_size=3,
).map(" ".join)
LIST = st.lists(WORDS, max_size=8, unique_by=str.strip)
ROWS = st.lists(st.tuples(WORDS, st.none() | st.integers(0, 5)), max_size=20)


@given(
    st.dictionaries(st.sampled_from("pqr"), LIST, max_size=3),
    st.dictionaries(st.sampled_from("xyz"), ROWS, max_size=3),
)
def test_agrees_with_plain_loops(
    dictionaries: dict[str, list[str]], corpora: dict[str, list[tuple[str, int | None]]]
) -> None:
    if not dictionaries and not corpora:
        return
    frames = {name: corpus(*rows) for name, rows in corpora.items()}
    universe = build_universe(dictionaries, frames, STRICT)
    expected, dropped = slow_universe(dictionaries, corpora)
    assert kept(universe) == expected
    assert rejected(universe) == dropped
    counts = universe.counts
    assert counts["texts"] == len(expected)
    total = sum(counts["dropped"].values()) + counts["merged_spellings"] + counts["texts"]
    assert counts["distinct_spellings"] == total
