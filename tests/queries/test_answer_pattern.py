import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.queries.answer_pattern import answer_pattern
from infopursuit.queries.language_models import Answer
from infopursuit.queries.normalization import normalize
from infopursuit.queries.parsing import MAX_WORDS, Reason, parse_answer

LISTS = answer_pattern("List concepts.", 20)
WITH_SENTINEL = answer_pattern("List concepts, or answer UNFIT.", 20)


@pytest.mark.parametrize(
    "answer",
    [
        "1. four legs",
        "1. Striped coat\n2. two-wheeled cart\n3. café's 3 blue awnings",
        "1. o\n2. orange\n3. order\n4. floor\n5. OR2\n6. r o",
        "1. ox\n2. oar\n3. O2",
        "\n".join(f"{number}. colour {number}" for number in range(1, 21)),
        "7. black-and-white rock’n’roll",
    ],
)
def test_lists_that_are_admitted(answer: str) -> None:
    assert re.fullmatch(LISTS, answer)
    assert re.fullmatch(WITH_SENTINEL, answer)
    assert parse_answer(Answer(answer, "stop"), 20).rejected == []


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "four legs",
        "- four legs",
        "1. four legs\n",
        "1. four legs\n\n2. tail",
        "Sure!\n1. four legs",
        "1. red, white",
        "1. tall (very tall)",
        "1. mane or tail",
        "1. Mane OR tail",
        "1. either-or",
        "1. or",
        "1. one two three four five six",
        "1.  tail",
        "1. tail ",
        "1. a-",
        "1. .",
        "123. tail",
        "0. tail",
        "1. " + "x" * 21,
        "\n".join(f"{number}. colour {number}" for number in range(1, 22)),
        "UNFIT\n1. tail",
        "1. tail\nUNFIT",
    ],
)
def test_answers_that_are_not(answer: str) -> None:
    assert not re.fullmatch(WITH_SENTINEL, answer)


def test_the_sentinel_is_admitted_where_the_prompt_asks_for_it() -> None:
    assert re.fullmatch(WITH_SENTINEL, "UNFIT")
    assert not re.fullmatch(LISTS, "UNFIT")
    assert not re.fullmatch(answer_pattern("UNFITTING words", 3), "UNFIT")
    rejected = parse_answer(Answer("UNFIT", "stop"), 20).rejected
    assert [line.reason for line in rejected] == [Reason.UNFIT]


def test_one_concept_at_most() -> None:
    one = answer_pattern("", 1)
    assert re.fullmatch(one, "1. tail")
    assert not re.fullmatch(one, "1. tail\n2. mane")
    assert not re.fullmatch(one, "12. tail")


@given(st.integers(1, 12), st.data())
def test_every_admitted_list_is_taken_whole(limit: int, data: st.DataObject) -> None:
    answer = data.draw(st.from_regex(answer_pattern("", limit), fullmatch=True))
    lines = answer.split("\n")
    concepts, rejected = parse_answer(Answer(answer, "stop"), limit)
    contents = [line.partition(". ")[2] for line in lines]
    if any(re.match(r"UNFIT\b", content) or normalize(content) == "unfit" for content in contents):
        assert {line.reason for line in rejected} == {Reason.UNFIT}
        return
    assert {line.reason for line in rejected} <= {Reason.REPEATED}
    assert concepts == list(dict.fromkeys(map(normalize, contents)))
    assert len(concepts) + len(rejected) == len(lines) <= limit
    assert all(len(concept.split()) <= MAX_WORDS for concept in concepts)


def test_an_answer_that_is_cut_off_is_soon_seen_not_to_match() -> None:
    words = " ".join(["aaaaaaaaaaaaaaaaaaaa-aaaaaaaaaaaaaaaaaaaa"] * 5)
    answer = "\n".join([f"1. {words}"] * 2000) + "!"
    assert not re.fullmatch(answer_pattern("", 2000), answer)
