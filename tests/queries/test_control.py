"""Control texts, and the list of control words that is shipped."""

import json
import re
from pathlib import Path

from infopursuit.core.text_lists import read_text_list
from infopursuit.queries.control import control_texts
from infopursuit.queries.normalization import normalize

ROOT = Path(__file__).parents[2]
WORDS = read_text_list(ROOT / "params/control_words.txt")


def words_in(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def test_texts_of_the_universe_and_second_spellings_are_left_out() -> None:
    words = ["Hence", "Tail", "hence!", "tort", "...", "tail"]
    control = control_texts(words, ["tail", "red bird"])
    assert control.texts == {
        "text": ["Hence", "tort"],
        "sources": [["control"], ["control"]],
        "caption_ids": [[], []],
    }
    assert control.counts == {"words": 6, "in_universe": 2, "merged_spellings": 2, "texts": 2}


def test_no_control_text_is_left_where_the_universe_has_all() -> None:
    control = control_texts(["tail"], ["TAIL"])
    assert control.texts == {"text": [], "sources": [], "caption_ids": []}
    assert control.counts == {"words": 1, "in_universe": 1, "merged_spellings": 0, "texts": 0}


def test_the_shipped_control_words_are_1200_distinct_single_words() -> None:
    assert len(WORDS) == 1200
    assert len({normalize(word) for word in WORDS}) == 1200
    assert [word for word in WORDS if not re.fullmatch("[a-z]{3,}", word)] == []
    assert sorted(WORDS) == WORDS


def test_no_shipped_dictionary_or_class_name_uses_a_control_word() -> None:
    lists = [
        *(ROOT / "params/classes").glob("*.txt"),
        *(ROOT / "params/precomputed").rglob("*.txt"),
    ]
    lists.remove(ROOT / "params/precomputed/meaning/traps.txt")  # control words, for the judge
    recordings = [*(ROOT / "params/dictionaries").glob("*.jsonl")]
    recordings.append(ROOT / "stages/menagerie/recorded_answers.jsonl")
    shown: dict[str, str] = {}
    for path in lists:
        shown |= dict.fromkeys(words_in(path.read_text("utf-8")), path.name)
    for path in recordings:
        for line in path.read_text("utf-8").splitlines():
            entry = json.loads(line)
            if entry["template"] != "class_knowledge":  # whose answers are numbers of texts
                shown |= dict.fromkeys(words_in(entry.get("answer", "")), path.name)
    assert {"striped", "wings", "panda"} <= set(shown), "the lists were found and read"
    assert {word: shown[word] for word in WORDS if word in shown} == {}
