"""How true and how sensible, in sentences for one run and in a table for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from infopursuit.core.numbers import NOTHING, percent, share
from infopursuit.explanation.text import question
from infopursuit.report.groups import Group
from infopursuit.report.meanings import RunMeaning
from infopursuit.report.runs import ShownAnswer

NB = "\N{NO-BREAK SPACE}"
# Who says what is true, for a person who reads the page.
TRUE_BY = {
    "pictures": "It is known what every picture shows; all runs answer the same texts about it.",
    "strict": "A list written beforehand says which texts are true of which class; all runs "
    "answer its texts.",
    "knowledge": "The knowledge table of the classes says which of a run's questions are true of "
    "them. Models may be fitted with that table, so it is no independent source.",
}
SENSE_BY = {
    "judge": "What fits which class, a judge has written down, apart from the knowledge table.",
    "knowledge": "What fits which class, the knowledge table says. Models may be fitted with that "
    "table, so it is no independent source.",
}
FALSE_BY = {
    "pictures": "what the picture shows",
    "strict": "the list of true texts",
    "knowledge": "the knowledge table",
}
COLUMNS = ("true_yes", "found", "answered", "right", "plausible", "supported", "reader", "model",
           "explained")  # fmt: skip


class Sentence(NamedTuple):
    """A sentence around one number that is to be remembered, and what chance gives."""

    before: str
    number: str
    after: str
    chance: str


class MeaningRow(NamedTuple):
    """The shares of a group in %, in the order of COLUMNS; means over seeds."""

    init: str
    method: str
    values: list[str]


class WorstRow(NamedTuple):
    """A false answer in words."""

    picture: Path | None
    image: str
    question: str
    answer: str
    number: int
    true_class: str
    false_by: str
    effect: str


class Meaning(NamedTuple):
    """The section of a data set.

    Attributes:
        sentences: about the run that is shown; none where nobody has said what is true.
        sources: who says so.
        rows: of all groups.
        chance: a row of what chance gives the run that is shown; dashes where that says nothing.
    """

    sentences: list[Sentence]
    sources: list[str]
    rows: list[MeaningRow]
    chance: list[str]


def meaning_section(groups: Sequence[Group], shown: RunMeaning) -> Meaning:
    """All that is said of the meaning of the runs of a data set."""
    sources = [TRUE_BY[shown.truth_by]] if shown.truth_by else []
    if shown.sense_by and not shown.sense_by == shown.truth_by == "knowledge":
        sources.append(SENSE_BY[shown.sense_by])
    rows = [
        MeaningRow(group.init, group.method, [share(mean_meaning(group, name)) for name in COLUMNS])
        for group in groups
    ]
    known = any(value != NOTHING for row in rows for value in row.values)
    chances = {
        "true_yes": shown.chance_yes,
        "supported": shown.chance_supported,
        "reader": shown.chance_reader,
        "explained": shown.chance_explained,
    }
    chance = [share(chances.get(name)) for name in COLUMNS]
    return Meaning(sentences(shown), sources, rows if known else [], chance if known else [])


def sentences(run: RunMeaning) -> list[Sentence]:
    """What is known of one run, a sentence each."""
    told = []
    if run.true_yes is not None:
        told.append(
            Sentence(
                "Of 100 times it said yes,",
                of_100(run.true_yes),
                "were right.",
                _chance(run.chance_yes),
            )
        )
    if run.answered is not None and run.right is not None:
        unsure = f" To {of_100(1 - run.answered)} of 100 questions it said “not sure”."
        told.append(
            Sentence(
                "Of 100 answers yes or no,",
                of_100(run.right),
                f"were right.{unsure if run.answered < 1 else ''}",
                "",
            )
        )
    if run.plausible is not None:
        told.append(
            Sentence("Of 100 questions it asked first,", of_100(run.plausible), "fit a class.", "")
        )
    if run.supported is not None:
        told.append(
            Sentence(
                "Of 100 times it said yes to them,",
                of_100(run.supported),
                "fit the class that it named in the end.",
                _chance(run.chance_supported),
            )
        )
    if run.reader is not None and run.model is not None:
        told.append(
            Sentence(
                "Somebody who knows the classes, and hears these questions and answers but sees no "
                "image, names the right class for",
                of_100(run.reader),
                f"of 100 images. The model itself does for {of_100(run.model)}.",
                _chance(run.chance_reader),
            )
        )
    if run.explained is not None:
        told.append(
            Sentence(
                "Of what its answers tell of the class,",
                f"{of_100(run.explained)} %",
                "follows from the words. The rest is something that the words do not say.",
                _chance(run.chance_explained),
            )
        )
    return told


def of_100(value: float) -> str:
    """A share as a whole number of a hundred; no number that rounding makes none or all."""
    if 0 < value < 0.005:
        return "fewer than 1"
    if 0.995 <= value < 1:
        return "more than 99"
    return f"{100 * value:.0f}"


def worst_rows(answers: Sequence[ShownAnswer]) -> list[WorstRow]:
    """False answers as a person reads them, the worst first."""
    return [
        WorstRow(
            picture=shown.picture,
            image=shown.answer.image,
            question=question(shown.answer.query),
            answer="yes" if shown.answer.yes else "no",
            number=shown.answer.number,
            true_class=shown.answer.true_class,
            false_by=FALSE_BY[shown.answer.by],
            effect=(
                f"Belief in {shown.answer.toward}: "
                f"{_moved(shown.answer.before, shown.answer.after)}; in "
                f"{shown.answer.true_class}: "
                f"{_moved(shown.answer.true_before, shown.answer.true_after)}"
            ),
        )
        for shown in answers
    ]


def _moved(before: float, after: float) -> str:
    """Two probabilities that stay on one line."""
    return f"{percent(before)} → {percent(after)}".replace(" ", NB)


def _chance(value: float | None) -> str:
    return "" if value is None else f"By chance: {of_100(value)}."


def mean_meaning(group: Group, name: str) -> float | None:
    """Mean over the seeds that have the figure."""
    values = [getattr(run.meaning, name) for run in group.runs]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
