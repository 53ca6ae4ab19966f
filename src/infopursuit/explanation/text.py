"""An explanation in plain lines of text, for the terminal."""

from __future__ import annotations

import re
from functools import cache

from infopursuit.core.numbers import percent
from infopursuit.explanation.explanation import Explanation
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.queries import wording
from infopursuit.queries.visual_vocabulary import phrase_kinds

BEFORE = "before any question"
NONE_OF_THE_CLASSES = (
    "It looks like none of the classes: fewer than 1 % of held-out images have answers as unlikely."
)
# A tie of more classes is told by their number.
NAMED = 3
# What a phrase of plain words is made of; a column of a table (`length > 2`) is none.
_PHRASE = re.compile(r"[A-Za-z][A-Za-z'-]*(?: [A-Za-z'-]+)*")
# Words that only sentences have, which are no phrases.
_OF_SENTENCES = re.compile(r"\b(am|are|can|do|does|has|have|is|it|they|was|were|will|you)\b")


@cache
def question(query: str) -> str:
    """A query as a question: `four legs` becomes `Does it have four legs?`.

    A query that is a question already stays one. What is no phrase of English words as far as can
    be told (a column of a table, a sentence, a word that may be an adjective) gets a question mark.
    """
    text = query.strip(" .?")
    if query.rstrip(" .").endswith("?") or not _is_phrase(text):
        return f"{text}?"
    kind = phrase_kinds().get(text.lower())
    asked = wording.question(text, kind)
    # A thing may be all of the picture or a part of it: a chimney, which is never what it is.
    return asked.replace("Is it ", "Does it show ", 1) if kind == "thing" else asked


def _is_phrase(text: str) -> bool:
    if not _PHRASE.fullmatch(text) or _OF_SENTENCES.search(text.lower()):
        return False
    known = " " in text or text.lower() in phrase_kinds()
    return known or wording.grammatical_form(text) is not wording.Form.SINGULAR


def ending(explanation: Explanation) -> str:
    """After how many questions, or by which answers, an explanation ended, and if they ran out."""
    said = f"after {_questions(len(explanation.steps))}"
    if explanation.chosen_from is not None:
        said = f"by {len(explanation.steps)} of {explanation.chosen_from} answers"
    return said if explanation.confident else f"{said}, the most allowed"


def stops_when(stop: StoppingRule) -> str:
    """When a stopping rule ends the questions: `at a probability of 85 % or after 20 questions`."""
    conditions = []
    if stop.probability is not None:
        conditions.append(f"at a probability of {100 * stop.probability:g} %")
    if stop.entropy is not None:
        conditions.append(f"at an entropy of {stop.entropy:g} nats")
    if stop.stability is not None:
        conditions.append(f"when {_questions(stop.stability)} did not change the prediction")
    if stop.max_queries is not None:
        conditions.append(f"after {_questions(stop.max_queries)}")
    if not conditions:
        return "when all questions have been asked"
    *others, last = conditions
    return f"{', '.join(others)} or {last}" if others else last


def explanation_text(explanation: Explanation) -> str:
    """One line for each question with its answer and the class it makes most probable.

    Ends with the prediction and why the questions stopped; every line ends with a line break.
    """
    names = explanation.class_names
    rows = [("", BEFORE, "", _leader(names, explanation.prior))]
    rows += [
        (str(number), question(step.query), step.said, _leader(names, step.posterior))
        for number, step in enumerate(explanation.steps, start=1)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [explanation.image]
    for number, asked, answer, belief in rows:
        lines.append(
            f"  {number:>{widths[0]}}  {asked:<{widths[1]}}  {answer:<{widths[2]}}  {belief}"
        )
    prediction = ", ".join(_told(names, explanation.posterior))
    lines.append(f"  Prediction: {prediction}, {ending(explanation)}.")
    if explanation.unfamiliar:
        lines.append(f"  {NONE_OF_THE_CLASSES}")
    return "".join(f"{line}\n" for line in lines)


def most_probable(names: tuple[str, ...], posterior: tuple[float, ...]) -> tuple[str, float]:
    """The most probable class with its probability; classes that are equally probable are a tie."""
    highest = max(posterior)
    leaders = [name for name, each in zip(names, posterior, strict=True) if each == highest]
    if len(leaders) > NAMED:
        return f"{len(leaders)} classes tied at", highest
    return " = ".join(leaders), highest


def _told(names: tuple[str, ...], posterior: tuple[float, ...]) -> tuple[str, str]:
    leaders, probability = most_probable(names, posterior)
    return leaders, percent(probability)


def _leader(names: tuple[str, ...], posterior: tuple[float, ...]) -> str:
    return " ".join(_told(names, posterior))


def _questions(count: int) -> str:
    return f"{count} question{'' if count == 1 else 's'}"
