"""The universe of texts: order, filters, spellings; from answers to it nothing is lost."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from infopursuit.core.files import read_text_list
from infopursuit.generation.settings import UniverseSettings
from infopursuit.generation.universe import UniverseTables, build_universe, control_texts
from infopursuit.texts.normalization import normalize

LOOSE = UniverseSettings(
    max_words=99, min_characters=1, max_characters=999, drop_or=False, drop_parentheses=False,
    drop_class_names="params/no_class_names.txt", max_similarity=None, control_words="",
)  # fmt: skip
LIMITS = {"max_words": 2, "min_characters": 2, "max_characters": 10}
STRICT = LOOSE.model_copy(update={**LIMITS, "drop_or": True, "drop_parentheses": True})
NAMES = ("bus", "city_Fly")


def corpus(*rows: tuple[str, int | None] | str) -> pa.Table:
    pairs = [(row, None) if isinstance(row, str) else row for row in rows]
    columns = {"text": [text for text, _ in pairs], "caption_id": [number for _, number in pairs]}
    return pa.table(columns, pa.schema({"text": pa.string(), "caption_id": pa.int64()}))


def rows_of(columns: dict[str, Any]) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in columns.values()), strict=True))


def kept(universe: UniverseTables) -> list[tuple[Any, ...]]:
    return rows_of(universe.texts)


def rejected(universe: UniverseTables) -> list[tuple[Any, ...]]:
    return rows_of(universe.rejected)


def test_a_given_text_passes_filters_and_joins_its_other_spellings() -> None:
    universe = build_universe(
        {"a": ["Bus", "tail"], "b": ["bus", "Tail", "head or tail"]},
        {"c": corpus(("TAIL", 1), ("ears or eyes", 2))},
        STRICT,
        class_names=NAMES,
    )
    assert [text for text, *_ in kept(universe)] == ["Bus", "tail", "head or tail"]
    assert kept(universe)[1] == ("tail", ["dictionary/a", "dictionary/b", "corpus/c"], [1])
    assert rejected(universe) == [("ears or eyes", "corpus/c", "max_characters")]
    counts = universe.counts
    against = counts["dictionary_texts_kept_against"]
    assert (against["class_names"], against["max_characters"]) == (2, 1)
    assert counts["rows"] == {"dictionary/a": 2, "dictionary/b": 3, "corpus/c": 2}
    assert (counts["distinct_spellings"], counts["merged_spellings"], counts["texts"]) == (7, 3, 3)


def test_no_text_holds_a_banned_one_whatever_its_source() -> None:
    universe = build_universe(
        {"a": ["tail", "tailed"]},
        {"c": corpus("long tail", "a red (or blue", "tail-like", "fur")},
        LOOSE,
        {"a": ["head, tail"]},
        banned=("TAIL", "red (or blue"),
    )
    assert [text for text, *_ in kept(universe)] == ["tailed", "fur"]
    assert {reason for *_, reason in rejected(universe)} == {"banned"}
    assert universe.counts["dropped"]["banned"] == 5
    assert universe.counts["dictionary_texts_kept_against"]["banned"] == 0


@pytest.mark.parametrize(
    ("text", "reason"),  # the first filter that it breaks
    [
        ("bus or (fur), a", "max_characters"),
        ("...", "empty"),
        ("a\u200bb", "unprintable"),
        ("two\nlines", "unprintable"),
        ("a", "min_characters"),
        ("abcdefghijk", "max_characters"),
        ("a b c", "max_words"),
        ("a OR", "or"),
        ("(tail)", "parentheses"),
        ("Red BUS", "class_names"),
        ("buses", "class_names"),
        ("bus-stop", "class_names"),
        ("City fly", "class_names"),
        ("city flies", "class_names"),
        ("robust", None),
        ("éé", None),
    ],
)
def test_filters(text: str, reason: str | None) -> None:
    universe = build_universe({}, {"c": corpus(text)}, STRICT, class_names=NAMES)
    assert rejected(universe) == ([(text, "corpus/c", reason)] if reason else [])
    assert sum(universe.counts["dropped"].values()) == (reason is not None)


ROOT = Path(__file__).parents[2]
CONTROL_WORDS = read_text_list(ROOT / "params/control_words.txt")


def test_texts_of_the_universe_and_second_spellings_are_left_out() -> None:
    words = ["Hence", "Tail", "hence!", "tort", "...", "tail"]
    control = control_texts(words, ["tail", "red bird"])
    assert control.texts == {
        "text": ["Hence", "tort"],
        "sources": [["control"], ["control"]],
        "caption_ids": [[], []],
    }
    assert control.counts == {"words": 6, "in_universe": 2, "merged_spellings": 2, "texts": 2}


def words_in(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def test_no_shipped_dictionary_or_class_name_uses_a_control_word() -> None:
    assert len({normalize(word) for word in CONTROL_WORDS}) == 1200
    lists = [
        *(ROOT / "params/classes").glob("*.txt"),
        *(ROOT / "params/precomputed").rglob("*.txt"),
    ]
    shown = set().union(*(words_in(path.read_text("utf-8")) for path in lists))
    menagerie = ROOT / "stages/menagerie/recorded_answers.jsonl"
    for path in [*(ROOT / "params/dictionaries").glob("*.jsonl"), menagerie]:
        for entry in map(json.loads, path.read_text("utf-8").splitlines()):
            if entry["template"] != "class_knowledge":  # whose answers are numbers of texts
                shown |= words_in(entry.get("answer", ""))
    assert {"striped", "wings", "panda"} <= shown, "the lists were found and read"
    assert shown.isdisjoint(CONTROL_WORDS)


# Other ways to write a text, all with one normalised spelling.
