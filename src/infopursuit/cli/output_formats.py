"""Explanations as text for the terminal, JSON, CSV and an HTML page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from html import escape

from infopursuit.explanation.explanation import Explanation
from infopursuit.explanation.text import most_probable, question

COLUMNS = ("image", "number", "question", "answer", "most_probable", "probability", "entropy")
STYLE = "body{font:15px system-ui,sans-serif;margin:2rem;color:#1c2330}table{margin-bottom:2rem}"


def as_text(explained: Sequence[Explanation], rejected: Mapping[str, str]) -> str:
    """One block of lines an image."""
    return "\n".join(str(explanation) for explanation in explained)


def as_json(explained: Sequence[Explanation], rejected: Mapping[str, str]) -> str:
    """All that is known of each explanation, and the files that could not be read."""
    images = [
        {
            **each.to_dict(),
            "predicted_class": each.predicted_class,
            "probability": each.probability,
        }
        for each in explained
    ]
    content = {"images": images, "rejected": dict(rejected)}
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_csv(explained: Sequence[Explanation], rejected: Mapping[str, str]) -> str:
    """A row for each question, and one before the first; the last of an image is its prediction."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in explained:
        leaders, probability = most_probable(each.class_names, each.prior)
        writer.writerow([each.image, 0, "", "", leaders, probability, ""])
        for number, step in enumerate(each.steps, start=1):
            leaders, probability = most_probable(each.class_names, step.posterior)
            row = (question(step.query), step.said, leaders, probability, step.entropy)
            writer.writerow([each.image, number, *row])
    return text.getvalue()


def as_html(explained: Sequence[Explanation], rejected: Mapping[str, str]) -> str:
    """A page with a table for each image, and a list of the files that could not be read."""
    tables = "\n".join(each._repr_html_() for each in explained)
    listed = "".join(f"<li>{escape(name)}: {escape(why)}</li>" for name, why in rejected.items())
    bad = f"<h2>Not explained</h2><ul>{listed}</ul>" if rejected else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Explanations</title>'
        f"<style>{STYLE}</style></head><body>\n{tables}\n{bad}</body></html>\n"
    )


FORMATS: dict[str, Callable[[Sequence[Explanation], Mapping[str, str]], str]] = {
    "text": as_text,
    "json": as_json,
    "csv": as_csv,
    "html": as_html,
}
