"""An explanation as a small HTML table, for notebooks."""

from __future__ import annotations

from html import escape

from infopursuit.core.numbers import percent
from infopursuit.pursuit.explanation import (
    BEFORE,
    NONE_OF_THE_CLASSES,
    Explanation,
    ending,
    most_probable,
    question,
)

CELL = "text-align:left;padding:2px 10px"


def explanation_html(explanation: Explanation) -> str:
    """A table with a row for each question: its answer, the leading class, its probability."""
    names = explanation.class_names
    head = "".join(
        f'<th style="{CELL}">{name}</th>' for name in ("", "question", "answer", "most probable")
    )
    rows = [("", BEFORE, "", *most_probable(names, explanation.prior))]
    rows += [
        (str(number), question(step.query), step.said, *most_probable(names, step.posterior))
        for number, step in enumerate(explanation.steps, start=1)
    ]
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{CELL}">{escape(cell)}</td>' for cell in (number, asked, said))
        + f'<td style="{CELL}">{escape(leader)}, {percent(probability)}</td></tr>'
        for number, asked, said, leader, probability in rows
    )
    caption = (
        f"<b>{escape(explanation.predicted_class)}</b>, {percent(explanation.probability)}, "
        f"{ending(explanation)}"
    )
    if explanation.unfamiliar:
        caption += f"<br>{NONE_OF_THE_CLASSES}"
    return (
        f'<table><caption style="caption-side:bottom;text-align:left">{escape(explanation.image)}:'
        f" {caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
