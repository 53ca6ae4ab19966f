"""Rows with labels and weights as people give them, checked as scikit-learn does."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d
from torch import Tensor

from infopursuit.core.errors import InputError, one_such_as, writable
from infopursuit.core.names import composed, near_names
from infopursuit.datasets.matrix import Matrix
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet
from infopursuit.questions.constraints import check_whole

# What is not known, as texts.
NOT_LABELS = ("nan", "inf", "-inf", "None", "NaT", "<NA>")
# The weight of a row that is not zero.
LIGHTEST, HEAVIEST = 1e-9, 1e9
# Seeds that numpy and torch both take.
LARGEST_SEED = 2**32 - 1


def refuse_complex(name: str, values: Any) -> None:
    """Raise InputError for complex numbers, of which only the real part would count."""
    of_columns = hasattr(values, "columns") and hasattr(values, "dtypes")
    columns = list(values.columns) if of_columns else []
    dtypes = list(values.dtypes) if of_columns else [getattr(values, "dtype", None)]
    for column, dtype in enumerate(dtypes):
        if getattr(dtype, "kind", "") == "c":
            where = f" in column {columns[column]!r}" if columns else ""
            raise InputError(f"{name}: Complex data not supported{where}; expected real numbers")


def refuse_missing(labels: np.ndarray) -> None:
    """Raise InputError for a label that is no label: NaN, infinity, None."""
    for row, label in enumerate(labels if labels.dtype.kind in "fO" else ()):
        if not isinstance(label, str) and str(label) in NOT_LABELS:
            raise InputError(f"y: row {row} is {label}; expected the label of a class")


def encoded_labels(y: Any) -> tuple[np.ndarray, Int[Tensor, " n"]]:
    """Return the distinct labels in order (c,), and the number of each row's label (n,).

    Texts of a fixed width become as wide as the longest label, and StringDType such texts.

    Raises:
        InputError: there is one class; or a label is neither text nor number, or not text that
            UTF-8 can hold.
    """
    try:
        array = np.asarray(y)
        labels = array.astype(np.str_) if array.dtype.kind == "T" else y
        labels = column_or_1d(labels, warn=True)
        refuse_missing(labels)
        objects = labels if labels.dtype.kind == "O" else ()
        kinds = {"str" if isinstance(each, str) else type(each).__name__ for each in objects}
        if len(kinds) > 1:
            raise InputError(
                f"y has labels of the types {', '.join(sorted(kinds))}; expected one type"
            )
        with warnings.catch_warnings():  # one image of each class is no sign of a regression
            warnings.filterwarnings("ignore", "The number of unique classes")
            check_classification_targets(labels)
        classes, numbers = np.unique(labels, return_inverse=True)
    except InputError:
        raise
    except (TypeError, ValueError) as error:  # of numpy and scikit-learn, too
        raise InputError(f"y: {error}") from error
    kind = classes.dtype
    texts = kind.kind in "UO" and all(isinstance(each, str) for each in classes)
    if not texts and (kind.kind not in "iufb" or kind == np.longdouble):
        raise InputError(f"y: Unknown label type: {kind}; expected texts, or whole numbers")
    if texts:
        forms: dict[str, str] = {}
        for each in classes:
            if writable(each) != each:
                raise InputError(f"y: the label {str(each)!r}; expected text that UTF-8 can hold")
            if (other := forms.setdefault(composed(each), each)) != each:
                raise InputError(
                    f"y: the labels {str(other)!a} and {str(each)!a} are one name in two "
                    "forms; expected one of them"
                )
        for group in near_names(forms.values()):
            warnings.warn(
                f"the classes {' and '.join(map(repr, map(str, group)))} differ in case or blanks "
                "alone, and are not one class",
                stacklevel=2,
            )
        classes = classes if kind.kind == "O" else np.array(classes.tolist())
    if len(classes) < 2:
        only = f"{classes.tolist()[0]!r} in all {len(labels)} rows"
        raise InputError(f"y has one class, {only}; expected two or more classes")
    return classes, torch.from_numpy(numbers.astype(np.int64))


def training_set(rows: Matrix, y: Any, sample_weight: Any = None) -> InMemorySet:
    """Return rows with labels and weights as people give them, less rows of weight zero.

    Args:
        rows: n of them.
        y: (n,) labels.
        sample_weight: (n,) weights; or of each class, as `balanced` or a mapping; None for 1 each.
    """
    if not len(rows):
        raise InputError("X has no rows; expected at least one")
    check_consistent_length(np.empty(len(rows)), y)
    if sample_weight is None:
        classes, labels = encoded_labels(y)
        return InMemorySet(rows, labels, None, classes)
    if isinstance(sample_weight, str | Mapping):
        classes, labels = encoded_labels(y)
        weights, places = _class_weights(sample_weight, classes, labels), np.arange(len(rows))
    else:
        weights = _row_weights(sample_weight, len(rows))
        places = np.flatnonzero(weights > 0)
        classes, labels = encoded_labels(np.asarray(y)[places])
        weights = weights[places]
    least, most = weights.min(), weights.max()
    # Sums of float32 would be infinite, or nothing.
    if not (least >= LIGHTEST and most <= HEAVIEST):
        raise InputError(
            f"sample_weight is from {least:g} to {most:g}; expected {LIGHTEST:g} to {HEAVIEST:g}, "
            "as a row of weight two counts like two rows"
        )
    rows = rows if len(places) == len(rows) else rows.subset(torch.from_numpy(places))
    return InMemorySet(rows, labels, torch.from_numpy(weights), classes)


def _row_weights(sample_weight: Any, count: int) -> Float[np.ndarray, " n"]:
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight: {error}; expected numbers") from error
    weights = np.full(count, weights) if not weights.ndim else weights
    if weights.shape != (count,):
        raise InputError(f"sample_weight has the shape {weights.shape}; expected ({count},)")
    if not (weights >= 0).all():
        raise InputError(f"sample_weight: {weights.min()}; expected no NaN and no negative weights")
    if not weights.any():
        raise InputError("sample_weight is zero everywhere; expected a positive weight")
    return weights


def _class_weights(
    sample_weight: str | Mapping[Any, int | float], classes: np.ndarray, labels: Tensor
) -> Float[np.ndarray, " n"]:
    places, known = labels.numpy(), classes.tolist()
    if isinstance(sample_weight, Mapping) and not all(each in sample_weight for each in known):
        for label in sample_weight:
            if label not in known:  # scikit-learn would name the classes that have no weight
                expected = one_such_as(label, known)
                raise InputError(f"sample_weight: no class {label!r}; expected {expected}")
    try:
        each = compute_class_weight(sample_weight, classes=classes, y=classes[places])
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight: {error}") from error
    return each[places]


def validation_set(
    rows: Matrix, y: Any, classes: np.ndarray, name: str = "validation"
) -> InMemorySet:
    """Return rows to validate on, whose labels are among the training classes (c,)."""
    labels = np.asarray(y)
    check_consistent_length(np.empty(len(rows)), labels)
    order = np.argsort(classes)  # those of shards have the order of their labels
    places = order[np.searchsorted(classes, labels, sorter=order).clip(max=len(order) - 1)]
    unknown = classes[places] != labels
    if unknown.any():
        first = labels[unknown].tolist()[0]
        raise InputError(
            f"{name}: the label {first!r} is not among the training labels; expected "
            f"{one_such_as(first, classes.tolist())}"
        )
    return InMemorySet(rows, torch.from_numpy(places.astype(np.int64)), None, classes)


def check_width(name: str, width: int, expected: int) -> None:
    """Raise InputError if rows are not as wide as the embeddings of the texts."""
    if width != expected:
        raise InputError(
            f"{name} has {width} columns and text_embeddings {expected}; expected one CLIP for both"
        )


def seed_of(random_state: Any) -> int:
    """Return one seed for a fit, by scikit-learn's convention."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        check_whole("random_state", random_state, 0, LARGEST_SEED)
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise InputError(f"random_state: {error}") from error
