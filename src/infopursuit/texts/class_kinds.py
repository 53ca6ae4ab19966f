"""Which texts name what the classes may look like.

WordNet's kinds of nouns decide, for classes that are named things. "Wolf" is not true of a cat, but
a cat may look like one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from infopursuit.texts.wordnet import Nouns, packaged_nouns, senses_of

# A kind that at least this share of the classes are of decides between the senses of a name.
COMMON = 0.5
_WORD = re.compile(r"[A-Z]?[^\W_A-Z]+|[^\W_a-z]+")
# Pictures of these show things of all kinds.
HOLDS_ANYTHING = ("plant", "structure", "person")
# The members of a kind are compared if it and the kinds above it are at least this many, one more
# for artifacts: those of animal and vehicle, not those of device. This share of the classes must be
# of the kind.
NARROW, NEARLY_ALL = 7, 0.9


def class_senses(nouns: Nouns, classes: Sequence[str]) -> list[int | None]:
    """Return the sense of each class; None if WordNet has no thing of its name.

    It is a kind of thing rather than a person, a place or a proper name, and of the kinds that most
    of the classes are of; of several such senses it is the most frequent. If WordNet lacks a name,
    its last words are tried and then its first ("Scottish terrier", "crocodile head"), for senses
    of the kinds of most classes alone. Numbers are left out ("Audi TT Hatchback 2011").
    """
    apart = {nouns.things(name)[0][0] for name in ("person", "location")}

    def is_thing(sense: int) -> bool:
        return not nouns.is_instance(sense) and nouns.kinds(sense).isdisjoint(apart)

    def ranked(words: Sequence[str]) -> list[int]:
        things = nouns.things(" ".join(words))
        return sorted(things[0], key=is_thing, reverse=True) if things else []

    names = [[word for word in _WORD.findall(name) if word.isalpha()] for name in classes]
    whole = [ranked(words) for words in names]
    parts = [[ranked(part) for part in _ends(words)] for words in names]
    named = [senses[0] for senses in whole if senses]
    if len(named) < COMMON * len(classes):
        ways = [[each, *cut] for each, cut in zip(whole, parts, strict=True)]
        named = [next(way[0] for way in each if way) for each in ways if any(each)]
    counts = Counter(kind for sense in named for kind in nouns.kinds(sense))
    common = {kind for kind, count in counts.items() if count >= COMMON * len(named)}

    def fit(sense: int) -> tuple[bool, int]:
        return is_thing(sense), len(nouns.kinds(sense) & common)

    chosen: list[int | None] = []
    for senses, cut in zip(whole, parts, strict=True):
        best = [max(senses, key=fit)] if senses else [each for part in cut for each in part[:1]]
        fits = [each for each in best if common <= nouns.kinds(each)]  # of equals the first
        if senses and is_thing(best[0]):
            fits = best
        chosen.append(fits[0] if fits else None)
    return chosen


def _ends(words: Sequence[str]) -> list[Sequence[str]]:
    last = [words[start:] for start in range(1, len(words))]
    return last + [words[:end] for end in range(len(words) - 1, 0, -1)]


def _known(classes: Sequence[str]) -> list[int]:
    """Return the senses of the classes that WordNet knows; none if it lacks most."""
    known = [each for each in class_senses(packaged_nouns(), classes) if each is not None]
    return known if len(known) >= COMMON * len(classes) else []


@cache
def _tops() -> tuple[set[int], set[int]]:
    nouns = packaged_nouns()
    plants, *others = map(nouns.things, HOLDS_ANYTHING)
    anything = {each for form in plants for each in form} | {each[0][0] for each in others}
    return {each for form in nouns.things("artifact") for each in form}, anything


def comparable_texts(classes: Sequence[str], texts: Sequence[str]) -> dict[str, bool]:
    """Return the texts of a narrow kind that nearly all classes are of, and whether a class is it.

    If all classes are cats and dogs, some are a dog and all are an animal (True), and none is a
    wolf (False). Plants, people and buildings are left out: their pictures show other things, too.
    """
    nouns, known = packaged_nouns(), _known(classes)
    counts = Counter(kind for sense in known for kind in nouns.kinds(sense))
    artifacts, anything = _tops()

    def is_narrow(kinds: set[int]) -> bool:
        made = not kinds.isdisjoint(artifacts)
        return len(kinds) >= NARROW + made and kinds.isdisjoint(anything)

    common = [kind for kind, count in counts.items() if count >= NEARLY_ALL * len(known)]
    narrow = {kind for kind in common if is_narrow(nouns.kinds(kind))}
    made = not set(common).isdisjoint(artifacts)
    above = {kind for sense in known for kind in nouns.kinds(sense)}
    comparable = {}
    for text in texts if narrow else ():
        # Among animals a crane is a bird; among vehicles a wheel is still no bicycle.
        forms = senses_of(nouns, text)
        senses = [sense for form in forms for sense in (form[:1] if made else form)]
        members = [each for each in senses if not nouns.kinds(each).isdisjoint(narrow)]
        if members:
            kinds = nouns.kinds(members[0])
            comparable[text] = members[0] in above or not kinds.isdisjoint(known)
    return comparable
