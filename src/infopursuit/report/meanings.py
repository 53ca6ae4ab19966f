"""How true and how sensible a run is: the figures that its stages measured, and their form.

Where it is known what every picture shows, that tells how true answers are. Otherwise the strict
list tells, or the knowledge table where there is no list.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from infopursuit.core.errors import InputError

PARTS = {
    "truth": (
        "precision_of_yes",
        "recall_of_yes",
        "right",
        "answered",
        "shuffled_precision_of_yes",
    ),
    "sense": ("plausible", "supported_yes", "shuffled_supported_yes", "reader", "shuffled_reader",
              "accuracy"),
    "explained": ("explained", "shuffled_explained"),
}  # fmt: skip


class RunMeaning(NamedTuple):
    """Shares in [0, 1] of one run; None where nobody has said what is true.

    Attributes:
        truth_by: who says which answers are true: `pictures`, `strict` or `knowledge`.
        true_yes: share of the yes that are true.
        chance_yes: the same share by chance.
        found: share of the true cases that got a yes.
        answered: share of the questions that got yes or no.
        right: share of these that is true.
        sense_by: who says what fits which class: `judge` or `knowledge`.
        plausible: share of the first questions that fit some class.
        supported: share of the yes among their answers that fit the class predicted in the end.
        chance_supported: the same by chance.
        reader: how often somebody names the right class who only knows the classes.
        chance_reader: the same by chance.
        model: how often the model does, after as many questions.
        explained: share of the information that follows from the words.
        chance_explained: the same by chance.
    """

    truth_by: str | None = None
    true_yes: float | None = None
    chance_yes: float | None = None
    found: float | None = None
    answered: float | None = None
    right: float | None = None
    sense_by: str | None = None
    plausible: float | None = None
    supported: float | None = None
    chance_supported: float | None = None
    reader: float | None = None
    chance_reader: float | None = None
    model: float | None = None
    explained: float | None = None
    chance_explained: float | None = None


def run_meaning(measured: Mapping[str, Any], of_pictures: Mapping[str, Any]) -> RunMeaning:
    """The figures of a run.

    Args:
        measured: what the stage `meaning` wrote.
        of_pictures: what the stage `truth` wrote; empty where pictures are not known.
    """
    truth, sense, explained = (measured[name] or {} for name in PARTS)
    if "answers" in of_pictures:
        truth = {
            "by": "pictures",
            **of_pictures["answers"]["phrases"],
            "shuffled_precision_of_yes": of_pictures["phrases_share_true"],
        }
    return RunMeaning(
        truth_by=truth.get("by"),
        true_yes=truth.get("precision_of_yes"),
        chance_yes=truth.get("shuffled_precision_of_yes"),
        found=truth.get("recall_of_yes"),
        answered=truth.get("answered"),
        right=truth.get("right"),
        sense_by=sense.get("by"),
        plausible=sense.get("plausible"),
        supported=sense.get("supported_yes"),
        chance_supported=sense.get("shuffled_supported_yes"),
        reader=sense.get("reader"),
        chance_reader=sense.get("shuffled_reader"),
        model=sense.get("accuracy"),
        explained=explained.get("explained"),
        chance_explained=explained.get("shuffled_explained"),
    )


def check_meaning(path: Path, measured: Mapping[str, Any]) -> None:
    """Check that each part is null or has its figures: numbers, or null.

    Raises:
        InputError: a part lacks a figure or has a value of another kind.
    """
    for name, figures in PARTS.items():
        part = measured[name]
        if part is None:
            continue
        for figure in figures:
            if not isinstance(part, dict) or figure not in part:
                raise InputError(
                    f"{path}: no key {name}.{figure}; expected what the stage meaning writes"
                )
            if not isinstance(part[figure], int | float | None):
                raise InputError(
                    f"{path}: {name}.{figure} is {part[figure]!r}; expected a number or null"
                )
