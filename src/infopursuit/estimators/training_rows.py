"""Labelled, weighted rows to fit on, and the share of them that is held out."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from sklearn.utils.validation import _check_sample_weight, check_consistent_length
from torch import Tensor

from infopursuit.answers.moments import ClassMoments, class_moments
from infopursuit.answers.rules import AnswerRule
from infopursuit.answers.table import AnswerTable
from infopursuit.core.errors import InputError
from infopursuit.datasets.rows import Rows
from infopursuit.datasets.samples import even_sample
from infopursuit.estimators.inputs import encoded_labels
from infopursuit.naive_bayes.fit import fit_table

# Calibration looks at 4,096 images in all: no class gives more than this to it.
HELD_OUT_OF_A_CLASS = 1024


class TrainingRows:
    """n rows with their labels 0..c-1 and weights; every class has a row.

    Attributes:
        rows: embeddings or a table.
        labels: (n,) numbers of the classes.
        weights: (n,) float64, positive; None for 1 each.
        classes: (c,) the labels as people gave them.
    """

    def __init__(
        self,
        rows: Rows,
        labels: Int[Tensor, " n"],
        weights: Float[Tensor, " n"] | None,
        classes: np.ndarray,
    ) -> None:
        self.rows, self.labels, self.weights, self.classes = rows, labels, weights, classes

    @classmethod
    def checked(cls, rows: Rows, y: Any, sample_weight: Any = None) -> TrainingRows:
        """Rows with labels and weights as people give them; rows of weight zero are left out.

        Raises:
            InputError, ValueError: there is no row, lengths differ, a label is no class or a weight
                is negative.
        """
        if not len(rows):
            raise InputError("X has no rows; expected at least one")
        check_consistent_length(np.empty(len(rows)), y)
        if sample_weight is None:
            classes, labels = encoded_labels(y)
            return cls(rows, labels, None, classes)
        weights = _check_sample_weight(
            sample_weight, np.empty((len(rows), 1)), dtype=np.float64, ensure_non_negative=True
        )
        if not (weights > 0).any():
            raise InputError("sample_weight is zero everywhere; expected a positive weight")
        kept = np.flatnonzero(weights > 0)
        classes, labels = encoded_labels(np.asarray(y)[kept])
        rows = rows if len(kept) == len(weights) else rows.subset(torch.from_numpy(kept))
        return cls(rows, labels, torch.from_numpy(weights[kept]), classes)

    @cached_property
    def moments(self) -> ClassMoments:
        """Of the rows by class."""
        return class_moments(self.rows.blocks(), self.labels, self.weights)

    @cached_property
    def checksums(self) -> Int[np.ndarray, " n"]:
        """A number of each row's bytes."""
        return self.rows.checksums()

    @property
    def checksum(self) -> str:
        """SHA-256 of the numbers of all rows and labels, as 64 hexadecimal digits."""
        return hashlib.sha256(self.checksums.tobytes() + self.labels.numpy().tobytes()).hexdigest()

    def facts(self, held_out: TrainingRows | None) -> dict[str, Any]:
        """What a fitted model tells of its images."""
        return {
            "images": len(self.labels),
            "images_checksum": self.checksum,
            "held_out_images": 0 if held_out is None else len(held_out.labels),
        }

    def to_screen(self) -> TrainingRows:
        """The rows on which texts are screened, who takes a sample of many."""
        return self

    def table(self, rule: AnswerRule) -> AnswerTable:
        """The rates of each answer in each class."""
        return fit_table(rule, self.rows.blocks(), self.labels, self.weights, self.moments)

    def subset(self, places: Int[Tensor, " m"]) -> TrainingRows:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[places]
        return TrainingRows(self.rows.subset(places), self.labels[places], weights, self.classes)

    def sample(self, size: int, seed: int) -> TrainingRows:
        """At most so many rows, of each class as many as of any other."""
        if len(self.labels) <= size:
            return self
        generator = torch.Generator().manual_seed(seed)
        return self.subset(even_sample(self.labels, size, generator))

    def split(self, share: float) -> tuple[TrainingRows, TrainingRows | None]:
        """Rows to learn from, and those held out; None where the classes have too few rows.

        Which rows are held out depends on their content: equal rows stay together, and a row that
        is repeated counts as one of a larger weight.
        """
        held = held_out_rows(self.checksums, self.labels.numpy(), share)
        if not held.any():
            return self, None
        return (
            self.subset(torch.from_numpy(np.flatnonzero(~held))),
            self.subset(torch.from_numpy(np.flatnonzero(held))),
        )

    def like(self, validation: tuple[Any, Any], rows: Rows) -> TrainingRows:
        """Rows given to validate on, with the labels of these.

        Raises:
            InputError: a label is not among the classes.
        """
        labels = np.asarray(validation[1])
        check_consistent_length(np.empty(len(rows)), labels)
        order = np.argsort(self.classes)  # those of shards have the order of their labels
        found = np.searchsorted(self.classes, labels, sorter=order)
        places = order[found.clip(max=len(order) - 1)]
        unknown = self.classes[places] != labels
        if unknown.any():
            first = labels[unknown].tolist()[0]
            raise InputError(f"validation: the label {first!r} is not among the training labels")
        return TrainingRows(rows, torch.from_numpy(places.astype(np.int64)), None, self.classes)


def held_out_rows(
    keys: Int[np.ndarray, " n"], labels: Int[np.ndarray, " n"], share: float
) -> Bool[np.ndarray, " n"]:
    """Which rows are held out: of each class the share of distinct keys that come first.

    Args:
        keys: equal for rows that must stay together.
        labels: classes 0..c-1.
        share: of the distinct keys of a class, rounded, at most HELD_OUT_OF_A_CLASS; every class
            keeps one.
    """
    order = np.lexsort((keys, labels))
    ordered, of_class = keys[order], labels[order]
    starts = np.r_[True, of_class[1:] != of_class[:-1]]
    new = starts | np.r_[True, ordered[1:] != ordered[:-1]]
    number = new.cumsum() - 1  # of each distinct key
    first = np.maximum.accumulate(np.where(starts, number, 0))  # number of its class's first key
    distinct = np.bincount(of_class[new], minlength=labels.max() + 1)
    count = np.minimum(np.round(share * distinct), distinct - 1).clip(max=HELD_OUT_OF_A_CLASS)
    held = np.empty(len(keys), dtype=bool)
    held[order] = number - first < count[of_class]
    return held
