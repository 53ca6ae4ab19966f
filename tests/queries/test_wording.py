import re

import pytest

from infopursuit.core.errors import InputError
from infopursuit.queries.visual_vocabulary import KINDS, phrase_kinds
from infopursuit.queries.wording import Form, grammatical_form, question

EXAMPLES = [
    ("thing", "animal", "Is it an animal?"),
    ("thing", "dog", "Is it a dog?"),
    ("thing", "x-ray", "Is it an x-ray?"),
    ("thing", "unicycle", "Is it a unicycle?"),
    ("thing", "bread", "Is it bread?"),
    ("thing", "scissors", "Does it show scissors?"),
    ("thing", "glass of water", "Is it a glass of water?"),
    ("thing", "bird of prey", "Is it a bird of prey?"),
    ("thing", "orange", "Is it an orange?"),
    ("part", "long handle", "Does it have a long handle?"),
    ("part", "wheels", "Does it have wheels?"),
    ("part", "stained glass", "Does it have stained glass?"),
    ("part", "row of round windows", "Does it have a row of round windows?"),
    ("part", "open trunk", "Does it have an open trunk?"),
    ("material", "wood", "Is it made of wood?"),
    ("material", "brushed steel", "Is it made of brushed steel?"),
    ("material", "wooden surface", "Does it show a wooden surface?"),
    ("material", "glass beads", "Does it show glass beads?"),
    ("color", "bright red", "Is it bright red?"),
    ("color", "black and white", "Is it black and white?"),
    ("color", "orange beak", "Does it have an orange beak?"),
    ("color", "golden fur", "Does it have golden fur?"),
    ("color", "blue eyes", "Does it have blue eyes?"),
    ("texture", "bumpy", "Does it look bumpy?"),
    ("texture", "smooth surface", "Does it have a smooth surface?"),
    ("texture", "wrinkled skin", "Does it have wrinkled skin?"),
    ("texture", "fine cracks", "Does it have fine cracks?"),
    ("pattern", "striped", "Is it striped?"),
    ("pattern", "zebra stripes", "Does it have zebra stripes?"),
    ("pattern", "plaid", "Is it plaid?"),
    ("pattern", "plaid shirt", "Does it have a plaid shirt?"),
    ("pattern", "densely packed", "Is it densely packed?"),
    ("shape", "square", "Is it square?"),
    ("shape", "small square", "Does it have a small square?"),
    ("shape", "heart-shaped", "Is it heart-shaped?"),
    ("shape", "s-shaped curve", "Does it have an s-shaped curve?"),
    ("shape", "u-shaped bend", "Does it have a u-shaped bend?"),
    ("shape", "open at the top", "Is it open at the top?"),
    ("shape", "arched back", "Does it have an arched back?"),
    ("shape", "strokes meeting at top", "Does it have strokes meeting at top?"),
    ("number", "four legs", "Does it have four legs?"),
    ("number", "one eye", "Does it have one eye?"),
    ("number", "pair of wings", "Does it have a pair of wings?"),
    ("number", "larger than a person", "Is it larger than a person?"),
    ("scene", "indoors", "Is it indoors?"),
    ("scene", "on a branch", "Is it on a branch?"),
    ("scene", "busy street", "Does it show a busy street?"),
    ("scene", "trees in the background", "Does it show trees in the background?"),
    ("scene", "dry riverbed", "Does it show a dry riverbed?"),
    ("light", "foggy", "Is it foggy?"),
    ("light", "falling snow", "Does it show falling snow?"),
    ("light", "lit from behind", "Is it lit from behind?"),
    ("light", "icy road", "Does it show an icy road?"),
    ("action", "running", "Is it running?"),
    ("action", "opening its mouth", "Is it opening its mouth?"),
    ("action", "eating grass", "Is it eating grass?"),
    ("action", "steam rising", "Does it show steam rising?"),
    ("action", "person riding a bicycle", "Does it show a person riding a bicycle?"),
    ("action", "people shaking hands", "Does it show people shaking hands?"),
    ("state", "half-eaten", "Is it half-eaten?"),
    ("state", "covered in snow", "Is it covered in snow?"),
    ("state", "open umbrella", "Does it show an open umbrella?"),
    ("state", "folded towels", "Does it show folded towels?"),
    ("animal trait", "curved beak", "Does it have a curved beak?"),
    ("animal trait", "webbed feet", "Does it have webbed feet?"),
    ("animal trait", "long-eared", "Is it long-eared?"),
    ("animal trait", "fur", "Does it have fur?"),
    ("plant trait", "leafy", "Is it leafy?"),
    ("plant trait", "petals folded back", "Does it have petals folded back?"),
    ("plant trait", "hanging vines", "Does it have hanging vines?"),
    ("food trait", "melted butter", "Does it have melted butter?"),
    ("food trait", "served on a stick", "Is it served on a stick?"),
    ("food trait", "half a sandwich", "Does it have half a sandwich?"),
    ("food trait", "golden brown", "Is it golden brown?"),
    ("clothing", "evening gown", "Does it show an evening gown?"),
    ("clothing", "running shoes", "Does it show running shoes?"),
    ("clothing", "wearing a helmet", "Does it show someone wearing a helmet?"),
    ("clothing", "school uniform", "Does it show a school uniform?"),
    ("person trait", "curly hair", "Does it show curly hair?"),
    ("person trait", "beard", "Does it show a beard?"),
    ("person trait", "hair tied back", "Does it show hair tied back?"),
    ("person trait", "group of friends", "Does it show a group of friends?"),
    ("picture", "seen from above", "Is it seen from above?"),
    ("picture", "pencil sketch", "Is it a pencil sketch?"),
    ("picture", "typed text", "Is it typed text?"),
    ("picture", "oil painting", "Is it an oil painting?"),
]


