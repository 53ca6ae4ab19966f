"""The form of an answer as a regular expression, for engines that let a model write nothing else.

What the pattern admits is what `parsing` takes without rejecting a line: a numbered list of at most
so many concepts, each of at most five words, or the sentinel UNFIT where the prompt asks for it.
Beyond it are only lines that repeat an earlier one, which no regular expression can tell.

The constraint is compiled to an automaton over the model's tokens, so it has no look-around, and
every run of characters has a length: a model that never stops by itself comes to an end, too.
"""

from __future__ import annotations

import re

from infopursuit.queries.parsing import MAX_WORDS

SENTINEL = "UNFIT"

# Words of languages in Latin script; nothing here changes its letters under NFKC.
_CHARACTERS = "A-Za-z0-9À-ÖØ-öø-ÿ"
_NOT_O = "A-NP-Za-np-z0-9À-ÖØ-öø-ÿ"
_NOT_R = "A-QS-Za-qs-z0-9À-ÖØ-öø-ÿ"
# Longer runs are no English words; four parts make "black-and-white's".
_LONGEST_RUN = 20
_MOST_PARTS = 4


def answer_pattern(prompt: str, limit: int) -> str:
    """A pattern for the whole answer to a prompt.

    Args:
        prompt: the prompt, or its template; UNFIT is admitted where it is mentioned.
        limit: at most this many concepts.
    """
    line = rf"[1-9][0-9]{{0,{len(str(limit)) - 1}}}\. {_concept()}"
    several = rf"{line}(?:\n{line}){{0,{limit - 1}}}"
    if re.search(rf"\b{SENTINEL}\b", prompt):
        return f"(?:{SENTINEL}|{several})"
    return several


def _concept() -> str:
    # A run of characters other than "or", which would ask two questions at once.
    run = (
        rf"(?:[{_NOT_O}][{_CHARACTERS}]{{0,{_LONGEST_RUN - 1}}}"
        rf"|[Oo](?:[{_NOT_R}][{_CHARACTERS}]{{0,{_LONGEST_RUN - 2}}}"
        rf"|[Rr][{_CHARACTERS}]{{1,{_LONGEST_RUN - 2}}})?)"
    )
    word = rf"{run}(?:[-'’]{run}){{0,{_MOST_PARTS - 1}}}"
    return rf"{word}(?: {word}){{0,{MAX_WORDS - 1}}}"
