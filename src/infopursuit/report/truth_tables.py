"""How true the answers are, where a data set knows what its pictures show.

Three measures, each of its own part of a run's `truth.json`: how often answers agree with the
pictures; how many of the first ten answers of explanations are false; and what scores and answers
do in pairs of pictures that differ in one attribute. The last two may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from infopursuit.core.numbers import share, whole
from infopursuit.report.groups import Group
from infopursuit.report.runs import Run
from infopursuit.report.truths import MEASURES


class TruthRow(NamedTuple):
    """How often answers agree with what is in the pictures, in %.

    `dictionary` is of those of the dictionary's queries that name an attribute: how many there
    are, agreement, balanced agreement. `phrases` is of all such phrases of the universe:
    agreement, balanced agreement, share of yes.
    """

    init: str
    method: str
    dictionary: tuple[str, str, str]
    phrases: tuple[str, str, str]


class Truth(NamedTuple):
    """The table of truth: a row a group, the number of phrases and the share of yes in truth."""

    rows: list[TruthRow]
    phrases: str
    share_true: str


class FalseRow(NamedTuple):
    """Of the first ten answers of explanations: how many are known to be true or false."""

    init: str
    method: str
    pictures: str
    answers: str
    false: str
    share_false: str


class PairsRow(NamedTuple):
    """What happens in pairs of pictures that differ in one attribute, in %.

    `name` is the method, or the attribute where the row is of one.
    """

    init: str
    name: str
    pairs: str
    queries: str
    order: str
    change: str
    steadiness: str


class Pairs(NamedTuple):
    """The table of pairs: a row a group, and the attributes of one run."""

    rows: list[PairsRow]
    attributes: list[PairsRow]


def truth_table(groups: Sequence[Group]) -> Truth | None:
    """Means over seeds of the agreement with the truth; None where nobody knows it."""
    if not all(run.truth for group in groups for run in group.runs):
        return None

    def of(group: Group, name: str) -> str:
        return share(_mean(group, name))

    rows = [
        TruthRow(
            group.init,
            group.method,
            (
                whole(_mean(group, "dictionary_queries")),
                of(group, "dictionary_agreement"),
                of(group, "dictionary_balanced_agreement"),
            ),
            (
                of(group, "phrases_agreement"),
                of(group, "phrases_balanced_agreement"),
                of(group, "phrases_share_of_yes"),
            ),
        )
        for group in groups
    ]
    phrases = groups[0].runs[0].truth["phrases_queries"]
    return Truth(rows, str(phrases), of(groups[0], "phrases_share_true"))


def false_table(groups: Sequence[Group]) -> list[FalseRow]:
    """Sums over seeds of the answers that are false; a row for each group that counted them."""
    rows = []
    for group in groups:
        counted = [found for run in group.runs if (found := first_ten(run)) is not None]
        if not counted:
            continue
        pictures, answers, false = (sum(column) for column in zip(*counted, strict=True))
        of_known = false / answers if answers else None
        rows.append(
            FalseRow(
                group.init, group.method, str(pictures), str(answers), str(false), share(of_known)
            )
        )
    return rows


def pairs_table(groups: Sequence[Group], shown: Run) -> Pairs | None:
    """Means over seeds, and each attribute of the run shown; None where no run measured pairs."""
    rows = []
    for group in groups:
        measured = [found for run in group.runs if (found := _pairs(run)) is not None]
        if not measured:
            continue
        means = {
            name: None if any(each[name] is None for each in measured) else
            float(np.mean([each[name] for each in measured]))
            for name in MEASURES
        }  # fmt: skip
        queries = float(np.mean([each["queries"] for each in measured]))
        rows.append(_pairs_row(group.init, group.method, measured[0]["pairs"], queries, means))
    if not rows:
        return None
    attributes = (_pairs(shown) or {}).get("attributes", {})
    return Pairs(
        rows,
        [
            _pairs_row(shown.key.init, name, each["pairs"], each["queries"], each)
            for name, each in attributes.items()
        ],
    )


def first_ten(run: Run) -> tuple[int, int, int] | None:
    """Pictures explained, answers in them whose truth is known, and those that are false.

    Of each explanation the first ten questions. None where the run did not count them.
    """
    found = run.truth.get("first_ten")
    return None if found is None else (found["pictures"], found["answers"], found["false"])


def false_share(run: Run) -> float | None:
    """The share of the first ten answers that are false; None where that is not known."""
    found = first_ten(run)
    return found[2] / found[1] if found and found[1] else None


def _pairs(run: Run) -> Mapping[str, Any] | None:
    return run.truth.get("pairs")


def _pairs_row(
    init: str, name: str, pairs: int, queries: float, measured: Mapping[str, Any]
) -> PairsRow:
    return PairsRow(
        init, name, str(pairs), whole(queries), *(share(measured[each]) for each in MEASURES)
    )


def _mean(group: Group, name: str) -> float | None:
    """Mean over seeds; None where a run lacks it."""
    if any(name not in run.truth for run in group.runs):
        return None
    return group.mean(lambda run: run.truth[name])
