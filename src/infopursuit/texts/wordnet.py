"""The nouns of WordNet and what each is a kind of; classes and texts as senses of them.

`wordnet_nouns.xz` has a line for each set of synonyms of WordNet 3.1 (licence in
`wordnet_licence.txt`), with two columns: its lemmas, with their number among the senses of the
lemma if it is not the first; its hypernyms, with = if it is an instance of them. Sets are named by
the number of lines from this one to theirs.
"""

from __future__ import annotations

import lzma
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from infopursuit.texts.normalization import normalize, number_forms
from infopursuit.texts.wording import words_and_remark

FILE = "wordnet_nouns.xz"
# A kind that at least this share of the classes are of decides between the senses of a name.
COMMON = 0.5
_PICTURE_OF = re.compile(r"^(?:an? )?(?:photo|picture|image) of ")
_WORD = re.compile(r"[A-Z]?[^\W_A-Z]+|[^\W_a-z]+")


class Nouns(NamedTuple):
    """Sets of synonyms by number, and their relations.

    Attributes:
        first: of a lemma, without what separates its words, the most frequent sense.
        others: of a lemma, its other senses with their numbers.
        hypernyms: of each set, the sets that it is a kind of, as the file has them: few are read.
    """

    first: dict[str, int]
    others: dict[str, list[tuple[int, int]]]
    hypernyms: list[str]

    def senses(self, phrase: str) -> list[int]:
        """Return the sets of a phrase, the most frequent sense first."""
        name = _joined(phrase)
        found = [self.first[name]] if name in self.first else []
        return found + [place for _, place in sorted(self.others.get(name, ()))]

    def is_instance(self, sense: int) -> bool:
        """Whether a sense is an instance of its hypernyms, as proper names are."""
        return "=" in self.hypernyms[sense]

    def kinds(self, sense: int) -> set[int]:
        """Return a sense and all that it is a kind of."""
        found, waiting = {sense}, [sense]
        while waiting:
            sense = waiting.pop()
            above = self.hypernyms[sense].replace("=", "").split()
            new = {sense + int(each) for each in above} - found
            found |= new
            waiting += new
        return found

    def things(self, phrase: str) -> list[list[int]]:
        """Return the senses of a phrase that are physical things, and those of its singular.

        Those of its plural if there are no others: one binocular is binoculars.
        """
        found: list[list[int]] = []
        physical = self.first["physicalentity"]
        for form in number_forms(phrase):
            things = [sense for sense in self.senses(form) if physical in self.kinds(sense)]
            if things and (not found or len(form) < len(phrase)):
                found.append(things)
        return found


def _joined(phrase: str) -> str:
    """Return a phrase without what separates words: a sea horse is a seahorse."""
    phrase = phrase.lower()
    return phrase if phrase.isalnum() else "".join(filter(str.isalnum, phrase))


def read_nouns(lines: Iterable[str]) -> Nouns:
    """Return what the lines of `wordnet_nouns.xz` say."""
    first: dict[str, int] = {}
    others: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    hypernyms = []
    for place, line in enumerate(lines):
        lemmas, above = line.split("\t")
        for lemma in lemmas.split(" "):
            name, _, number = lemma.partition(":")
            if not number and (joined := _joined(name)) not in first:
                first[joined] = place
            else:
                others[_joined(name)].append((int(number or 1), place))
        hypernyms.append(above)
    return Nouns(first, dict(others), hypernyms)


@cache
def packaged_nouns() -> Nouns:
    """Return the nouns that ship with the library."""
    return read_nouns(_packaged_lines())


def is_noun(phrase: str) -> bool:
    """Return whether WordNet has a noun of this name, in any number, that is no proper name."""
    return any(_joined(form) in _common() for form in number_forms(phrase))


@cache
def _common() -> frozenset[str]:
    """Return the lemmas that ship with the library, without proper names; faster than all."""
    lemmas = (line.split("\t") for line in _packaged_lines())
    names = " ".join(names for names, above in lemmas if "=" not in above)
    return frozenset(re.sub(r":\d+|[^\w ]|_", "", names.lower()).split(" "))


def _packaged_lines() -> list[str]:
    packed = files("infopursuit.texts").joinpath(FILE).read_bytes()
    return lzma.decompress(packed).decode("ascii").splitlines()


def class_senses(nouns: Nouns, classes: Sequence[str]) -> list[int | None]:
    """Return the sense of each class; None if WordNet has no thing of its name.

    It is a kind of thing rather than a person, a place or a proper name, and of the kinds that most
    of the classes are of; of several such senses it is the most frequent. If WordNet lacks a name,
    its last words are tried and then its first ("Scottish terrier", "crocodile head"), for senses
    of the kinds of most classes alone.
    """
    apart = {nouns.things(name)[0][0] for name in ("person", "location")}

    def is_thing(sense: int) -> bool:
        return not nouns.is_instance(sense) and nouns.kinds(sense).isdisjoint(apart)

    def ranked(words: Sequence[str]) -> list[int]:
        things = nouns.things(" ".join(words))
        return sorted(things[0], key=is_thing, reverse=True) if things else []

    names = [_WORD.findall(name) for name in classes]
    whole = [ranked(words) for words in names]
    counts = Counter(kind for senses in whole if senses for kind in nouns.kinds(senses[0]))
    enough = COMMON * sum(map(bool, whole))
    common = {kind for kind, count in counts.items() if count >= enough}

    def fit(sense: int) -> tuple[bool, int]:
        return is_thing(sense), len(nouns.kinds(sense) & common)

    found: list[int | None] = []
    for words, senses in zip(names, whole, strict=True):
        cut = [words[start:] for start in range(1, len(words))]
        cut += [words[:end] for end in range(len(words) - 1, 0, -1)]
        best = [sense for part in cut for sense in ranked(part)[:1]]
        if senses:
            best = [max(senses, key=fit)]  # of equals the first
        fits = [each for each in best if common <= nouns.kinds(each)]
        if senses and is_thing(best[0]):
            fits = best
        found.append(fits[0] if fits else None)
    return found


def senses_of(nouns: Nouns, text: str) -> list[list[int]]:
    """Look a text up. A remark chooses senses: a "bat (animal)" is not a club."""
    words, remark = words_and_remark(_PICTURE_OF.sub("", normalize(text)))
    found = nouns.things(" ".join(words))
    meant = {sense for senses in nouns.things(remark) for sense in senses}
    chosen = [[each for each in senses if nouns.kinds(each) & meant] for senses in found]
    return [senses for senses in chosen if senses] or found
