"""Explanations as text, JSON, CSV and a page of HTML, and files that could not be read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from infopursuit.core.csv_tables import csv_text
from infopursuit.core.errors import one_line
from infopursuit.pursuit.explanation import IMAGE, Explanation, ending, most_probable
from infopursuit.pursuit.sentences import say

COLUMNS = ("number", "question", "answer", "most_probable", "probability", "entropy", "ending")
STYLE = (
    "body{font:15px system-ui,sans-serif;margin:2rem;color:#1c2330}"
    "article{display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start;margin-bottom:2rem}"
)
# Pixels of the longer side of a photo in a page.
PHOTO = 224


def written(
    explained: Sequence[Explanation],
    rejected: Mapping[str, str],
    form: str,
    pictures: Sequence[Any] = (),
    everything: bool = False,
) -> str:
    """Write explanations.

    Args:
        explained: of n images or rows.
        rejected: why others could not be read, by their names.
        form: text, json, csv or html.
        pictures: that the page shows, None where there is none; none at all for no pictures.
        everything: whether the text has a line for each question.
    """
    if form == "json":
        return as_json(explained, rejected)
    if form == "csv":
        return as_csv(explained)
    if form == "html":
        return as_html(explained, rejected, pictures)
    return "\n".join(
        each.to_text(everything=True) if everything else str(each) for each in explained
    )


def as_json(explained: Sequence[Explanation], rejected: Mapping[str, str]) -> str:
    """Return all that is known of each explanation, and the files that could not be read."""
    images = [
        {**each.to_dict(), "predicted_class": each.predicted_class, "probability": each.probability}
        for each in explained
    ]
    content = {"images": images, "rejected": dict(rejected)}
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_csv(explained: Sequence[Explanation]) -> str:
    """Return a row per question after one without; the last of an image is its prediction.

    That one says why the questions ended (`ending`). What was known before has `known` as number.
    """
    noun = explained[0].noun if explained else IMAGE
    table: list[Sequence[Any]] = [[noun, *COLUMNS]]
    for each in explained:
        known = [[each.image, say("known"), step.question, step.said] for step in each.known]
        table += [[*row, "", "", "", ""] for row in known]
        rows = [["", "", *most_probable(each.class_names, each.prior), ""]]
        for step in each.steps:
            leading = most_probable(each.class_names, step.posterior)
            rows.append([step.question, step.said, *leading, step.entropy])
        for number, row in enumerate(rows):
            last = ending(each) if number == len(each.steps) else ""
            table.append([each.image, number, *row, last])
    return csv_text(table)


def as_html(
    explained: Sequence[Explanation], rejected: Mapping[str, str], pictures: Sequence[Any] = ()
) -> str:
    """Return a page: the photo of each image, if there is one, and its table; files not read."""
    from infopursuit.datasets.decoding import thumbnail

    photos = [
        "" if picture is None else f'<img src="{thumbnail(picture, PHOTO)}" alt="">'
        for picture in pictures or [None] * len(explained)
    ]
    tables = "\n".join(
        f"<article>{photo}{' '.join(each._repr_html_().splitlines())}</article>"
        for photo, each in zip(photos, explained, strict=True)
    )
    listed = "".join(
        f"<li>{escape(one_line(name))}: {escape(why)}</li>" for name, why in rejected.items()
    )
    bad = f"<h2>Not explained</h2><ul>{listed}</ul>" if rejected else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Explanations</title>'
        f"<style>{STYLE}</style></head><body>\n{tables}\n{bad}</body></html>\n"
    )
