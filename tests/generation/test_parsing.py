import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.generation.language_models import Answer
from infopursuit.generation.parsing import MAX_WORDS, Rejection, answer_pattern, parse_answer
from infopursuit.texts.normalization import normalize

MARKS = [
    "{n}. ", "{n}) ", "({n}) ", "{n}: ", "{n}.", "[{n}] ", "{n}] ", "{n} - ", "- ",
    "* ", "• ", "– ", "— ", "+ ", "▪ ", "  {n}.  ", "\t- ", "- {n}. ", "> ",
]  # fmt: skip
WRAPPINGS = ["{}", "**{}**", '"{}"', "“{}”", "'{}'", "`{}`", "{}.", "{},", "{};", "*{}*", "{} "]
# Words that no rule of the parser knows.
WORD = st.text(alphabet="bcdfghklmnpqstvwxz", min_size=2, max_size=8)
CONCEPT = st.lists(WORD, min_size=1, max_size=MAX_WORDS).map(" ".join)


def concepts(text: str, finish_reason: str = "stop", limit: int = 20) -> list[str]:
    return parse_answer(Answer(text, finish_reason), limit).concepts


def reasons(text: str, finish_reason: str = "stop") -> list[Rejection]:
    rejected = parse_answer(Answer(text, finish_reason), 20).rejected
    return [line.reason for line in rejected]


@given(
    st.lists(CONCEPT, min_size=1, max_size=20, unique=True),
    st.sampled_from(MARKS),
    st.data(),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_a_list_in_any_style_gives_its_concepts(
    texts: list[str], mark: str, data: st.DataObject, end: str
) -> None:
    wrapped = [data.draw(st.sampled_from(WRAPPINGS)).format(text) for text in texts]
    answer = end.join(mark.format(n=n) + text for n, text in enumerate(wrapped, start=1))
    parsed = parse_answer(
        Answer(f"Sure! Here is the list:\n{answer}\nHope this helps!", "stop"), 20
    )
    assert parsed.concepts == texts
    assert [line.reason for line in parsed.rejected] == [Rejection.CHATTER] * 2


@given(st.text(), st.sampled_from(["stop", "length"]), st.integers(1, 5))
def test_concepts_keep_the_promises_of_the_prompt(text: str, reason: str, limit: int) -> None:
    found = concepts(text, reason, limit)
    assert len(found) == len(set(found)) <= limit
    for concept in found:
        assert concept.isprintable()
        assert 1 <= len(concept.split()) <= MAX_WORDS
        assert "or" not in concept.split()
        assert not set("(),;:|/\n") & set(concept)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("2. black or white", Rejection.OR),
        ("2. tail (long)", Rejection.PARENTHESES),
        ("2. black, white", Rejection.SEVERAL),
        ("2. stripes 3. four legs", Rejection.SEVERAL),
        ("2. one two three four five six", Rejection.TOO_MANY_WORDS),
        ("2.", Rejection.EMPTY),
        ("2. **Body parts:**", Rejection.CHATTER),
        ("Note: these are visible", Rejection.CHATTER),
        ("2. Striped Coat", Rejection.REPEATED),
        ("2. a\u200bb", Rejection.UNPRINTABLE),
    ],
)
def test_reasons(line: str, reason: Rejection) -> None:
    parsed = parse_answer(Answer(f"1. striped coat\n{line}\n3. long tail", "stop"), 20)
    assert parsed.concepts == ["striped coat", "long tail"]
    assert parsed.rejected == [(line.strip(), reason)]


def test_numbers_that_are_part_of_a_concept() -> None:
    plain = ["2-door car", "2.5 metre pole", "3d shape", "4 legs"]
    assert concepts("\n".join(plain)) == plain
    assert concepts("1. 2-door car\n2.4 legs\n3.stripes") == ["2-door car", "stripes"]


