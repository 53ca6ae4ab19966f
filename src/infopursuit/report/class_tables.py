"""Accuracy of each class, and which classes are taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from infopursuit.core.numbers import share
from infopursuit.evaluation.predictions import read_predictions
from infopursuit.report.runs import Run

# Of one class, so many others are named that its images are taken for.
TAKEN_FOR = 3
# Of all classes, so many pairs.
PAIRS = 8
# A matrix of more classes is no picture that a person can read.
LARGEST_MATRIX = 24


class ClassRow(NamedTuple):
    """A class, and how many of its test images are right, after all questions of the budget."""

    name: str
    images: int
    right: float
    accuracy: str
    taken_for: str


class ConfusedPair(NamedTuple):
    """A class whose images are taken for another: `5 of 60`; and back, empty where none are."""

    first: str
    second: str
    there: str
    back: str


class Cell(NamedTuple):
    """Images of one class (a row) that are taken for another (a column)."""

    images: int
    share: float
    right: bool


class Classes(NamedTuple):
    """What a run does with each class; the lowest accuracy first.

    Attributes:
        budget: how many questions were asked.
        matrix: rows and columns in the order of `names`; empty for many classes.
    """

    budget: int
    rows: list[ClassRow]
    pairs: list[ConfusedPair]
    names: tuple[str, ...]
    matrix: list[list[Cell]]


def class_table(run: Run) -> Classes:
    """Accuracy per class and confusions on the test images, after all T questions."""
    found = read_predictions(run.predictions)
    counts = confusion_counts(found.labels, found.predicted[:, -1], run.classes)
    of_class = counts.sum(axis=1)
    names = run.class_names
    rows = [
        ClassRow(
            names[label],
            int(of_class[label]),
            float(counts[label, label] / of_class[label]),
            share(counts[label, label] / of_class[label]),
            _taken_for(counts[label], label, names),
        )
        for label in np.flatnonzero(of_class).tolist()
    ]
    rows.sort(key=lambda row: row.right)
    shares = counts / np.maximum(of_class, 1)[:, None]
    small = run.classes <= LARGEST_MATRIX
    matrix = [
        [
            Cell(int(counts[row, column]), float(shares[row, column]), row == column)
            for column in range(run.classes)
        ]
        for row in range(run.classes if small else 0)
    ]
    budget = found.predicted.shape[1] - 1
    return Classes(budget, rows, _pairs(counts, names), names, matrix)


def confusion_counts(
    labels: Int[np.ndarray, " n"], predicted: Int[np.ndarray, " n"], classes: int
) -> Int[np.ndarray, "c c"]:
    """How many of n images of each class (rows) are taken for each class (columns)."""
    counts = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(counts, (labels, predicted), 1)
    return counts


def _taken_for(row: Int[np.ndarray, " c"], label: int, names: Sequence[str]) -> str:
    """The other classes that most images of a class are taken for, the most frequent first."""
    others = [place for place in np.flatnonzero(row).tolist() if place != label]
    others.sort(key=lambda place: -row[place])
    told = [f"{names[place]} ({row[place]})" for place in others[:TAKEN_FOR]]
    return ", ".join(told)


def _pairs(counts: Int[np.ndarray, "c c"], names: Sequence[str]) -> list[ConfusedPair]:
    """The pairs that are confused most, counted both ways."""
    both = np.triu(counts + counts.T, 1)
    places = [(int(a), int(b)) for a, b in np.argwhere(both)]
    places.sort(key=lambda place: (-both[place], place))
    found = []
    for place in places[:PAIRS]:
        more, less = sorted((place, place[::-1]), key=lambda way: -counts[way])
        there, back = (f"{counts[way]} of {counts[way[0]].sum()}" for way in (more, less))
        back = back if counts[less] else ""
        found.append(ConfusedPair(names[more[0]], names[more[1]], there, back))
    return found
