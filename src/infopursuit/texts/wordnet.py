"""The nouns of WordNet and what each is a kind of; texts as senses of them.

`wordnet_nouns.xz` has a line for each set of synonyms of WordNet 3.1 (licence in
`wordnet_licence.txt`), with two columns: its lemmas, with their number among the senses of the
lemma if it is not the first; its hypernyms, with = if it is an instance of them. Sets are named by
the number of lines from this one to theirs.
"""

from __future__ import annotations

import lzma
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from infopursuit.texts.normalization import normalize, number_forms
from infopursuit.texts.wording import words_and_remark

FILE = "wordnet_nouns.xz"
_PICTURE_OF = re.compile(r"^(?:an? )?(?:photo|picture|image) of ")


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
        first = [self.first[name]] if name in self.first else []
        return first + [place for _, place in sorted(self.others.get(name, ()))]

    def is_instance(self, sense: int) -> bool:
        """Whether a sense is an instance of its hypernyms, as proper names are."""
        return "=" in self.hypernyms[sense]

    def kinds(self, sense: int) -> set[int]:
        """Return a sense and all that it is a kind of."""
        senses, waiting = {sense}, [sense]
        while waiting:
            sense = waiting.pop()
            above = self.hypernyms[sense].replace("=", "").split()
            new = {sense + int(each) for each in above} - senses
            senses |= new
            waiting += new
        return senses

    def things(self, phrase: str) -> list[list[int]]:
        """Return the senses of a phrase that are physical things, and those of its singular.

        Those of its plural if there are no others: one binocular is binoculars.
        """
        forms: list[list[int]] = []
        physical = self.first["physicalentity"]
        for form in number_forms(phrase):
            things = [sense for sense in self.senses(form) if physical in self.kinds(sense)]
            if things and (not forms or len(form) < len(phrase)):
                forms.append(things)
        return forms


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


def senses_of(nouns: Nouns, text: str) -> list[list[int]]:
    """Look a text up. A remark chooses senses: a "bat (animal)" is not a club."""
    words, remark = words_and_remark(_PICTURE_OF.sub("", normalize(text)))
    forms = nouns.things(" ".join(words))
    meant = {sense for senses in nouns.things(remark) for sense in senses}
    chosen = [[each for each in senses if nouns.kinds(each) & meant] for senses in forms]
    return [senses for senses in chosen if senses] or forms
