"""How true the answers and how good the questions are: sentences, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from infopursuit.core.numbers import NOTHING, Proportion, percent, share, together
from infopursuit.texts.asking import question
from infopursuit_study.run_report.groups import Group
from infopursuit_study.run_report.methods import WORDS

COLUMNS = WORDS["columns"]

Row = dict[str, Any]


def meaning_section(groups: Sequence[Group], shown: Mapping[str, Any]) -> Row:
    """Collect all that is said of the meaning of the runs of a data set.

    `sentences` are about the run that is shown, `sources` say who knows, `rows` have the shares of
    all groups in %, and `chance` has what chance gives for the run that is shown.
    """
    sources = [WORDS["true_by"][shown["truth_by"]]] if shown["truth_by"] else []
    if shown["quality_by"] and not shown["quality_by"] == shown["truth_by"] == "knowledge":
        sources.append(WORDS["quality_by"][shown["quality_by"]])
    rows = [
        {
            "init": group.init,
            "method": group.method,
            "shares": [share(mean_meaning(group, name)) for name in COLUMNS],
        }
        for group in groups
    ]
    known = any(value != NOTHING for row in rows for value in row["shares"])
    chance = [share(shown[name] if name else None) for name in COLUMNS.values()]
    return {
        "sentences": sentences(shown),
        "sources": sources,
        "rows": rows if known else [],
        "chance": chance if known else [],
    }


def people_table(people: Mapping[str, Any] | None) -> Row | None:
    """Tabulate how true answers are by what people say of test images; None if nobody says."""
    if not people or not people["questions"]:
        return None
    questions = people["questions"]
    kinds = [[Proportion(*each[kind]) for each in questions.values()] for kind in ("yes", "no")]
    whole_row = ["all together", "", *(_with_interval(together(each)) for each in kinds), "", ""]
    rows = [
        [question(text), str(each["images"]), _with_interval(yes), _with_interval(no),
         share(each["auroc"]), share(each["auroc_within"])]
        for (text, each), yes, no in zip(questions.items(), *kinds, strict=True)
    ]  # fmt: skip
    pairs, same = people["pairs"], people["same"]
    agree = f"People agree in {percent(same / pairs)} of {pairs} pairs of answers." if pairs else ""
    return {"rows": [whole_row, *rows], "agreement": agree}


def _with_interval(right: Proportion) -> str:
    if (interval := right.interval) is None:
        return NOTHING
    low, high = map(share, interval)
    return f"{share(right.right / right.given)} ({low} to {high}) of {right.given}"


def mean_meaning(group: Group, name: str) -> float | None:
    """Average over the seeds that have the figure."""
    return _mean([run.meaning[name] for run in group.runs])


def sentences(figures: Mapping[str, Any]) -> list[Row]:
    """Say what is known of one run, a sentence around each number and what chance gives."""
    answered, model = figures["answered"], figures["model"]
    unsure = f" To {of_100(1 - (answered or 0))} of 100 questions it said neither."
    values = {"unsure": "" if answered == 1 else unsure, "model": of_100(model or 0)}
    rows = []
    for words in WORDS["sentences"]:
        value, chance = figures[words["figure"]], figures.get(words.get("chance"))
        if value is None:
            continue
        rows.append(
            {
                "before": words["before"],
                "number": of_100(value),
                "after": words["after"].format(**values),
                "chance": "" if chance is None else f"By chance: {of_100(chance)}.",
            }
        )
    return rows


def of_100(value: float) -> str:
    """Write a share as a whole number of 100; none or all only if that is exact."""
    if 0 < value < 0.005:
        return "fewer than 1"
    if 0.995 <= value < 1:
        return "more than 99"
    return f"{100 * value:.0f}"


def false_rows(groups: Sequence[Group]) -> list[Row]:
    """Sum over seeds the false among the first ten answers, for groups that counted them."""
    rows = []
    for group in groups:
        counted = [run.truth["first_ten"] for run in group.runs if "first_ten" in run.truth]
        if not counted:
            continue
        pictures, questions, claims, false, not_sure = (
            sum(each[name] for each in counted)
            for name in ("pictures", "questions", "claims", "false", "not_sure")
        )
        checked = claims - not_sure
        rows.append(
            {
                "init": group.init,
                "method": group.method,
                "pictures": str(pictures),
                "questions": str(questions),
                "checked": str(checked),
                "false": str(false),
                "share_false": share(false / checked if checked else None),
            }
        )
    return rows


def _mean(values: Sequence[int | float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
