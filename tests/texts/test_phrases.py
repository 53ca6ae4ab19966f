"""Spelling, the shipped vocabulary, and how texts become questions."""

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infopursuit.core.errors import InputError
from infopursuit.texts import asking
from infopursuit.texts.normalization import normalize
from infopursuit.texts.vocabulary import KINDS, phrase_kinds, visual_vocabulary
from infopursuit.texts.wording import comparison, question, related_texts


def plainly_normalized(text: str) -> str:
    """The same without the short way for ASCII."""
    lowered = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    characters = list(" ".join(lowered.split()))
    for place in (0, -1):
        while characters and (
            characters[place] in " `´^~|<>=+"
            or unicodedata.category(characters[place]).startswith("P")
        ):
            del characters[place]
    return "".join(characters)


@given(st.text() | st.text(st.characters(max_codepoint=127)) | st.text(" \x1c\x1f\t'`^~|<=+a.A"))
@settings(max_examples=150)
def test_agrees_with_the_obvious_version(text: str) -> None:
    assert normalize(text) == plainly_normalized(text)


PHRASES = phrase_kinds()
# "less" in a word negates too: "hairless" asks for what cannot be seen.
NEGATION = re.compile(r"\b(no|non|not|never|none|nor|nothing|without)\b|(?<!stain)less\b")
DISRESPECTFUL = re.compile(
    r"\b(ugly|pretty|fat|obese|skinny (person|man|woman)|stupid|lame|crippled|handicapped|crazy"
    r"|naked|nude|sexy|primitive|foreign|exotic|ethnic|normal|midget|savage)\b"
)


def test_phrases_are_few_plain_words_that_can_be_seen() -> None:
    assert visual_vocabulary() == list(PHRASES)
    assert tuple(dict.fromkeys(PHRASES.values())) == KINDS
    for phrase in PHRASES:
        assert re.fullmatch(r"[a-z]+(?:['-][a-z]+)*(?: [a-z]+(?:['-][a-z]+)*){0,3}", phrase)
        assert normalize(phrase) == phrase
        assert not NEGATION.search(phrase), phrase
        assert "or" not in phrase.split(), phrase
        assert not DISRESPECTFUL.search(phrase), phrase


@pytest.mark.parametrize(
    ("kind", "phrase", "expected"),
    [
        ("thing", "animal", "Is it an animal?"),
        ("thing", "scissors", "Does it show scissors?"),
        ("part", "long handle", "Does it have a long handle?"),
        ("material", "wood", "Is it made of wood?"),
        ("pattern", "densely packed", "Is it densely packed?"),
        ("shape", "u-shaped bend", "Does it have a u-shaped bend?"),
        ("shape", "strokes meeting at top", "Does it have strokes meeting at top?"),
        ("scene", "indoors", "Is it indoors?"),
        ("light", "falling snow", "Does it show falling snow?"),
        ("action", "steam rising", "Does it show steam rising?"),
        ("state", "covered in snow", "Is it covered in snow?"),
        ("animal trait", "long-eared", "Is it long-eared?"),
        ("plant trait", "petals folded back", "Does it have petals folded back?"),
        ("food trait", "half a sandwich", "Does it have half a sandwich?"),
        ("clothing", "wearing a helmet", "Does it show someone wearing a helmet?"),
        ("picture", "seen from above", "Is it seen from above?"),
        ("picture", "pencil sketch", "Is it a pencil sketch?"),
    ],
)
def test_wording(kind: str, phrase: str, expected: str) -> None:
    assert question(phrase, kind) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("long tail", "Does it show a long tail?"),
        ("brown fur", "Does it show brown fur?"),
        ("pointed upright ears", "Does it show pointed upright ears?"),
        ("hour hand", "Does it show an hour hand?"),
        ("unidentified object", "Does it show an unidentified object?"),
        ("hollow inside", "Is it hollow inside?"),
        ("is striped", "Is it striped?"),
        ("Is a dog.", "Is it a dog?"),
        ("is it striped", "Is it striped?"),
        ("are round", "Are they round?"),
        ("has four legs", "Does it have four legs?"),
        ("has been eaten", "Has it been eaten?"),
        ("it can fly", "Can it fly?"),
        ("can of soda", "Does it show a can of soda?"),
        ("shows stripes", "Does it show stripes?"),
        ("does it bark", "Does it bark?"),
        ("regular", "Is it regular?"),
        ("blue structures", "Does it show blue structures?"),
        ("Eiffel Tower", "Does it show an Eiffel Tower?"),
        ("Golden retriever", "Does it show a golden retriever?"),
        ("mottled brown and grey", "Is it mottled brown and grey?"),
        ("X-ray of a hand", "Does it show an X-ray of a hand?"),
        ("LED lamp", "Does it show an LED lamp?"),
        ("  long   tail. ", "Does it show a long tail?"),
    ],
)
def test_texts_of_unknown_kind(text: str, expected: str) -> None:
    assert question(text) == expected


