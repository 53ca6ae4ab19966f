"""A conversation in lines of text about one image, or with a person alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from infopursuit.core.errors import InputError, one_line
from infopursuit.pursuit.answers.rules import WORDS, in_words
from infopursuit.pursuit.dialogue import Dialogue
from infopursuit.pursuit.explanation import Explanation, leaders
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule

# What a person may type, and what it means.
SAID = {
    "y": "yes", "p": "probably", "?": "not sure", "pn": "probably not", "n": "no",
    **{word: word for word in WORDS},
}  # fmt: skip
HELP = "y yes, p probably, ? not sure, pn probably not, n no, u undo, w why this question, q quit"
# Of a table with values: what may be typed is one of them.
VALUES = "type a value, such as {}; ? not sure, u undo, w why this question, q quit"


def converse(
    dialogue: Dialogue, stop: StoppingRule, lines: Iterator[str], write: Callable[[str], object]
) -> Explanation:
    """Ask until the stopping rule holds, all has been asked, or the person quits.

    An image that hands over to a person answers the questions that it is sure of itself.
    """
    hands_over = dialogue.hands_over
    noun, pursuit = dialogue.pursuit.noun, dialogue.pursuit
    enter = "" if dialogue.image_answers is None else f"Enter takes the answer of the {noun}; "
    write(f"{enter}{_help(pursuit)}\n")
    while True:
        now = dialogue.explanation(stop)
        wanted = dialogue.next_question()
        if now.ended != "unfinished" or wanted is None:
            return now
        belief = one_line(" ".join(leaders(now.class_names, now.posterior)))
        write(f"[{belief}] {len(now.steps) + 1}. {one_line(dialogue.pursuit.question(wanted))} ")
        if hands_over and dialogue.answers_itself(wanted):
            query, own = dialogue.step()
            write(f"{pursuit.word(pursuit.number(query), own) or in_words(own)} (the {noun})\n")
            continue
        if dialogue.image_answers is not None:
            query = pursuit.number(wanted)
            own = float(dialogue.image_answers[query])
            write(f"({pursuit.word(query, own) or in_words(own)}) ")
        line = next(lines, "")
        if not line or line.strip().lower() in ("q", "quit"):
            write("\n" if not line else "")
            return now
        _obey(dialogue, line.strip(), write)


def _help(pursuit: Pursuit) -> str:
    """Say what may be typed."""
    if not pursuit.words:
        return HELP
    words = [word for word in pursuit.words[0] if word and word != "not sure"]
    return VALUES.format(" or ".join(words[:2]))


def _obey(dialogue: Dialogue, line: str, write: Callable[[str], object]) -> None:
    said = line.lower()
    if not said and dialogue.image_answers is not None:
        dialogue.step()
    elif said in ("u", "undo"):
        if dialogue.explanation().steps:
            dialogue.undo()
        else:
            write("nothing has been asked yet\n")
    elif said in ("w", "why"):
        for each in dialogue.candidates():
            asked = one_line(dialogue.pursuit.question(each.query))
            write(f"   {each.value:.3f}  {asked}\n")
    elif dialogue.pursuit.words and said != "?":
        try:  # one of the values as it is written, or a number
            dialogue.answer(line)
        except InputError as error:
            write(f"{error}\n")
    elif said in SAID:
        dialogue.answer(SAID[said])
    else:
        write(f"{said!r}: {_help(dialogue.pursuit)}\n")
