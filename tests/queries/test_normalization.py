import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infopursuit.queries.normalization import normalize
from tests.queries import reference_parsing as reference


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Striped  Coat", "striped coat"),
        ('"long tail".', "long tail"),
        ("  “Two wheels”, ", "two wheels"),
        ("ﬁre engine", "fire engine"),
        ("two\u00a0legs\n", "two legs"),
        ("two-wheeled cart", "two-wheeled cart"),
        ("bird's wing!", "bird's wing"),
        ("ＳＮＯＷ", "snow"),
        ("...", ""),
        ("", ""),
    ],
)
def test_unifies_spelling(text: str, expected: str) -> None:
    assert normalize(text) == expected


@given(st.text())
def test_twice_is_once(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once


@given(st.text())
def test_result_is_bare_and_single_spaced(text: str) -> None:
    once = normalize(text)
    assert once == " ".join(once.split())
    for end in (once[:1], once[-1:]):
        assert not end or not unicodedata.category(end).startswith("P")


@given(st.text(alphabet="abcXYZ ", min_size=1), st.sampled_from(["", '"', "'", ".", "**", "- "]))
def test_case_and_quotes_do_not_matter(text: str, quote: str) -> None:
    assert normalize(quote + text.upper() + quote) == normalize(text.lower())


@given(st.text() | st.text(st.characters(max_codepoint=127)) | st.text(" \x1c\x1f\t'`^~|<=+a.A"))
@settings(max_examples=500)
def test_ascii_has_a_shorter_way_to_the_same(text: str) -> None:
    assert normalize(text) == reference.normalize(text)


def test_every_ascii_character_at_the_ends() -> None:
    for character in map(chr, range(128)):
        for text in (character, f"{character}b{character}", f"a {character} b"):
            assert normalize(text) == reference.normalize(text), repr(text)