@pytest.mark.parametrize(
    ("text", "reason", "kept", "rejected"),
    [
        ("1. tail\n2. striped co", "length", ["tail"], [Rejection.TRUNCATED]),
        ("1. tail\n2. striped coat\n", "length", ["tail", "striped coat"], []),
        ("1. tail\n2. striped co", "stop", ["tail", "striped co"], []),
        ("1. tai", "length", [], [Rejection.TRUNCATED]),
    ],
)
def test_an_answer_that_was_cut_off(
    text: str, reason: str, kept: list[str], rejected: list[Rejection]
) -> None:
    assert concepts(text, reason) == kept
    assert reasons(text, reason) == rejected


@pytest.mark.parametrize(
    "text",
    ["UNFIT", "UNFIT.", "unfit", "**UNFIT**", "1. UNFIT", "Answer: UNFIT", "1. dog\nUNFIT - gore"],
)
def test_the_sentinel_holds_for_the_whole_answer(text: str) -> None:
    assert concepts(text) == []
    assert set(reasons(text)) == {Rejection.UNFIT}


def test_the_model_may_go_on_with_made_up_captions() -> None:
    text = "1. long tail\n\nCaption: a cat\n1. whiskers\nUNFIT"
    assert concepts(text) == ["long tail"]
    assert reasons(text) == [Rejection.NEXT_CAPTION] * 3


HORSE = "Okay.\n1. a horse\n   - brown coat\n2. wait"
WRAPPINGS_OF_THOUGHTS = [
    ("<thinking>\n", "\n</thinking>"), ("<reasoning>", "</reasoning>"), ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"), ("◁think▷", "◁/think▷"), ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|><|begin_of_solution|>"),
    ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"), ("<think>", "</think><answer>"),
    ("<|channel|>analysis<|message|>",
     "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("analysisWe see. ", "assistantfinal"), ("<|channel>thought\n", "<channel|>"),
    ("Thinking...\n", "\n...done thinking.\n\n"), ("## Thinking\n", "\n## Final Response\n"),
    ("Here is my thought process: ", "\nHere is my response:\n"),
]  # fmt: skip


@pytest.mark.parametrize(("start", "end"), WRAPPINGS_OF_THOUGHTS)
def test_thoughts_in_any_wrapping_are_named(start: str, end: str) -> None:
    whole = f"{start}{HORSE}{end}1. long tail\n2. mane"
    assert concepts(whole) == ["long tail", "mane"]
    assert set(reasons(whole)) == {Rejection.REASONING}
    assert concepts(f"{start}{HORSE}", "length") == []
    assert set(reasons(f"{start}{HORSE}", "length")) == {Rejection.REASONING}
    assert concepts(f"{HORSE}{end}1. tail") == ["tail"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (HORSE, []),
        ("We need lists.\n1. a horse\n2. mane\n3. ta", []),
        ("1. a horse\n2. mane\n1. tail\n2. hoo", []),
        ("a horse\nit has a mane and a long tail\nhoo", []),
        ("Sure! Here are some:\n1. a horse\n2. mane\n3. ta", ["a horse", "mane"]),
        ("- a horse\n- mane\n- ta", ["a horse", "mane"]),
        ("1. mane\n<think>\n2. a horse", ["mane"]),
    ],
)
def test_a_cut_answer_counts_if_it_is_a_plain_list(text: str, kept: list[str]) -> None:
    assert concepts(text, "length") == kept


@pytest.mark.parametrize(
    "text",
    [
        '["long tail", "mane"]',
        'Sure:\n```json\n[\n  "long tail",\n  "mane",\n]\n```\nEnjoy!',
        '{"queries": [{"n": "1", "query": "long tail"}, {"n": "2", "query": "mane"}]}',
        '{"animals": {"parts": ["long tail"], "hair": ["mane"]}}',
        '{"1": "long tail", "2": "mane"}',
        "~~~text\n1. long tail\n2. mane\n~~~",
        '{"visible parts": [\n"long tail",\n"mane"',
    ],
)
def test_the_words_of_json_and_fences_are_no_concepts(text: str) -> None:
    assert concepts(text) == ["long tail", "mane"]


