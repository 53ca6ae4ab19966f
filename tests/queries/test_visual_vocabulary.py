"""The phrases were also checked, by hand, against Debian's list of American words."""

import re
from collections import Counter

import pytest

import infopursuit.texts
from infopursuit.core.errors import InputError
from infopursuit.queries import visual_vocabulary as module
from infopursuit.queries.normalization import normalize
from infopursuit.queries.visual_vocabulary import KINDS, phrase_kinds, visual_vocabulary

PHRASES = phrase_kinds()
IRREGULAR = {
    "children": "child",
    "feet": "foot",
    "geese": "goose",
    "halves": "half",
    "hooves": "hoof",
    "knives": "knife",
    "leaves": "leaf",
    "men": "man",
    "mice": "mouse",
    "people": "person",
    "scarves": "scarf",
    "shelves": "shelf",
    "teeth": "tooth",
    "women": "woman",
}
# "less" in a word negates too: "hairless" asks for what cannot be seen.
NEGATION = re.compile(r"\b(no|non|not|never|none|nor|nothing|without)\b|(?<!stain)less\b")
BRITISH = re.compile(
    r"colour|grey|centre|fibre|metre|theatre|jewell|tyre|pyjama|mould|plough|aluminium|moustache"
    r"|doughnut|\bkerb|armour|storey|catalogue|omelette|yoghurt|sceptre|draught"
)
DISRESPECTFUL = re.compile(
    r"\b(ugly|pretty|fat|obese|skinny (person|man|woman)|stupid|lame|crippled|handicapped|crazy"
    r"|naked|nude|sexy|primitive|foreign|exotic|ethnic|normal|midget|savage)\b"
)


def singular(word: str) -> str:
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if re.search(r"(ch|sh|x|ss|z)es$", word):
        return word[:-2]
    return word[:-1] if re.search(r"[^siu]s$", word) else word


def bare(phrase: str) -> tuple[str, ...]:
    """What remains of a phrase without number, articles and order."""
    words = re.findall(r"[a-z]+", normalize(phrase))
    return tuple(sorted(singular(word) for word in words if word not in ("a", "an", "the")))


def rows() -> list[list[str]]:
    path = module.files("infopursuit.queries").joinpath(module.FILE)
    return [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_file_has_a_phrase_and_a_kind_a_row() -> None:
    header, *content = rows()
    assert header == ["phrase", "kind"]
    assert {len(row) for row in content} == {2}
    assert len(content) == len(PHRASES)
    assert 3000 <= len(content) <= 6000


def test_kinds_are_balanced() -> None:
    counts = Counter(PHRASES.values())
    assert tuple(counts) == KINDS
    assert 12 <= len(KINDS) <= 18
    assert counts["thing"] <= len(PHRASES) / 3
    assert min(counts.values()) >= 150
    for kind in ("part", "material", "texture", "shape", "scene", "action"):
        assert counts[kind] >= 250, kind
    assert sum(number for kind, number in counts.items() if kind.endswith("trait")) >= 900


def test_every_kind_is_defined_in_the_docstring() -> None:
    defined = re.findall(r"^    ([a-z]+(?: trait)?) {2,}\S", str(module.__doc__), re.MULTILINE)
    assert tuple(defined) == KINDS


def test_examples_in_the_docstring_are_of_their_kind() -> None:
    found = 0
    for line in str(module.__doc__).splitlines():
        match = re.match(r"    ([a-z]+(?: trait)?) {2,}.*: (.*)$", line)
        if not match:
            continue
        for example in match[2].split(", "):
            assert PHRASES[re.sub(r"^an? ", "", example)] == match[1], example
            found += 1
    assert found >= 2 * len(KINDS)


def test_phrases_are_plain_lower_case_words() -> None:
    for phrase in PHRASES:
        assert re.fullmatch(r"[a-z]+(?:['-][a-z]+)*(?:-[a-z]+)*(?: [a-z]+(?:['-][a-z]+)*)*", phrase)
        assert len(phrase.split()) <= 4, phrase
        assert len(phrase) >= 3, phrase
        assert normalize(phrase) == phrase


def test_no_phrase_negates_or_offers_a_choice_or_judges() -> None:
    for phrase in PHRASES:
        assert not NEGATION.search(phrase), phrase
        assert "or" not in phrase.split(), phrase
        assert not DISRESPECTFUL.search(phrase), phrase


def test_spelling_is_american() -> None:
    assert [phrase for phrase in PHRASES if BRITISH.search(phrase)] == []


def test_no_phrase_comes_twice_in_another_number_or_order() -> None:
    first: dict[tuple[str, ...], str] = {}
    for phrase in PHRASES:
        assert first.setdefault(bare(phrase), phrase) == phrase


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("long handle", "Long Handles"),
        ("rows of leaves", "row of leaf"),
        ("red and white", "white and red"),
        ("close-up of a face", "close up of the face"),
    ],
)
def test_the_search_for_duplicates_finds_them(one: str, other: str) -> None:
    assert bare(one) == bare(other)


def test_no_word_and_no_frame_fills_the_list() -> None:
    """No combination of one word with every other: each word is in few phrases of its kind."""
    for kind in KINDS:
        phrases = visual_vocabulary([kind])
        words = Counter(word for phrase in phrases for word in set(phrase.split()))
        for word in ("a", "an", "the", "of", "in", "on", "with", "and", "person", "photo"):
            del words[word]
        word, number = words.most_common(1)[0]
        assert number <= len(phrases) / 4, (kind, word, number)


def test_it_holds_what_everyday_data_sets_need() -> None:
    needed = """dog, bird, truck, musical instrument, wheels, four legs, curved beak, striped body,
    wooden surface, steam rising, seen from above, petals, crust, long sleeves, handwritten digit,
    closed loop, pencil sketch, satellite image, chest x-ray, bumpy, busy street, striped"""
    assert set(re.split(r",\s+", needed)) <= set(PHRASES)


def test_all_phrases_in_the_order_of_the_file() -> None:
    assert visual_vocabulary() == [phrase for phrase, _ in rows()[1:]]
    assert infopursuit.texts.visual_vocabulary() == visual_vocabulary()


def test_phrases_of_some_kinds() -> None:
    chosen = visual_vocabulary(["color", "part"])
    assert chosen == [phrase for phrase in PHRASES if PHRASES[phrase] in ("part", "color")]
    assert visual_vocabulary([]) == []


def test_what_is_returned_belongs_to_the_caller() -> None:
    visual_vocabulary().clear()
    phrase_kinds().clear()
    assert len(visual_vocabulary()) == len(phrase_kinds()) == len(PHRASES)


def test_an_unknown_kind_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"no kind 'colour'; expected some of thing, part"):
        visual_vocabulary(["part", "colour"])


def test_a_text_in_the_place_of_a_list_is_refused() -> None:
    with pytest.raises(InputError, match=r"expected a list of kinds, as \['part'\]"):
        visual_vocabulary("part")
