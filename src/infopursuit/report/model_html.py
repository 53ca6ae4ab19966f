"""A fitted model as a small HTML summary, for notebooks."""

from __future__ import annotations

from html import escape

from infopursuit.core.numbers import percent
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.pursuit.explanation import question

SHOWN = 200


def model_html(model: PursuitClassifier) -> str:
    """Return what a model is, how good it is, its classes and questions; texts are escaped."""
    provenance = model.provenance_
    lines = [
        f"<b>{escape(type(model).__name__)}</b>: {len(model.queries_)} questions, "
        f"{len(model.classes_)} classes"
    ]
    for key, images in (("test_accuracy", "test images"), ("held_out_accuracy", "images held out")):
        if key in provenance:
            lines.append(f"accuracy {percent(provenance[key])} on {images}")
    classes = [str(each) for each in model.classes_]
    questions = [question(each) for each in model.queries_]
    return (
        f"<div><p>{'; '.join(lines)}</p>"
        f"{_folded('Classes', classes)}{_folded('Questions', questions)}</div>"
    )


def _folded(name: str, texts: list[str]) -> str:
    items = "".join(f"<li>{escape(each)}</li>" for each in texts[:SHOWN])
    more = f"<li>and {len(texts) - SHOWN} more</li>" if len(texts) > SHOWN else ""
    return f"<details><summary>{name}</summary><ul>{items}{more}</ul></details>"