def test_beyond_the_limit() -> None:
    text = "1. tail\n2. tail\n3. fur\n4. paw\n5. or\n6. eye"
    parsed = parse_answer(Answer(text, "stop"), 2)
    assert parsed.concepts == ["tail", "fur"]
    assert parsed.rejected == [
        ("2. tail", Rejection.REPEATED),
        ("4. paw", Rejection.BEYOND_LIMIT),
        ("5. or", Rejection.OR),
        ("6. eye", Rejection.BEYOND_LIMIT),
    ]


FAULTS = [
    "1. red or blue", "1. tail (long)", "1. red, blue", "1. **Parts:** tail", "2.", "...",
    "- a\u200bb", "1. " + "tail " * 60, "Sure! Here are:", "I'm sorry, I can't.", "UNFIT",
    "Caption: a cat", "<think>", "</think>", "**1. Tail**", "\t- tail", "",
]  # fmt: skip


@given(
    st.lists(CONCEPT.map("1. {}".format) | CONCEPT | st.sampled_from(FAULTS), max_size=8),
    st.sampled_from(["stop", "length"]),
    st.integers(1, 5),
)
def test_every_line_is_a_concept_or_rejected(lines: list[str], reason: str, limit: int) -> None:
    parsed = parse_answer(Answer("\n".join(lines), reason), limit)
    written = [line for line in lines if line not in ("", "</think>")]
    assert len(parsed.concepts) + len(parsed.rejected) == len(written)


@pytest.mark.parametrize("text", ["I'm sorry, but no.", "As an AI, I cannot.\nAsk another."])
def test_a_refusal_holds_no_concepts(text: str) -> None:
    assert set(reasons(text)) == {Rejection.REFUSAL}


LISTS = answer_pattern("List concepts.", 20)
WITH_SENTINEL = answer_pattern("List concepts, or answer UNFIT.", 20)


@pytest.mark.parametrize(
    "answer",
    [
        "1. four legs",
        "1. Striped coat\n2. two-wheeled cart\n3. café's 3 blue awnings",
        "1. o\n2. orange\n3. order\n4. floor\n5. OR2\n6. r o",
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
        "1. four legs\n\n2. tail",
        "Sure!\n1. four legs",
        "1. red, white",
        "1. tall (very tall)",
        "1. mane or tail",
        "1. or",
        "1. one two three four five six",
        "1.  tail",
        "1. a-",
        "123. tail",
        "1. " + "x" * 21,
        "\n".join(f"{number}. colour {number}" for number in range(1, 22)),
        "UNFIT\n1. tail",
    ],
)
def test_lists_that_are_not_admitted(answer: str) -> None:
    assert not re.fullmatch(WITH_SENTINEL, answer)


def test_the_sentinel_is_admitted_if_the_prompt_asks_for_it() -> None:
    assert re.fullmatch(WITH_SENTINEL, "UNFIT")
    assert not re.fullmatch(LISTS, "UNFIT")
    assert not re.fullmatch(answer_pattern("UNFITTING words", 3), "UNFIT")
    rejected = parse_answer(Answer("UNFIT", "stop"), 20).rejected
    assert [line.reason for line in rejected] == [Rejection.UNFIT]


@given(st.integers(1, 12), st.data())
def test_every_admitted_list_is_taken_whole(limit: int, data: st.DataObject) -> None:
    answer = data.draw(st.from_regex(answer_pattern("", limit), fullmatch=True))
    lines = answer.split("\n")
    concepts, rejected = parse_answer(Answer(answer, "stop"), limit)
    contents = [line.partition(". ")[2] for line in lines]
    if any(re.match(r"UNFIT\b", content) or normalize(content) == "unfit" for content in contents):
        assert {line.reason for line in rejected} == {Rejection.UNFIT}
        return
    assert {line.reason for line in rejected} <= {Rejection.REPEATED}
    assert concepts == list(dict.fromkeys(map(normalize, contents)))
    assert len(concepts) + len(rejected) == len(lines) <= limit
    assert all(len(concept.split()) <= MAX_WORDS for concept in concepts)
