"""What people hand to a classifier: embeddings, tables, pictures, labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Int
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, column_or_1d, validate_data
from torch import Tensor

from infopursuit.answers.rules import ColumnAnswers
from infopursuit.core.errors import InputError
from infopursuit.datasets.rows import Rows, UnitRows, as_tensor

if TYPE_CHECKING:
    from infopursuit.estimators.base import PursuitClassifier


def encoded_labels(y: Any) -> tuple[np.ndarray, Int[Tensor, " n"]]:
    """The distinct labels in order (c,), and the number of each row's label (n,).

    Raises:
        ValueError: the labels are no classes, as scikit-learn says it.
    """
    labels = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    classes, numbers = np.unique(labels, return_inverse=True)
    return classes, torch.from_numpy(numbers.astype(np.int64))


def rows_of(model: PursuitClassifier, X: Any) -> Rows:
    """The rows that a fitted model is asked about, as its answer rule wants them.

    Raises:
        InputError, ValueError: the rows are malformed, of another width or with columns of other
            names, or pictures come to a model that does not know its CLIP.
    """
    if isinstance(model.pursuit_.rule, ColumnAnswers):
        table = validate_data(model, X, reset=False, dtype=np.float64)
        return Rows(as_tensor(np.asarray(table)))
    if is_pictures(X):
        from infopursuit.estimators.pictures import embed_for

        X = embed_for(model, X)
    check_column_names(model, X)
    rows = UnitRows(X, "X")
    if rows.width != model.n_features_in_:
        raise InputError(
            f"X has {rows.width} columns; the model was fitted on embeddings of width "
            f"{model.n_features_in_}: expected the same CLIP for both"
        )
    return rows


def check_column_names(model: PursuitClassifier, X: Any, reset: bool = False) -> None:
    """Keep the column names of a data frame of embeddings, or see that they are the same.

    An array without names is taken as it is.

    Raises:
        ValueError: the names, or their order, are others than in `fit`, as scikit-learn says it.
    """
    if reset or (hasattr(X, "columns") and hasattr(model, "feature_names_in_")):
        _check_feature_names(model, X, reset=reset)


def is_pictures(X: Any) -> bool:
    """Whether these are pictures rather than rows of numbers.

    Files, encoded bytes and PIL images are; so are arrays and tensors of pixels: those of three or
    four dimensions, and lists of those of two or three.

    Raises:
        InputError: a string stands where a list is expected.
    """
    if isinstance(X, str):
        raise InputError(f"{X!r} is a string; expected a list of pictures, such as [{X!r}]")
    if isinstance(X, (np.ndarray, Tensor)):
        return X.ndim in (3, 4)
    if isinstance(X, Sequence) and not isinstance(X, bytes):
        return len(X) > 0 and (isinstance(X[0], str) or _is_picture(X[0]))
    return _is_picture(X)


def _is_picture(value: Any) -> bool:
    if isinstance(value, (np.ndarray, Tensor)):
        return value.ndim in (2, 3)
    return isinstance(value, (Path, bytes)) or type(value).__module__.startswith("PIL.")


def names_of(X: Any, count: int) -> list[str]:
    """What explanations call the rows: paths where there are some, or `image 0`, ..."""
    if isinstance(X, Path):
        return [str(X)]
    if isinstance(X, Sequence) and len(X) == count:
        return [
            str(each) if isinstance(each, (str, Path)) else f"image {row}"
            for row, each in enumerate(X)
        ]
    return [f"image {row}" for row in range(count)]


def seed_of(random_state: Any) -> int:
    """One seed for a fit, by scikit-learn's convention.

    Args:
        random_state: a seed, a generator of numpy's, whose next number is the seed, or None for
            another seed each time.

    Raises:
        ValueError: it is none of these.
    """
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
