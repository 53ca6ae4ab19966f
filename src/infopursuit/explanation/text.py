"""An explanation in plain lines of text, for the terminal."""

from __future__ import annotations

from infopursuit.core.numbers import percent
from infopursuit.explanation.explanation import Explanation
from infopursuit.explanation.stopping import StoppingRule

BEFORE = "before any question"
NONE_OF_THE_CLASSES = (
    "It looks like none of the classes: fewer than 1 % of held-out images have answers as unlikely."
)
# A tie of more classes is told by their number.
NAMED = 3


def question(query: str) -> str:
    """A query with its question mark, whether it has one already or not."""
    return query if query.rstrip().endswith("?") else f"{query}?"


def ending(explanation: Explanation) -> str:
    """After how many questions an explanation ended, and whether they ran out."""
    said = f"after {_questions(len(explanation.steps))}"
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
