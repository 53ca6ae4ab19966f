"""The figures of infopursuit_study.experiments.meaning as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from infopursuit.core.numbers import table

LEVEL = 0.95
# Columns, and the figure of each.
TABLES = {
    "Answers to the reference texts (M3)": {
        "AUC": "auc",
        "Acc@5": "accuracy_at_5",
        "Acc@10": "accuracy_at_10",
        "precision of yes": "reference_precision_of_yes",
        "recall of yes": "reference_recall_of_yes",
        "right": "reference_right",
        "answered": "reference_answered",
        "balanced": "reference_balanced",
        "precision, names shuffled": "reference_shuffled_precision_of_yes",
        "balanced, names shuffled": "reference_shuffled_balanced",
    },
    "The first ten questions (M5, M6)": {
        "plausible": "plausible",
        "of all 128": "fit_of_all",
        "supported yes": "supported_yes",
        "names shuffled": "shuffled_supported_yes",
        "reader": "reader",
        "reader, names shuffled": "shuffled_reader",
        "yes": "first_yes",
        "neither": "first_not_sure",
    },
    "Attributes of classes that were left out (M4)": {
        "AUROC": "attributes_auroc",
        "class memory": "attributes_memory",
        "balanced": "attributes_balanced",
        "answered": "attributes_answered",
        "precision of yes": "attributes_precision_of_yes",
        "recall of yes": "attributes_recall_of_yes",
    },
}


def markdown(measured: dict[str, Any]) -> str:
    """Return all tables."""
    parts = [
        "Means over the seeds, in percent, with half the width of a 95 % interval over them.\n"
        "`T`: fitted with the knowledge table."
    ]
    for title, columns in TABLES.items():
        rows = [
            [task, rule, *(cell(seeds, figure) for figure in columns.values())]
            for task, figures in measured.items()
            for rule, seeds in figures.items()
            if list(columns.values())[-1] in seeds[0]
        ]
        parts += [f"### {title}", table(["task", "rule", *columns], rows)]
    return "\n\n".join(parts) + "\n"


def cell(seeds: Sequence[dict[str, Any]], figure: str) -> str:
    """Return mean and half the interval of a figure, in percent; a dash if no seed has it."""
    value, half = interval([seed[figure] for seed in seeds])
    if value is None:
        return "–"
    return f"{100 * value:.1f}" if half is None else f"{100 * value:.1f} ± {100 * half:.1f}"


def interval(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Return mean and half the width of its interval by Student's t; None if unknown."""
    known = np.array([value for value in values if value is not None])
    if not len(known):
        return None, None
    if len(known) == 1:
        return float(known[0]), None
    error = known.std(ddof=1) / np.sqrt(len(known))
    return float(known.mean()), float(stats.t.ppf((1 + LEVEL) / 2, len(known) - 1) * error)
