"""The questions of a model in words: all of them sentences, or all of them fragments.

"gull" becomes "Does it show a gull?", "can fly" "Can it fly?" and "more than 4 legs" "Does it have
more than 4 legs?". A text becomes a sentence if its form is certain: the shipped vocabulary or
WordNet has it, or its words show what it is. A column of a table, a word of another language or one
that nobody knows does not. If one question of a model is of this kind, all are asked as they stand
("gull?"), so that no list mixes both forms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from infopursuit.texts import wording
from infopursuit.texts.vocabulary import phrase_kinds
from infopursuit.texts.wordnet import is_noun

# What a phrase of plain words is made of; a column of a table (`length > 2`) does not match.
_PHRASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9'&/.-]*(?: [A-Za-z0-9'&/.-]+)*")
# A remark in brackets says which thing is meant: "bat (animal)".
_REMARK = re.compile(r"(?P<text>[^()]*[^() ])(?P<remark> ?\([^()]*\).*)")
# Words that only sentences have.
_OF_SENTENCES = re.compile(
    r"\b(am|are|can(?!$)|cannot|do|does|has|have|is|it|never|no|not|they|was|were|will|you)\b"
)
_BEGINS_QUESTION = re.compile(
    r"(am|are|can|could|did|do|does|had|has|have|how|is|was|were|what|which|who|will)\b", re.I
)
_COUNTS = re.compile(
    r"((more|fewer|less) than|at (least|most)|exactly)"
    r" (\d+|a|an|one|two|three|four|five|six|ten) .+|\d+ .+"
)
_SUBJECT = re.compile(
    r"(?P<subject>(?:the|this|its) [a-z -]+?) (?P<verb>is|are|can|has|have) (?P<said>.+)"
)
# What a name has in small letters.
_IN_NAMES = frozenset({"and", "de", "la", "of", "the"})
# The share of questions that may be fragments among sentences.
FEW = 0.1
# Nouns of fewer letters are no parts of compounds.
_SHORTEST_PART = 3


def questions(queries: Sequence[str], alike: Mapping[str, bool] | None = None) -> tuple[str, ...]:
    """Return queries as questions of one form: sentences, or fragments if many are no sentences.

    Args:
        queries: k texts.
        alike: those that name what a picture may be of, and whether it can be one; if not, it can
            only look like one.
    """
    alike = alike or {}
    forms = [_compared(each, alike[each]) if each in alike else sentence(each) for each in queries]
    if forms.count(None) > FEW * len(forms):
        forms = [
            _fragment(query) if alike.get(query, True) else text.removeprefix("Does it look ")
            for query, text in zip(queries, map(str, forms), strict=True)
        ]
    return tuple(form or _fragment(query) for query, form in zip(queries, forms, strict=True))


def question(query: str) -> str:
    """Return a query that stands alone as a question: a sentence if it can be one."""
    return sentence(query) or _fragment(query)


def _fragment(query: str) -> str:
    return f"{query.strip(' .?')}?"


def _compared(query: str, is_one: bool) -> str:
    if _is_name(query) and not _is_noun(query):
        return f"{'Is it' if is_one else 'Does it look like'} {query}?"
    return wording.comparison(query, is_one)


@cache
def sentence(query: str) -> str | None:
    """Return a query as a question that is a sentence; None if its form is not certain.

    A query that is a question already stays one.
    """
    text = " ".join(query.strip(" .?").split())
    if query.rstrip(" .").endswith("?"):
        return f"{text}?" if _BEGINS_QUESTION.match(text) else None
    if remark := _REMARK.fullmatch(text):
        form = wording.question(remark["text"], "thing").replace("Is it ", "Does it show ", 1)
        return f"{form.removesuffix('?')}{remark['remark']}?"
    if not _PHRASE.fullmatch(text):
        return None
    if text.lower().startswith("no ") and sentence(text[len("no ") :]) is not None:
        return f"Does it have no {text[len('no ') :]}?"
    if (kind := phrase_kinds().get(text.lower())) is None and _is_noun(text):
        kind = "thing"
    if kind is None:
        return _of_words(text)
    form = wording.question(text, kind)
    # A thing may be all of the picture or a part of it: a chimney, which is never what it is.
    return form.replace("Is it ", "Does it show ", 1) if kind == "thing" else form


def _of_words(text: str) -> str | None:
    """Return a text that no list has as a sentence, if its words show its form."""
    lower = text.lower()
    if turned := wording.turned_round(text):
        return turned
    if said := _SUBJECT.fullmatch(lower):
        subject, verb = said["subject"], said["verb"]
        does = {"has": "Does {} have", "have": "Do {} have"}.get(verb, f"{verb.capitalize()} {{}}")
        return f"{does.format(subject)} {said['said']}?"
    if _is_name(text):
        return f"Does it show {text}?"
    if text[-1].isdigit() or _OF_SENTENCES.search(lower):
        return None
    if _COUNTS.fullmatch(lower):
        return f"Does it have {text}?"
    if wording.grammatical_form(lower) is wording.Form.STATE or _names_one(lower):
        return wording.question(text)
    return f"Is it {lower}?" if " " not in text and wording.ends_as_adjective(lower) else None


def _is_name(text: str) -> bool:
    """Return whether a text is a proper name, which WordNet has not as a noun: BMW, Eiffel Tower.

    One word with a capital letter is one if nobody knows it, as lists may begin with capitals.
    """
    words = [word for word in text.split() if word not in _IN_NAMES]
    capital = [word != word.lower() or word.isdigit() for word in words]
    if not all(capital) or text.isdigit():
        return False
    known = len(words) == 1 and wording.grammatical_form(text.lower()) is wording.Form.STATE
    return not known and not wording.ends_as_adjective(text)


def _names_one(phrase: str) -> bool:
    words = {wording.head(phrase), phrase.rsplit(" ", 1)[-1]} if " " in phrase else {phrase}
    return any(_is_noun(word) or (" " in phrase and is_noun(word)) for word in words)


def _is_noun(text: str) -> bool:
    """Return whether WordNet has a noun of this name, or of both its parts (`birdfeeder`).

    A single word that is an adjective or a verb as well is one ("red", "striped", "curling").
    """
    lower = text.lower()
    if " " not in lower and wording.grammatical_form(lower) is wording.Form.STATE:
        return False
    if "/" in lower:
        return all(is_noun(part) or _names_one(part) for part in lower.split("/"))
    if is_noun(lower) or " " in lower or wording.is_listed_noun(lower):
        return not lower.isdigit() and (" " not in lower or is_noun(lower))
    places = range(_SHORTEST_PART, len(lower) - _SHORTEST_PART + 1)
    return any(is_noun(lower[:at]) and is_noun(lower[at:]) for at in places)
