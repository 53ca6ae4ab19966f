"""Texts that say the same, and texts that follow from others, by their words."""

import pytest

from infopursuit.queries.related import related_texts


def related(*texts: str) -> list[tuple[str, str, str]]:
    return [
        (texts[asked], texts[other], "yes" if after_yes else "any")
        for asked, other, after_yes in related_texts(texts)
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ice cream", "icecream"),
        ("steak", "steak (food)"),
        ("chopstick", "Chopsticks"),
        ("hot-air balloon", "hot air balloon"),
        ("a long tail", "long tail"),
    ],
)
def test_these_say_the_same(one: str, other: str) -> None:
    assert related(one, other) == [(one, other, "any"), (other, one, "any")]


@pytest.mark.parametrize(
    ("special", "general"),
    [("sea turtle", "turtle"), ("four wheels", "wheels"), ("very long neck", "long neck")],
)
def test_this_follows_from_a_yes(special: str, general: str) -> None:
    assert related(special, general) == [(special, general, "yes")]
    assert related(general, special) == [(special, general, "yes")]


@pytest.mark.parametrize(
    "texts",
    [
        ("bat (animal)", "bat (sports equipment)"),
        ("glass", "glasses"),
        ("striped coat", "striped body"),
        ("starfish", "fish"),
        ("tail", "tail light"),
        ("fish bowl", "bowl of fish soup"),
    ],
)
def test_these_have_nothing_to_do_with_each_other(texts: tuple[str, str]) -> None:
    assert related(*texts) == []


def test_a_remark_in_brackets_tells_meanings_apart() -> None:
    found = related("bat", "bat (animal)", "bat (sports equipment)")
    assert ("bat (animal)", "bat (sports equipment)", "any") not in found
    assert ("bat", "bat (animal)", "any") in found


def test_texts_without_words_are_related_to_nothing() -> None:
    assert related("(?)", "...", "the") == []
