"""The figures of infopursuit_study.experiments.meaning as Markdown, next to the goals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from infopursuit.core.numbers import table

LEVEL = 0.95
# Columns, and the figure of each.
TABLES = {
    "Answers to the strict texts (M3)": {
        "AUC": "auc",
        "Acc@5": "accuracy_at_5",
        "Acc@10": "accuracy_at_10",
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
# Tables of counts, then of shares.
COMPARED = {
    "Judge and T": (
        {
            "texts": "texts",
            "that fit a class: by the judge": "judge_texts",
            "by T": "knowledge_texts",
            "by both": "both_texts",
            "asked": "asked_texts",
            "cells": "cells",
        },
        {
            "cells that fit: by the judge": "judge_says_true",
            "by T": "knowledge_says_true",
            "kappa": "kappa",
            "asked with T: plausible to T": "plausible_to_t",
            "explained at most": "most_explained",
        },
    ),
    "Traps for the judge": (
        {"random words": "trap_words", "that the judge gives to a class": "trap_words_given"},
        {
            "reader on true chains": "trap_true_chains",
            "on permuted chains": "trap_permuted_chains",
            "guessing": "trap_guessing_chains",
        },
    ),
}


class Goal(NamedTuple):
    """A figure of the default rule that is to be at least, or at most, `limit`."""

    task: str
    figure: str
    known: bool
    limit: float
    at_most: bool = False


GOALS = [
    Goal("rn50", "auc", False, 0.794),
    Goal("caltech", "auc", False, 0.878),
    Goal("food10", "auc", False, 0.960),
    Goal("pets", "auc", False, 0.795),
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
    *(Goal("rn50", "attributes_memory", known, 0.03, at_most=True) for known in (False, True)),
    *(
        Goal(task, figure, True, limit)
        for task in ("rn50", "caltech", "food10", "pets")
        for figure, limit in (("plausible", 0.95), ("supported_yes", 0.85), ("explained", 0.80))
    ),
    Goal("food10", "reader", True, 0.90),
    Goal("caltech", "reader", True, 0.40),
    Goal("pets", "reader", True, 0.25),
]
DEFAULT = "five_valued"


def markdown(measured: dict[str, Any]) -> str:
    """Return all tables: each task's rules, judge and knowledge compared, and the goals."""
    parts = [
        "Means over the seeds, in percent, with half the width of a 95 % interval over them.\n"
        "`T`: fitted with the knowledge table."
    ]
    for title, columns in TABLES.items():
        rows = [
            [task, rule, *(cell(seeds, figure) for figure in columns.values())]
            for task, figures in measured.items()
            for rule, seeds in figures["rules"].items()
            if list(columns.values())[-1] in seeds[0]
        ]
        parts += [f"### {title}", table(["task", "rule", *columns], rows)]
    for title, (counts, shares) in COMPARED.items():
        rows = [
            [
                task,
                *(f"{figures['tables'][name]:.0f}" for name in counts.values()),
                *(f"{100 * figures['tables'][name]:.1f}" for name in shares.values()),
            ]
            for task, figures in measured.items()
            if figures["tables"]
        ]
        parts += [f"### {title}", table(["task", *counts, *shares], rows)]
    goals = [
        goal_row(goal, measured)
        for goal in GOALS
        if goal.task in measured and rule_of(goal) in measured[goal.task]["rules"]
    ]
    parts += ["### Goals", table(["task", "T", "figure", "goal", "found", "met"], goals)]
    return "\n\n".join(parts) + "\n"


def rule_of(goal: Goal) -> str:
    """Return the row of the tables that a goal is about."""
    return f"{DEFAULT}, T" if goal.known else DEFAULT


def goal_row(goal: Goal, measured: dict[str, Any]) -> list[str]:
    """Return the row of a goal."""
    seeds = measured[goal.task]["rules"][rule_of(goal)]
    value, _ = interval([seed[goal.figure] for seed in seeds])
    met = value is not None and (value <= goal.limit if goal.at_most else value >= goal.limit)
    limit = f"at {'most' if goal.at_most else 'least'} {100 * goal.limit:.1f}"
    known, yes = "with" if goal.known else "without", "yes" if met else "no"
    return [goal.task, known, goal.figure, limit, cell(seeds, goal.figure), yes]


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
