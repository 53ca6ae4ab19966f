"""A conversation in lines of text: a model asks, and someone answers.

Who answers is a person (`person.py`) or a model that looks at the picture (`vision_model.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from infopursuit.core.errors import one_line
from infopursuit.pursuit.dialogue import Dialogue
from infopursuit.pursuit.explanation import Explanation
from infopursuit.pursuit.stopping import StoppingRule


class Answerer(Protocol):
    """Who answers the questions of a dialogue."""

    def opening(self, dialogue: Dialogue) -> str:
        """Return what to show before the first question."""
        ...

    def answer(self, dialogue: Dialogue, question: str) -> str | None:
        """Answer the next question in the dialogue, or change what was asked before.

        Returns:
            What to show of it; None if the dialogue is to end.
        """
        ...


def converse(
    dialogue: Dialogue, stop: StoppingRule, answerer: Answerer, write: Callable[[str], object]
) -> Explanation:
    """Ask until the stopping rule holds, all has been asked, or the answerer ends it.

    An image that hands over to the answerer answers the questions that it is sure of itself.
    """
    pursuit = dialogue.pursuit
    write(answerer.opening(dialogue))
    while True:
        now = dialogue.explanation(stop)
        question = dialogue.next_question()
        if now.ended != "unfinished" or question is None:
            return now
        belief = one_line(" ".join(now.leaders(now.posterior)))
        write(f"[{belief}] {len(now.steps) + 1}. {one_line(pursuit.question(question))} ")
        if dialogue.hands_over and dialogue.answers_itself(question):
            query, own = dialogue.step()
            write(f"{pursuit.said(pursuit.number(query), own)} (the {pursuit.noun})\n")
        elif (shown := answerer.answer(dialogue, question)) is None:
            return now
        else:
            write(shown)
