"""A conversation: the model asks, a person answers, or changes what an image answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from infopursuit.core.numbers import percent
from infopursuit.explanation.explanation import ANSWERS, Explanation
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.explanation.text import most_probable, question
from infopursuit.pursuit.dialogue import Dialogue

WORDS = {"y": "yes", "n": "no", "?": "not sure", **{word: word for word in ANSWERS}}
HELP = "y yes, n no, ? not sure, u undo, w why this question, q quit"
WITH_IMAGE = f"Enter takes the answer of the image; {HELP}"


def converse(
    dialogue: Dialogue, stop: StoppingRule, lines: Iterator[str], write: Callable[[str], object]
) -> Explanation:
    """Ask until the stopping rule holds, all has been asked, or the person has enough.

    Args:
        dialogue: with an image or without.
        stop: when to ask no more.
        lines: what the person types; its end ends the conversation.
        write: shows a text at once.
    """
    write(f"{HELP if dialogue.image_answers is None else WITH_IMAGE}\n")
    while True:
        now = dialogue.explanation(stop)
        asked, longest = len(now.steps), stop.budget(len(dialogue.pursuit.queries))
        wanted = dialogue.next_question()
        if now.confident or wanted is None or asked >= longest:
            return now
        leaders, probability = most_probable(now.class_names, now.posterior)
        write(f"[{leaders} {percent(probability)}] {asked + 1}. {question(wanted)} ")
        if dialogue.image_answers is not None:
            own = float(dialogue.image_answers[dialogue.pursuit.number(wanted)])
            write(f"({'yes' if own > 0.5 else 'no'}) ")
        line = next(lines, "")
        said = line.strip().lower()
        if not line or said in ("q", "quit"):
            write("\n" if not line else "")
            return now
        _hear(dialogue, said, write)


def _hear(dialogue: Dialogue, said: str, write: Callable[[str], object]) -> None:
    if not said and dialogue.image_answers is not None:
        dialogue.step()
    elif said in WORDS:
        dialogue.answer(WORDS[said])
    elif said in ("u", "undo"):
        if dialogue.explanation().steps:
            dialogue.undo()
        else:
            write("nothing has been asked yet\n")
    elif said in ("w", "why"):
        for each in dialogue.candidates():
            write(f"   {each.value:.3f}  {question(each.query)}\n")
    else:
        write(f"{said!r}: {HELP}\n")
