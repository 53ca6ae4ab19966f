import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infopursuit.queries.language_models import Answer
from infopursuit.queries.parsing import LONGEST_KEPT, MAX_WORDS, Reason, parse_answer
from tests.queries import grammar
from tests.queries import reference_parsing as reference

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


def reasons(text: str, finish_reason: str = "stop", limit: int = 20) -> list[Reason]:
    rejected = parse_answer(Answer(text, finish_reason), limit).rejected
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
    assert [line.reason for line in parsed.rejected] == [Reason.CHATTER] * 2


@given(st.lists(CONCEPT, min_size=1, max_size=20, unique=True))
def test_a_plain_list_gives_its_concepts(texts: list[str]) -> None:
    assert concepts("\n".join(texts)) == texts


@given(
    st.text(alphabet=st.sampled_from('ab1.-*•(),:;"\n\r \tUNFIT<>/#é\ufffd')),
    st.sampled_from(["stop", "length"]),
    st.integers(1, 4),
)
def test_every_line_ends_up_once(text: str, finish_reason: str, limit: int) -> None:
    parsed = parse_answer(Answer(text, finish_reason), limit)
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(parsed.concepts) + len(parsed.rejected) == len(lines)
    assert {line.line for line in parsed.rejected} <= {line.strip() for line in lines}


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
        ("2. black or white", Reason.OR),
        ("2. tail (long)", Reason.PARENTHESES),
        ("2. black, white", Reason.SEVERAL),
        ("2. black/white", Reason.SEVERAL),
        ("2. stripes: black bands", Reason.SEVERAL),
        ("2. stripes - black bands", Reason.SEVERAL),
        ("2. stripes 3. four legs", Reason.SEVERAL),
        ("2. one two three four five six", Reason.TOO_MANY_WORDS),
        ("2.", Reason.EMPTY),
        ("---", Reason.EMPTY),
        ('2. ""', Reason.EMPTY),
        ("2. **Body parts:**", Reason.CHATTER),
        ("Note: these are visible", Reason.CHATTER),
        ("2. Striped Coat", Reason.REPEATED),
        ("2. a\u200bb", Reason.UNPRINTABLE),
        ("2. tail\ufffd", Reason.UNPRINTABLE),
    ],
)
def test_reasons(line: str, reason: Reason) -> None:
    parsed = parse_answer(Answer(f"1. striped coat\n{line}\n3. long tail", "stop"), 20)
    assert parsed.concepts == ["striped coat", "long tail"]
    assert parsed.rejected == [(line.strip(), reason)]


def test_numbers_that_are_part_of_a_concept() -> None:
    plain = ["2-door car", "2.5 metre pole", "3d shape", "4 legs"]
    assert concepts("\n".join(plain)) == plain
    assert concepts("1. 2-door car\n2.4 legs\n3.stripes") == ["2-door car", "stripes"]


def test_an_answer_that_was_cut_off() -> None:
    assert concepts("1. tail\n2. striped co", "length") == ["tail"]
    assert reasons("1. tail\n2. striped co", "length") == [Reason.TRUNCATED]
    assert concepts("1. tail\n2. striped coat\n", "length") == ["tail", "striped coat"]
    assert concepts("1. tail\n2. striped co", "stop") == ["tail", "striped co"]
    assert reasons("1. tai", "length") == [Reason.TRUNCATED]


@pytest.mark.parametrize(
    "text",
    ["UNFIT", "UNFIT.", "unfit", "**UNFIT**", "1. UNFIT", "Answer: UNFIT", "1. dog\nUNFIT - gore"],
)
def test_the_sentinel_holds_for_the_whole_answer(text: str) -> None:
    assert concepts(text) == []
    assert set(reasons(text)) == {Reason.UNFIT}


def test_a_concept_may_contain_the_letters_of_the_sentinel() -> None:
    assert concepts("1. unfit dog\n2. unfitted sheet") == ["unfit dog", "unfitted sheet"]


def test_a_refusal_holds_for_an_answer_without_a_list() -> None:
    assert set(reasons("I'm sorry, I can't do that.\nAnything else?")) == {Reason.REFUSAL}
    assert concepts("Sorry for the wait:\n1. long tail") == ["long tail"]


def test_the_model_may_go_on_with_captions_of_its_own() -> None:
    text = "1. long tail\n\nCaption: a cat\n1. whiskers\nUNFIT"
    assert concepts(text) == ["long tail"]
    assert reasons(text) == [Reason.NEXT_CAPTION] * 3


def test_thoughts_are_no_concepts() -> None:
    assert concepts("<think>\n1. a horse\n</think>\n\n1. long tail") == ["long tail"]
    assert concepts("the caption says horse\n</think>\n1. long tail") == ["long tail"]
    assert reasons("<think>\n1. a horse\n2. a", "length") == [Reason.REASONING] * 3


def test_beyond_the_limit() -> None:
    text = "1. tail\n2. tail\n3. fur\n4. paw\n5. or\n6. eye"
    parsed = parse_answer(Answer(text, "stop"), 2)
    assert parsed.concepts == ["tail", "fur"]
    assert parsed.rejected == [
        ("2. tail", Reason.REPEATED),
        ("4. paw", Reason.BEYOND_LIMIT),
        ("5. or", Reason.OR),
        ("6. eye", Reason.BEYOND_LIMIT),
    ]


def test_agrees_with_the_obvious_version_on_answers_of_every_kind() -> None:
    found: set[Reason] = set()
    longest = 0
    for answer in grammar.answers(2000):
        parsed = parse_answer(answer, grammar.CONCEPTS)
        assert parsed == reference.parse_answer(answer, grammar.CONCEPTS)
        found |= {line.reason for line in parsed.rejected}
        longest = max(longest, *(len(line.line) for line in parsed.rejected), 0)
    assert found == set(Reason)
    assert longest > LONGEST_KEPT


PIECES = st.sampled_from(
    [
        "1.", "2) ", "(3)", "[4]", "5 - ", "- ", "* ", "> ", "a) ", "--", "**", "__", "`", '"',
        "tail", "Fur", "or", "ör", "ﬁn", "ＳＮＯＷ", "e\u0301", "UNFIT", "unfit", "Answer:",
        "Caption:", "caption :", "Sure!", "note:", "I'm sorry", "As an AI", "<think>", "</think>",
        "(", ")", ",", "/", " - ", " 3. ", ":", ".", " ", "\t", "\n", "\r\n", "\r", "\x0b", "\x0c",
        "\x1c", "\x1f", "\x85", "\u2028", "\u00a0", "\u3000", "\u200b", "\ufeff", "\ufffd", "\x07",
        "🚌", "İ", "ß", "\u0345",
    ]
)  # fmt: skip


@given(
    st.lists(PIECES, max_size=30).map("".join) | st.text(),
    st.sampled_from(["stop", "length"]),
    st.integers(1, 4),
)
@settings(max_examples=500)
def test_agrees_with_the_obvious_version_on_anything(text: str, reason: str, limit: int) -> None:
    answer = Answer(text, reason)
    assert parse_answer(answer, limit) == reference.parse_answer(answer, limit)
