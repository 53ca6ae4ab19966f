"""What an explanation says in words: its lines of plain text, and the notes below its answers."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Sequence

from infopursuit.core.errors import one_line
from infopursuit.core.numbers import percent
from infopursuit.pursuit.explanation import DIGITS, Explanation, Step, ending
from infopursuit.pursuit.sentences import say
from infopursuit.pursuit.stopping import StoppingRule

# More columns of a group are given by their number.
NAMED = 3


def explanation_text(explanation: Explanation, everything: bool = False) -> str:
    """Return one line for each question with its answer and the class it makes most probable.

    What was known before the first question comes first.
    Answers that changed little are one line, unless `everything` is to be shown. The last line says
    what is predicted and why the questions stopped; every line ends with a line break.
    Names are escaped: a terminal obeys none of them, and none looks like a line.
    """
    rows = [(say("known"), step.question, step.said, "") for step in explanation.known]
    rows.append(("", say("before"), "", " ".join(explanation.leaders(explanation.prior))))
    for run in shown_runs(explanation, everything):
        step = explanation.steps[run[-1]]
        question, answer = step.question, step.marked
        if len(run) > 1:
            question, answer = changed_little(explanation, run), ""
        belief = " ".join(explanation.leaders(step.posterior))
        rows.append((numbered(run), question, answer, belief))
    rows = [tuple(map(one_line, row)) for row in rows]
    numbers, answers = (max(_width(row[column]) for row in rows) for column in (0, 2))
    # A line without an answer goes on where others have theirs, and so widens nothing.
    texts = [_width(question) - (0 if answer else answers + 2) for _, question, answer, _ in rows]
    lines = [one_line(explanation.image)]
    for number, question, answer, first in rows:
        text = f"{_wide(question, max(texts))}  {_wide(answer, answers)}" if answer else question
        text = _wide(text, max(texts) + 2 + answers)
        lines.append(f"  {number:>{numbers}}  {text}  {first}".rstrip())
    belief = ", ".join(explanation.leaders(explanation.posterior))
    last = say("prediction", belief=belief, ending=ending(explanation))
    lines.append(f"  {one_line(last)}")
    lines += [f"  {one_line(each)}" for each in notes(explanation, everything)]
    return "".join(f"{line}\n" for line in lines)


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes: Chinese takes two, an accent none."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) != 0 for letter in text)


def _wide(text: str, columns: int) -> str:
    return text + " " * (columns - _width(text))


def notes(explanation: Explanation, everything: bool = False) -> list[str]:
    """Return what an explanation says below its answers, a line each.

    What a mark says; of answers that have a line of their own, why one of not sure counts; and
    whether the image looks like none of the classes.
    """
    lines = who_answered(explanation)
    runs = shown_runs(explanation, everything)
    shown = [explanation.steps[run[0]] for run in runs if len(run) == 1]
    lines += [why_not_sure(explanation, step) for step in shown if step.rates is not None]
    unlike = [say("nonconforming", noun=explanation.noun)] if explanation.nonconforming else []
    return lines + unlike


def why_not_sure(explanation: Explanation, step: Step) -> str:
    """Say how often images are as close to the cut: why an answer of not sure is evidence."""
    assert step.rates is not None and step.rival is not None
    leader, rival = explanation.class_names[step.leader], explanation.class_names[step.rival]
    of_leader, of_rival = map(percent, step.rates)
    shares = {"of_leader": of_leader, "of_rival": of_rival}
    return say("not_sure", question=step.question, leader=leader, rival=rival, **shares)


def who_answered(explanation: Explanation) -> list[str]:
    """Say what the mark of an answer says, what no question asked for, and the note."""
    marked = any(step.overridden for step in explanation.steps)
    lines = [say("given", noun=explanation.noun)] if marked else []
    lines += [without_asking(explanation, each) for each in explanation.not_asked]
    return lines if explanation.note is None else [*lines, one_line(explanation.note)]


def without_asking(explanation: Explanation, step: Step) -> str:
    """Say what an answer that was given and no question asked for would have done."""
    names, predicted = explanation.class_names, explanation.top_classes(1)[0]
    would = [
        say("would_have", class_name=names[each], probability=percent(step.posterior[each]))
        for each in dict.fromkeys([predicted, step.leader])
    ]
    beliefs = say("and").join(would)
    return say("given_not_asked", question=step.question, answer=step.said, beliefs=beliefs)


def shown_runs(explanation: Explanation, everything: bool) -> list[list[int]]:
    """Return the rows of an explanation, each of one step or of a group."""
    return [[n] for n in range(len(explanation.steps))] if everything else explanation.grouped()


def numbered(run: Sequence[int]) -> str:
    """Return the numbers of the questions of a row, from 1."""
    return f"{run[0] + 1}" if len(run) == 1 else f"{run[0] + 1}-{run[-1] + 1}"


def changed_little(explanation: Explanation, run: Sequence[int]) -> str:
    """Say what a group holds: `9 answers moved no class by more than 4 points: 9 no`."""
    most = max(1, math.ceil(round(100 * explanation.moved(run), DIGITS)))
    steps = [explanation.steps[number] for number in run]
    counts = Counter(step.said for step in steps)
    answers = ", ".join(f"{count} {answer}" for answer, count in counts.most_common())
    if any(step.word for step in steps):
        columns = [step.query.rstrip("?") for step in steps]
        answers = ", ".join(columns[:NAMED])
        if len(columns) > NAMED:
            answers = say("and_more", columns=answers, count=len(columns) - NAMED)
    return say("group", count=len(run), points=say("point", count=most), answers=answers)


def stops_when(stop: StoppingRule) -> str:
    """Say when a rule ends the questions: `at a probability of 85 % or after 20 questions`."""
    conditions = []
    if stop.probability is not None:
        conditions.append(say("stop_probability", percent=f"{100 * stop.probability:g}"))
    if stop.entropy is not None:
        conditions.append(say("stop_entropy", entropy=f"{stop.entropy:g}"))
    most = math.inf if stop.max_queries is None else stop.max_queries
    if stop.stability is not None and stop.stability < most:
        conditions.append(say("stop_stability", count=stop.stability))
    if stop.max_queries is not None:
        conditions.append(say("after", count=stop.max_queries))
    *others, last = conditions or [say("stop_never")]
    return say("or", others=", ".join(others), last=last) if others else last
