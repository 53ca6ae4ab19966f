"""What the words of a text say: its question for a person, and which texts follow from it.

`question` makes "Does it have four legs?" of "four legs", `comparison` "Does it look like a wolf?"
of "wolf". The kind of a text (see `visual_vocabulary`) chooses the verb; its grammatical form, read
off its words, chooses the article. The head of a noun phrase is the word before its first
preposition or verb, or else its last: a "bowl of nuts" is one bowl. grammar.toml holds what English
spelling does not show: its lists are complete for the vocabulary, and texts from elsewhere are
mostly, not always, right.

`related_texts` finds texts that say the same ("ice cream" and "icecream", "steak" and "steak
(food)") or that follow from another: a sea turtle is a turtle, as the last words of a text name
what its first words narrow down. Words that differ and mean the same are not found.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from infopursuit.core.errors import InputError
from infopursuit.core.files import packaged_toml
from infopursuit.texts.normalization import normalize

_GRAMMAR = packaged_toml("infopursuit.texts", "grammar.toml")
_BEGINNINGS, _STATE_BEGINNINGS = _GRAMMAR["beginnings"], _GRAMMAR["state_beginnings"]
KINDS = tuple(_BEGINNINGS)
_COUNTED = frozenset(_GRAMMAR["counted"])
_WORDS = {name: frozenset(words.split()) for name, words in _GRAMMAR["words"].items()}
_BEHIND_VERBS = _WORDS["prepositions"] | _WORDS["adverbs"]
_AFTER_HEAD = _WORDS["prepositions"] | _WORDS["after_head"]
_DETERMINERS = _WORDS["plural_numbers"] | _WORDS["determiners"]


class Form(Enum):
    """The part that a text can take in a sentence."""

    SINGULAR = "singular"  # long tail
    PLURAL = "plural"  # four legs
    MASS = "mass"  # brown fur
    STATE = "state"  # striped, made of wood, seen from above, running


def question(phrase: str, kind: str | None = None) -> str:
    """Return a text as a yes/no question about a picture or what is in it.

    Outer blanks and a full stop at the end are dropped, and a capital letter at the start is made
    small, unless another word has one: a name. A text that is a question already stays as it is,
    and one that says what something is, has or does is turned round: "is striped".

    Args:
        phrase: the text.
        kind: a kind of `visual_vocabulary`; None if the kind is not known.

    Raises:
        InputError: the text is blank, or there is no such kind.
    """
    if kind is not None and kind not in KINDS:
        raise InputError(
            f"unknown kind {kind!r} of the text {phrase!r}; expected one of {', '.join(KINDS)}"
        )
    text = " ".join(phrase.split())
    if not text.strip(" .?"):
        raise InputError(f"cannot ask about the text {phrase!r}; expected at least one word")
    if text.endswith("?"):
        return text
    text = text.rstrip(" .")
    first, _, rest = text.partition(" ")
    if first.istitle() and first.isalpha() and rest == rest.lower():
        text = f"{first.lower()} {rest}".rstrip()
    turned = None if kind == "thing" else turned_round(text)
    if turned is not None:
        return turned
    form = grammatical_form(text, kind)
    if form is Form.STATE:
        return f"{_STATE_BEGINNINGS.get(kind or '', 'Is it')} {text}?"
    beginning = _BEGINNINGS.get(kind or "", "Does it show")
    if kind in ("thing", "picture") and form is Form.PLURAL:
        beginning = "Does it show"
    if kind == "material" and form is Form.MASS:
        beginning = "Is it made of"
    return f"{beginning} {_article(text, form)}{text}?"


def comparison(phrase: str, is_one: bool) -> str:
    """Return a thing as a question about what a picture is of: it is one, or it looks like one."""
    sentence = question(phrase, "thing")
    return sentence if is_one else re.sub("^(Is it|Does it show)", "Does it look like", sentence)


def turned_round(text: str) -> str | None:
    """Return what says something of a picture as a question; None for any other text.

    "is striped", "it has four legs", "shows stripes" and "does it bark" become "Is it striped?",
    "Does it have four legs?", "Does it show stripes?" and "Does it bark?".
    """
    words = text.split()
    named = len(words) > 2 and words[0].lower() == "it"
    verb, *rest = words[named:]
    verb, said = verb.lower(), " ".join(rest)
    if not rest:
        return None
    if rest[0].lower() == "it" and verb in ("is", "does", "has", "can"):
        return f"{verb.capitalize()} {said}?"
    able = verb == "can" and (named or rest[0].lower() not in _WORDS["prepositions"])
    if verb == "is" or (verb == "has" and rest[0] == "been") or able:
        return f"{verb.capitalize()} it {said}?"
    if verb == "are":
        return f"Are they {said}?"
    if verb in ("has", "have"):
        return f"Does it have {said}?"
    if verb in _WORDS["verbs"]:
        return f"Does it {verb.removesuffix('s')} {said}?"
    return None


def grammatical_form(phrase: str, kind: str | None = None) -> Form:
    """Guess the grammatical form of a text of one word or more; things are always nouns."""
    words = phrase.lower().split()
    if kind != "thing" and _begins_as_state(words, kind):
        return Form.STATE
    end = _end_of_head(words)
    head = words[end - 1]
    if kind != "thing" and _is_state(head, after=words[end - 2] if end > 1 else "and"):
        return Form.STATE
    if words[0] in _WORDS["plural_numbers"] or is_plural(head):
        return Form.PLURAL
    if "and" in words[1:end] and is_plural(words[words.index("and") - 1]):
        return Form.PLURAL  # pedals and chain
    if head in _WORDS["mass"] and words[0] != "one":
        measures = words[end : end + 1] == ["of"]  # a glass of water
        counted = " ".join(words[max(end - 2, 0) : end]) in _COUNTED
        return Form.SINGULAR if measures or counted else Form.MASS
    return Form.SINGULAR


def _begins_as_state(words: Sequence[str], kind: str | None) -> bool:
    """Return whether a text begins with a preposition, or with a verb that no noun follows."""
    first, follower = words[0], words[1] if len(words) > 1 else ""
    if first in _WORDS["prepositions"] or words[-1] in _WORDS["places"]:
        return True
    if first.endswith("ing") and (kind == "action" or follower in _DETERMINERS):
        return True
    if _is_participle(first) and follower in _BEHIND_VERBS - {"back"}:
        # "covered in snow", but "an arched back" and "fixed wide wings"
        return not (follower in _WORDS["adjectives"] and len(words) > 2)
    if not _is_ing_verb(first):
        return False
    return not follower or first == "wearing" or follower in _BEHIND_VERBS


def _end_of_head(words: Sequence[str]) -> int:
    """Return how many words there are up to the head, the head included."""
    for place in range(1, len(words)):
        word, before = words[place], words[place - 1]
        follower = words[place + 1] if place + 1 < len(words) else None
        if word in _AFTER_HEAD:
            return place
        describes = before in _WORDS["adjectives"] | _DETERMINERS | {"and", "half"}
        if describes or before.endswith("ly") or _is_participle(before):
            continue  # "long hanging ears", "freshly painted", "potted flowering plant"
        if _is_ing_verb(word):
            return place
        if _is_participle(word) and (follower is None or follower in _BEHIND_VERBS):
            return place
    return len(words)


def head(phrase: str) -> str:
    """Return the head of a noun phrase: the word that the others describe."""
    words = phrase.split()
    return words[_end_of_head(words) - 1]


def is_listed_noun(word: str) -> bool:
    """Return whether a word is a noun that WordNet lacks, or an odd plural."""
    return word in _WORDS["nouns"] | _WORDS["plurals"]


def ends_as_adjective(word: str) -> bool:
    """Return whether a word that is no noun has an ending of adjectives: wooden, airborne."""
    return word.endswith(tuple(_WORDS["adjective_endings"] | _WORDS["endings_of_no_noun"]))


def is_plural(noun: str) -> bool:
    """Guess whether a noun is in the plural, from its ending and from lists of exceptions."""
    ends_as_plural = noun.endswith("s") and not noun.endswith(("ss", "us", "is"))
    return noun in _WORDS["plurals"] or (ends_as_plural and noun not in _WORDS["singulars_in_s"])


def _is_state(word: str, after: str) -> bool:
    """Return whether a head is an adjective or a verb; `after` is the word before it or "and"."""
    if word in _WORDS["adjectives_alone"]:
        return after == "and"
    last = word.rsplit("-", 1)[-1]  # knee-high
    if after == "and" and word.endswith(tuple(_WORDS["adjective_endings"])):
        return True
    adjective = word in _WORDS["adjectives"] or last in _WORDS["adjectives"] | {"like"}
    return adjective or _is_participle(last) or _is_ing_verb(last)


def _is_participle(word: str) -> bool:
    return word in _WORDS["participles"] or (
        word.endswith("ed") and word not in _WORDS["nouns_in_ed"]
    )


def _is_ing_verb(word: str) -> bool:
    return (
        word.endswith("ing") and not word.endswith("string") and word not in _WORDS["nouns_in_ing"]
    )


def _article(text: str, form: Form) -> str:
    first, _, rest = text.partition(" ")
    if form is not Form.SINGULAR or first.lower() in _DETERMINERS or first.isdigit():
        return ""
    if first == "half" and rest.startswith(("a ", "an ", "of ")):
        return ""
    return "an " if _begins_with_vowel(first) else "a "


def _begins_with_vowel(word: str) -> bool:
    if len(word) == 1 or word[1] == "-" or word.isupper():  # by letters: an s-shaped curve
        return word[0].lower() in "aefhilmnorsx"
    word = word.lower()
    if word.startswith(("hour", "honest", "heir", "unid", "unim", "unin")):
        return True
    if word.startswith(("uni", "use", "eu", "one", "ukulele", "uti")):
        return False
    return word[0] in "aeiou"


ARTICLES = frozenset({"a", "an", "the"})
_REMARK = re.compile(r"\(([^)]*)\)?")
_BREAK = re.compile(r"[\s\-–/,]+")


class Related(NamedTuple):
    """Two texts, given by their places."""

    asked: int  # the one that is asked first
    other: int  # the one that needs no asking after it
    after_yes: bool  # only if the answer to the first is yes; False if any answer will do


def related_texts(texts: Sequence[str]) -> list[Related]:
    """Return all pairs of texts that say the same or follow from one another, sorted."""
    by_words: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    phrases = [words_and_remark(text) for text in texts]
    for place, (words, remark) in enumerate(phrases):
        if words:
            if is_plural(words[-1]):
                words[-1] = words[-1].removesuffix("s")
            by_words["".join(words)].append((place, remark))
    pairs: set[Related] = set()
    for place, (words, remark) in enumerate(phrases):
        for start in range(len(words)):
            for other, its_remark in by_words.get("".join(words[start:]), ()):
                # "bat (animal)" is a bat, and not a "bat (sports equipment)".
                if other != place and (not remark or not its_remark or remark == its_remark):
                    pairs.add(Related(place, other, start > 0))
    return sorted(pairs)


def words_and_remark(text: str) -> tuple[list[str], str]:
    """Return the words of a text without articles, and the remark in brackets."""
    remarks = " ".join(_REMARK.findall(text))
    words = _BREAK.split(normalize(_REMARK.sub(" ", text)))
    return [word for word in words if word and word not in ARTICLES], normalize(remarks)
