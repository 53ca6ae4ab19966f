"""`infopursuit predict`: a row for each image, as CSV or JSON."""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from infopursuit.cli.explain import given, stopping_rule, write_output
from infopursuit.core.csv_tables import csv_text
from infopursuit.core.files import check_writable
from infopursuit.datasets.reading import read_each
from infopursuit.estimators.base import load_fitted
from infopursuit.estimators.readable import readable, wanted_by
from infopursuit.pursuit.prediction import TOP, prediction

logger = logging.getLogger("infopursuit")

COLUMNS = ("class", "probability", "second", "second_probability", "third",
           "third_probability", "conformity", "questions", "decided_by")  # fmt: skip
# Images whose explanations are in memory at once.
BLOCK = 256


def predict(chosen: argparse.Namespace) -> int:
    """Predict the class of each image; list those that cannot be read.

    Returns:
        The exit status: 1 if an image could not be read.
    """
    if chosen.out is not None:
        check_writable(chosen.out, "--out")
    model = load_fitted(chosen.model, chosen.clip, chosen.device)
    stop, model = stopping_rule(model, chosen), given(model, chosen)
    predicted = []
    rejected: dict[str, str] = {}
    for images in read_each(chosen.images, wanted_by(model)):
        read = readable(model, images)
        count = len(read.samples.ids)
        for start in range(0, count, BLOCK):
            block = read.samples.subset(range(start, min(start + BLOCK, count)))
            explained = model.explain(block.rows, stop, names=block.ids)
            predicted += [prediction(each) for each in explained]
        rejected |= read.rejected
    noun = model.pursuit_.noun
    written = as_csv(predicted, noun) if chosen.format == "csv" else as_json(predicted, rejected)
    write_output(written, chosen.out, chosen.format == "csv")
    for name, reason in rejected.items():
        logger.error("not read: %s: %s", name, reason)
    return 1 if rejected else 0


def as_json(predicted: Sequence[Mapping[str, Any]], rejected: Mapping[str, str]) -> str:
    """Return all predictions, and the files that could not be read."""
    content = {"images": list(predicted), "rejected": dict(rejected)}
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_csv(predicted: Sequence[Mapping[str, Any]], noun: str) -> str:
    """Return a row for each image, or row of a table, as the first column is called."""
    rows: list[Sequence[Any]] = [[noun, *COLUMNS]]
    for each in predicted:
        top = [value for one in each["top"] for value in (one["class"], one["probability"])]
        top += [""] * (2 * TOP - len(top))
        decided = "; ".join(f"{one['question']} {one['answer']}" for one in each["decided_by"])
        facts = "" if each["conformity"] is None else each["conformity"], each["questions"]
        rows.append([each["image"], *top, *facts, decided])
    return csv_text(rows)
