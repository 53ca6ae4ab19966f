"""The figures of benchmarks/meaning.py as Markdown, beside the goals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

LEVEL = 0.95
# Columns, and the figure behind each.
ACCURACY = {"AUC": "auc", "Acc@5": "accuracy_at_5", "Acc@10": "accuracy_at_10"}
TABLES = {
    "Answers to the strict texts (M3)": {
        **ACCURACY,
        "precision of yes": "strict_precision_of_yes",
        "recall of yes": "strict_recall_of_yes",
        "right": "strict_right",
        "answered": "strict_answered",
        "balanced": "strict_balanced",
        "precision, names shuffled": "strict_shuffled_precision_of_yes",
        "balanced, names shuffled": "strict_shuffled_balanced",
    },
    "The first ten questions (M5, M6, M8)": {
        "plausible": "plausible",
        "of all 128": "fit_of_all",
        "supported yes": "supported_yes",
        "names shuffled": "shuffled_supported_yes",
        "reader": "reader",
        "reader, names shuffled": "shuffled_reader",
        "explained": "explained",
        "explained, names shuffled": "shuffled_explained",
        "yes": "first_yes",
        "not sure": "first_not_sure",
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
TABLES_COMPARED = {
    "texts": "texts",
    "that fit a class: by the judge": "judge_texts",
    "by T": "knowledge_texts",
    "by both": "both_texts",
    "asked": "asked_texts",
    "cells": "cells",
}
SHARES_COMPARED = {
    "cells that fit: by the judge": "judge_says_true",
    "by T": "knowledge_says_true",
    "kappa": "kappa",
    "asked with T: plausible to T": "plausible_to_t",
    "explained at most": "most_explained",
}
COUNTS_OF_TRAPS = {
    "random words": "trap_words",
    "that the judge gives to a class": "trap_words_given",
}
SHARES_OF_TRAPS = {
    "reader on true chains": "trap_true_chains",
    "on permuted chains": "trap_permuted_chains",
    "guessing": "trap_guessing_chains",
}


class Goal(NamedTuple):
    """What is to be reached: at least `least`, or at most, of a figure by the default rule."""

    task: str
    figure: str
    known: bool
    least: float
    at_most: bool = False


TODAY = {"rn50": 0.794, "caltech": 0.878, "food10": 0.960, "pets": 0.795}
GOALS = [
    *(Goal(task, "auc", False, least) for task, least in TODAY.items()),
    Goal("caltech", "strict_precision_of_yes", False, 0.30),
    Goal("caltech", "strict_right", False, 0.90),
    Goal("food10", "strict_precision_of_yes", False, 0.95),
    Goal("food10", "strict_right", False, 0.97),
    *(
        Goal(task, f"strict_{figure}", True, 0.80)
        for task in ("caltech", "food10")
        for figure in ("precision_of_yes", "recall_of_yes")
    ),
    Goal("rn50", "attributes_auroc", False, 0.77),
    Goal("rn50", "attributes_auroc", True, 0.85),
    Goal("rn50", "attributes_memory", False, 0.03, at_most=True),
    Goal("rn50", "attributes_memory", True, 0.03, at_most=True),
    *(
        Goal(task, figure, True, least)
        for task in TODAY
        for figure, least in (("plausible", 0.95), ("supported_yes", 0.85), ("explained", 0.80))
    ),
    Goal("food10", "reader", True, 0.90),
    Goal("caltech", "reader", True, 0.40),
    Goal("pets", "reader", True, 0.25),
]
DEFAULT = "three_valued"


def markdown(found: dict[str, Any]) -> str:
    """All tables: each task's rules, judge and knowledge compared, and the goals."""
    lines = [
        "Means over the seeds, in percent, with half the width of a 95 % interval over them.",
        "`T`: fitted with the knowledge table.",
    ]
    for title, columns in TABLES.items():
        lines += ["", f"### {title}", "", head(["task", "rule", *columns])]
        for task, told in found.items():
            for rule, seeds in told["rules"].items():
                if next(reversed(columns.values())) in seeds[0]:
                    shown = [cell(seeds, figure) for figure in columns.values()]
                    lines.append(row([task, rule, *shown]))
    for title, counts, shares in (
        ("Judge and T", TABLES_COMPARED, SHARES_COMPARED),
        ("Traps for the judge", COUNTS_OF_TRAPS, SHARES_OF_TRAPS),
    ):
        lines += ["", f"### {title}", "", head(["task", *counts, *shares])]
        for task, told in found.items():
            numbers = [f"{told['tables'][name]:.0f}" for name in counts.values()]
            percents = [f"{100 * told['tables'][name]:.1f}" for name in shares.values()]
            lines.append(row([task, *numbers, *percents]))
    lines += ["", "### Goals", "", head(["task", "T", "figure", "goal", "found", "met"])]
    lines += [line for goal in GOALS if goal.task in found for line in [judged(goal, found)]]
    return "\n".join(lines) + "\n"


def judged(goal: Goal, found: dict[str, Any]) -> str:
    """The row of a goal."""
    seeds = found[goal.task]["rules"][f"{DEFAULT}, T" if goal.known else DEFAULT]
    value, _ = interval([each[goal.figure] for each in seeds])
    met = value is not None and (value <= goal.least if goal.at_most else value >= goal.least)
    sign = "at most" if goal.at_most else "at least"
    return row(
        [
            goal.task,
            "with" if goal.known else "without",
            goal.figure,
            f"{sign} {100 * goal.least:.1f}",
            cell(seeds, goal.figure),
            "yes" if met else "no",
        ]
    )


def cell(seeds: Sequence[dict[str, Any]], figure: str) -> str:
    """Mean and half the interval of a figure, in percent; a dash where no seed has it."""
    value, half = interval([each[figure] for each in seeds])
    if value is None:
        return "–"
    return f"{100 * value:.1f}" if half is None else f"{100 * value:.1f} ± {100 * half:.1f}"


def interval(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Mean and half the width of its interval by Student's t; None where they are not known."""
    there = np.array([value for value in values if value is not None])
    if not len(there):
        return None, None
    if len(there) == 1:
        return float(there[0]), None
    error = there.std(ddof=1) / np.sqrt(len(there))
    return float(there.mean()), float(stats.t.ppf((1 + LEVEL) / 2, len(there) - 1) * error)


def head(names: Sequence[str]) -> str:
    """The first two lines of a table."""
    return f"{row(names)}\n|{'---|' * len(names)}"


def row(cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"