@pytest.mark.parametrize(("kind", "phrase", "expected"), EXAMPLES)
def test_wording(kind: str, phrase: str, expected: str) -> None:
    assert question(phrase, kind) == expected


def test_examples_are_of_all_kinds() -> None:
    assert {kind for kind, _, _ in EXAMPLES} == set(KINDS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("long tail", "Does it show a long tail?"),
        ("four legs", "Does it show four legs?"),
        ("2 wheels", "Does it show 2 wheels?"),
        ("brown fur", "Does it show brown fur?"),
        ("fixed wide wings", "Does it show fixed wide wings?"),
        ("pointed upright ears", "Does it show pointed upright ears?"),
        ("folded upright", "Is it folded upright?"),
        ("the moon", "Does it show the moon?"),
        ("hour hand", "Does it show an hour hand?"),
        ("swimming pool", "Does it show a swimming pool?"),
        ("six wheels visible", "Does it show six wheels visible?"),
        ("pedals and chain", "Does it show pedals and chain?"),
        ("potted flowering plant", "Does it show a potted flowering plant?"),
        ("wet glistening skin", "Does it show wet glistening skin?"),
        ("utilitarian shape", "Does it show a utilitarian shape?"),
        ("unidentified object", "Does it show an unidentified object?"),
        ("hollow inside", "Is it hollow inside?"),
        ("mottled brown and grey", "Is it mottled brown and grey?"),
        ("striped", "Is it striped?"),
        ("made of wood", "Is it made of wood?"),
        ("in the rain", "Is it in the rain?"),
        ("Gray skin", "Does it show gray skin?"),
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


def test_questions_of_the_vocabulary_differ() -> None:
    asked = [question(phrase, kind) for phrase, kind in phrase_kinds().items()]
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize(
    ("phrase", "form"),
    [
        ("bowl of nuts", Form.SINGULAR),
        ("glass dome", Form.SINGULAR),
        ("glass", Form.MASS),
        ("glass of milk", Form.SINGULAR),
        ("octopus", Form.SINGULAR),
        ("lens", Form.SINGULAR),
        ("teeth", Form.PLURAL),
        ("waves breaking", Form.PLURAL),
        ("seaweed", Form.MASS),
        ("bowstring", Form.SINGULAR),
        ("tree-like", Form.STATE),
    ],
)
def test_forms(phrase: str, form: Form) -> None:
    assert grammatical_form(phrase) is form


@pytest.mark.parametrize("text", ["", "  ", ".", "?", " ?? "])
def test_a_blank_text_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected at least one word"):
        question(text)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(
        InputError, match="unknown kind 'colour' of the text 'red'; expected one of"
    ):
        question("red", "colour")
