"""A person answers the questions of a dialogue, a line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from infopursuit.core.errors import InputError, one_line
from infopursuit.pursuit.answers.rules import WORDS
from infopursuit.pursuit.dialogue import Dialogue

# What a person may type, and what it means.
SAID = {
    "y": "yes", "p": "probably", "?": "not sure", "pn": "probably not", "n": "no",
    **{word: word for word in WORDS},
}  # fmt: skip
HELP = "y yes, p probably, ? not sure, pn probably not, n no, u undo, w why this question, q quit"
# Of a table with values: what may be typed is one of them.
VALUES = "type a value, such as {}; ? not sure, u undo, w why this question, q quit"


class Person:
    """Someone who types lines.

    Args:
        lines: what is typed.
        write: shows what the image answers, before the person does.
    """

    def __init__(self, lines: Iterator[str], write: Callable[[str], object]) -> None:
        self.lines, self.write = lines, write

    def opening(self, dialogue: Dialogue) -> str:
        """Say what may be typed."""
        noun = dialogue.pursuit.noun
        enter = "" if dialogue.image_answers is None else f"Enter takes the answer of the {noun}; "
        return f"{enter}{_help(dialogue)}\n"

    def answer(self, dialogue: Dialogue, question: str) -> str | None:
        """Do what the next line says."""
        pursuit = dialogue.pursuit
        if dialogue.image_answers is not None:
            query = pursuit.number(question)
            own = float(dialogue.image_answers[query])
            self.write(f"({pursuit.said(query, own)}) ")
        line = next(self.lines, "")
        if not line:
            self.write("\n")
        if not line or line.strip().lower() in ("q", "quit"):
            return None
        return _obeyed(dialogue, line.strip())


def _help(dialogue: Dialogue) -> str:
    if not dialogue.pursuit.words:
        return HELP
    words = [word for word in dialogue.pursuit.words[0] if word and word != "not sure"]
    return one_line(VALUES.format(" or ".join(words[:2])))


def _obeyed(dialogue: Dialogue, line: str) -> str:
    command = line.lower()
    if not command and dialogue.image_answers is not None:
        dialogue.step()
    elif command in ("u", "undo"):
        if not dialogue.explanation().steps:
            return "nothing has been asked yet\n"
        dialogue.undo()
    elif command in ("w", "why"):
        return "".join(
            f"   {each.value:.3f}  {one_line(dialogue.pursuit.question(each.query))}\n"
            for each in dialogue.candidates()
        )
    elif dialogue.pursuit.words and command != "?":
        try:  # one of the values as it is written, or a number
            dialogue.answer(line)
        except InputError as error:
            return f"{error}\n"
    elif command in SAID:
        dialogue.answer(SAID[command])
    else:
        return f"{command!r}: {_help(dialogue)}\n"
    return ""
