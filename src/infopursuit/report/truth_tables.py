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
from infopursuit.report.truths import ASKED, COUNTS


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
    """The first ten questions of explained pictures, and how many of the answers are false.

    `checked` are answers, yes or no, to questions whose truth is known.
    """

    init: str
    method: str
    pictures: str
    questions: str
    checked: str
    false: str
    share_false: str


class PairsRow(NamedTuple):
    """What happens in pairs of pictures that differ in one attribute, shares in %.

    `name` is the method, or the attribute where the row is of one. `phrases` is of all phrases of
    the universe that name an attribute: order, change, steadiness. `dictionary` is of the
    dictionary's own queries: how many name one, change, steadiness.
    """

    init: str
    name: str
    pairs: str
    phrases: tuple[str, str, str]
    dictionary: tuple[str, str, str]


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
        counted = [run.truth["first_ten"] for run in group.runs if "first_ten" in run.truth]
        if not counted:
            continue
        pictures, questions, claims, false, not_sure = (
            sum(each[name] for each in counted) for name in COUNTS
        )
        checked = claims - not_sure
        of_checked = share(false / checked if checked else None)
        rows.append(
            FalseRow(
                group.init,
                group.method,
                str(pictures),
                str(questions),
                str(checked),
                str(false),
                of_checked,
            )
        )
    return rows


def false_share(run: Run) -> float | None:
    """The share of the first ten answers that is false; None where that is not known."""
    found = run.truth.get("first_ten")
    checked = found["claims"] - found["not_sure"] if found else 0
    return found["false"] / checked if found and checked else None


def pairs_table(groups: Sequence[Group], shown: Run) -> Pairs | None:
    """Means over seeds, and each attribute of the run shown; None where no run measured pairs."""
    measured = [group for group in groups if all("pairs" in run.truth for run in group.runs)]
    if not measured:
        return None
    rows = [_pairs_row(group.runs, group.method, "all") for group in measured]
    names = [name for name in shown.truth.get("pairs", {}) if name != "all"]
    return Pairs(rows, [_pairs_row([shown], name.replace("_", " "), name) for name in names])


def _pairs_row(runs: Sequence[Run], name: str, attribute: str) -> PairsRow:
    """Means over runs of the pairs of one attribute, or of `all`."""
    phrases, dictionary = (
        [run.truth.get(asked, {}).get(attribute, {}) for run in runs] for asked in ASKED
    )

    def mean(parts: Sequence[Mapping[str, Any]], key: str) -> float | None:
        values = [part.get(key) for part in parts]
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if len(known) == len(values) else None

    return PairsRow(
        runs[0].key.init,
        name,
        whole(mean(phrases, "pairs")),
        (
            share(mean(phrases, "order")),
            share(mean(phrases, "change")),
            share(mean(phrases, "steadiness")),
        ),
        (
            whole(mean(dictionary, "queries")),
            share(mean(dictionary, "change")),
            share(mean(dictionary, "steadiness")),
        ),
    )


def follows_change(run: Run) -> float | None:
    """How often the answer follows where one attribute is switched; None where not known."""
    return run.truth.get("pairs", {}).get("all", {}).get("change")


def _mean(group: Group, name: str) -> float | None:
    """Mean over seeds; None where a run lacks it."""
    if any(name not in run.truth for run in group.runs):
        return None
    return group.mean(lambda run: run.truth[name])
