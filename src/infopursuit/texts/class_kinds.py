"""Texts beside classes that are named things: which cannot be true of them, and which are likened.

WordNet's kinds of nouns decide. A pizza is not true of a cat, however close CLIP finds them; and a
wolf is true of no cat either, but a cat may look like one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
from jaxtyping import Bool

from infopursuit.texts.normalization import normalize
from infopursuit.texts.vocabulary import phrase_kinds
from infopursuit.texts.wordnet import COMMON, class_senses, packaged_nouns, senses_of

# Wide kinds of things, each apart from the others. In a building, or with a person, is anything.
WIDE, OTHER = ("animal", "plant", "fungus", "food", "artifact"), "other"
HOLDS_ANYTHING = ("structure", "person")
# What phrases of the shipped vocabulary are true of, by their kind; those of other kinds: anything.
TRAITS = {
    "animal trait": {"animal"},
    "plant trait": {"plant", "fungus", "food"},
    "food trait": {"food", "plant", "fungus"},
    "clothing": {"artifact"},
    "part": {"artifact"},
}
# Classes are of a wide kind if two are, or more than this share of those that WordNet knows: one of
# many may have another sense than its name says, as the cat that is called a rag doll.
RARE = 0.05
# A kind is narrow enough to compare its members if it and the kinds above it are at least this many
# (one more among artifacts): animal and vehicle are narrow, device is not. This share of classes
# has to be of it.
NARROW, NEARLY_ALL = 7, 0.9


def _known(classes: Sequence[str]) -> list[int]:
    """Return the senses of the classes that WordNet knows; none if it lacks most."""
    known = [each for each in class_senses(packaged_nouns(), classes) if each is not None]
    return known if len(known) >= COMMON * len(classes) else []


@cache
def _tops() -> tuple[dict[str, set[int]], set[int]]:
    """Return the senses of each wide kind, and of what holds anything."""
    nouns = packaged_nouns()
    wide = {name: {each for form in nouns.things(name) for each in form} for name in WIDE}
    return wide, {nouns.things(name)[0][0] for name in HOLDS_ANYTHING}


def _wide_kinds(sense: int) -> set[str]:
    """Return the wide kinds of a sense."""
    wide, anything = _tops()
    kinds = packaged_nouns().kinds(sense)
    found = {name for name, top in wide.items() if not kinds.isdisjoint(top)}
    return found if found and kinds.isdisjoint(anything) else {OTHER}


def _wide_kinds_of_text(text: str) -> set[str]:
    """Return the wide kinds of all senses of a text; none if it is no thing of WordNet.

    Only the most frequent sense may be another, and people are counted if there is nothing else:
    an ottoman is a seat. A text that names a color, too, may be true of anything.
    """
    nouns = packaged_nouns()
    color, person = nouns.senses("visual property")[0], nouns.things("person")[0][0]
    if any(color in nouns.kinds(sense) for sense in nouns.senses(text)):
        return {OTHER}
    found: set[str] = set()
    for form in senses_of(nouns, text):
        senses = [each for each in form if person not in nouns.kinds(each)] or form
        found |= _wide_kinds(senses[0])
        for sense in senses[1:]:
            found |= _wide_kinds(sense) - {OTHER}
    return found


@lru_cache(maxsize=4)
def of_other_kinds(classes: tuple[str, ...], texts: tuple[str, ...]) -> Bool[np.ndarray, " u"]:
    """Return which of u texts name things of other wide kinds than the classes.

    None if WordNet lacks most of the classes, or if some are of none of the wide kinds.
    """
    known = _known(classes)
    counts = Counter(kind for sense in known for kind in _wide_kinds(sense))
    theirs = {kind for kind, count in counts.items() if count > 1 or count > RARE * len(known)}
    if not known or OTHER in theirs:
        return np.zeros(len(texts), dtype=bool)
    traits = phrase_kinds()

    def is_other(text: str) -> bool:
        kind = traits.get(normalize(text), "thing")
        kinds = _wide_kinds_of_text(text) if kind == "thing" else TRAITS.get(kind, {OTHER})
        return bool(kinds) and OTHER not in kinds and kinds.isdisjoint(theirs)

    return np.array([is_other(text) for text in texts])


def likened(classes: Sequence[str], texts: Sequence[str]) -> dict[str, bool]:
    """Return the texts of a narrow kind that nearly all classes are of; True if a class may be it.

    Among cats and dogs, a dog or an animal is what some classes are, a wolf is what they look like.
    Plants and buildings are left out: a picture of one shows others, or what is in it.
    """
    nouns, known = packaged_nouns(), _known(classes)
    counts = Counter(kind for sense in known for kind in nouns.kinds(sense))
    wide, anything = _tops()

    def is_narrow(kinds: set[int]) -> bool:
        made = not kinds.isdisjoint(wide["artifact"])
        return len(kinds) >= NARROW + made and kinds.isdisjoint(wide["plant"] | anything)

    common = [kind for kind, count in counts.items() if count >= NEARLY_ALL * len(known)]
    narrow = {kind for kind in common if is_narrow(nouns.kinds(kind))}
    made = not set(common).isdisjoint(wide["artifact"])
    above = {kind for sense in known for kind in nouns.kinds(sense)}
    found = {}
    for text in texts if narrow else ():
        # Among animals a crane is a bird; among vehicles a wheel is still no bicycle.
        forms = senses_of(nouns, text)
        senses = [sense for form in forms for sense in (form[:1] if made else form)]
        members = [each for each in senses if not nouns.kinds(each).isdisjoint(narrow)]
        if members:
            kinds = nouns.kinds(members[0])
            found[text] = members[0] in above or not kinds.isdisjoint(known)
    return found
