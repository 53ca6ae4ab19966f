"""Explanations and fitted models as small HTML, for notebooks."""

from __future__ import annotations

from html import escape

from infopursuit.core.numbers import counted, percent
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.provenance import measured
from infopursuit.pursuit.explanation import Explanation, Step, ending
from infopursuit.pursuit.sentences import say
from infopursuit.report.places import marked_address
from infopursuit.report.words import changed_little, notes, numbered

# Pixels of the longer side of a picture with the place of an answer.
PLACE = 96
CELL = "text-align:left;padding:2px 10px"
# Classes and questions of a model that are listed.
SHOWN = 200


def explanation_html(explanation: Explanation) -> str:
    """Return a row for each question: its answer, the leading class and its probability."""

    def belief(posterior: tuple[float, ...]) -> str:
        leader, probability = explanation.leaders(posterior)
        return f"{escape(leader)}, {probability}"

    columns = ["", "question", "answer", "most probable"]
    if explanation.picture is not None:
        columns.insert(3, "where")
    head = "".join(f'<th style="{CELL}">{name}</th>' for name in columns)
    rows = [
        (say("known"), escape(step.question), escape(step.said), "", "")
        for step in explanation.known
    ]
    rows.append(("", escape(say("before")), "", "", belief(explanation.prior)))
    for run in explanation.grouped():
        step = explanation.steps[run[-1]]
        question, answer, place = escape(step.question), step.marked, ""
        if len(run) > 1:
            question, answer = _details(explanation, run), ""
        else:
            place = _place(explanation, step)
        rows.append((numbered(run), question, escape(answer), place, belief(step.posterior)))
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{CELL}">{cell}</td>' for cell in (number, question, answer))
        + (f'<td style="{CELL}">{place}</td>' if "where" in columns else "")
        + f'<td style="{CELL}">{first}</td></tr>'
        for number, question, answer, place, first in rows
    )
    caption = (
        f"<b>{escape(str(explanation.predicted_class))}</b>, {explanation.percent}, "
        f"{ending(explanation)}"
    )
    caption += "".join(f"<br/>{escape(each)}" for each in notes(explanation))
    return (
        f"<div><div>{escape(explanation.image)}</div>"
        f'<table><caption style="caption-side:bottom;text-align:left">{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _details(explanation: Explanation, run: list[int]) -> str:
    items = []
    for step in (explanation.steps[number] for number in run):
        belief = ", ".join(explanation.leaders(step.posterior))
        line = escape(f"{step.question} {step.said}: {belief}")
        items.append(f"{line} {_place(explanation, step)}".rstrip())
    listed = "".join(f"<li>{each}</li>" for each in items)
    summary = escape(changed_little(explanation, run))
    return f'<details><summary>{summary}</summary><ol start="{run[0] + 1}">{listed}</ol></details>'


def _place(explanation: Explanation, step: Step) -> str:
    address = marked_address(explanation, step, PLACE)
    return f'<img src="{address}" width="{PLACE}" alt="marked on the image">' if address else ""


def model_html(model: PursuitClassifier) -> str:
    """Return what a model is, how good it is, its classes and questions; texts are escaped."""
    lines = [
        f"<b>{escape(type(model).__name__)}</b>: {counted(len(model.queries_), 'question')}, "
        f"{counted(len(model.classes_), 'class')}"
    ]
    lines += [
        f"accuracy {percent(each.accuracy)} on {each.split} {model.pursuit_.noun}s"
        for each in measured(model.provenance_)
    ]
    classes = [str(each) for each in model.classes_]
    questions = [model.pursuit_.question(k) for k in range(len(model.queries_))]
    return (
        f"<div><p>{'; '.join(lines)}</p>"
        f"{_folded('Classes', classes)}{_folded('Questions', questions)}</div>"
    )


def _folded(name: str, texts: list[str]) -> str:
    items = "".join(f"<li>{escape(each)}</li>" for each in texts[:SHOWN])
    more = f"<li>and {len(texts) - SHOWN} more</li>" if len(texts) > SHOWN else ""
    return f"<details><summary>{name}</summary><ul>{items}{more}</ul></details>"