@pytest.mark.parametrize("kind", [None, "pattern", "thing"])
def test_a_question_stays_as_it_is(kind: str | None) -> None:
    assert question("Is it striped?", kind) == "Is it striped?"
    assert question(" Has it\nWheels? ", kind) == "Has it Wheels?"
    assert question(question("striped body"), kind) == question("striped body")


@pytest.mark.parametrize(
    ("phrase", "is_one", "likeness"),
    [
        ("wolf", "Is it a wolf?", "Does it look like a wolf?"),
        ("ants", "Does it show ants?", "Does it look like ants?"),
        ("otter.", "Is it an otter?", "Does it look like an otter?"),
    ],
)
def test_what_a_picture_is_of_or_looks_like(phrase: str, is_one: str, likeness: str) -> None:
    assert (comparison(phrase, True), comparison(phrase, False)) == (is_one, likeness)


def test_the_whole_vocabulary_is_asked_in_one_sentence_each() -> None:
    for phrase, kind in phrase_kinds().items():
        asked = question(phrase, kind)
        assert re.fullmatch(
            r"(Is it|Is it made of|Does it (have|show|look)|Does it show someone) (an? )?"
            + re.escape(phrase)
            + r"\?",
            asked,
        ), asked
        assert not re.search(r"\ban? (an?|the|two|three|four|many|several|half of) ", asked), asked
        assert not re.search(r"\ba [aeio]|\ban [bcdgjkpqtvwyz]", asked.replace("a one", "")), asked


@pytest.mark.parametrize(
    ("ask", "word"),
    [
        (lambda: visual_vocabulary(["part", "colour"]), "colour"),
        (lambda: visual_vocabulary("part"), "list"),
        (lambda: question(" ?? "), "word"),
        (lambda: question("red", "colour"), "colour"),
    ],
)
def test_what_cannot_be_asked_is_refused(ask: Callable, word: str) -> None:
    with pytest.raises(InputError, match=word):
        ask()


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
def test_a_yes_to_the_first_answers_the_second(special: str, general: str) -> None:
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
        ("(?)", "...", "the"),
        ("fish bowl", "bowl of fish soup"),
    ],
)
def test_these_have_nothing_to_do_with_each_other(texts: tuple[str, str]) -> None:
    assert related(*texts) == []


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("gull", "Does it show a gull?"),
        ("golden retriever", "Does it show a golden retriever?"),
        ("birdfeeder", "Does it show a birdfeeder?"),
        ("bat (animal)", "Does it show a bat (animal)?"),
        ("cabinet/shelf", "Does it show a cabinet/shelf?"),
        ("can opener", "Does it show a can opener?"),
        ("mandarin orange", "Does it show a mandarin orange?"),
        ("gloves", "Does it show gloves?"),
        ("applesauce", "Does it show applesauce?"),
        ("Eiffel Tower", "Does it show Eiffel Tower?"),
        ("BMW", "Does it show BMW?"),
        ("TV", "Does it show a TV?"),
        ("Golden Retriever", "Does it show a Golden Retriever?"),
        ("wooden", "Is it wooden?"),
        ("striped", "Is it striped?"),
        ("Is it striped??", "Is it striped?"),
        ("Wheels.", "Does it have wheels?"),
        ("airborne", "Is it airborne?"),
        ("can fly", "Can it fly?"),
        ("lays eggs", "Does it lay eggs?"),
        ("no legs", "Does it have no legs?"),
        ("more than 4 legs", "Does it have more than 4 legs?"),
        ("at least two wheels", "Does it have at least two wheels?"),
        ("4 legs", "Does it have 4 legs?"),
        ("the animal has stripes", "Does the animal have stripes?"),
        ("its legs are long", "Are its legs long?"),
        ("Can it fly?", "Can it fly?"),
    ],
)
def test_queries_become_sentences(query: str, asked: str) -> None:
    assert asking.sentence(query) == asking.question(query) == asked
