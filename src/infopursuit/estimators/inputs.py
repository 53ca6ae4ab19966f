"""What estimators take: embeddings, or a table whose cells are checked as scikit-learn does."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from infopursuit.datasets.matrix import Matrix, as_tensor
from infopursuit.datasets.table_columns import (
    TableColumns,
    check_numbers,
    column_names,
    with_text_names,
)
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.questions.columns import TableQuestions
from infopursuit.questions.constraints import QuestionConstraints
from infopursuit.questions.labels import refuse_complex, refuse_missing
from infopursuit.questions.source import QuestionSource


class Inputs(PursuitClassifier):
    """An estimator that is fitted on embeddings by texts, on a table, or by a source of one's own.

    Attributes:
        texts: the setting of that name; None for a table.
    """

    texts: Any

    def _own_source(self) -> QuestionSource | None:
        return self.texts if isinstance(self.texts, QuestionSource) else None

    def _of_tables(self) -> bool:
        own = self._own_source()
        return self.texts is None if own is None else own.of_tables

    def _table_to_fit(
        self, X: Any, y: Any, constraints: QuestionConstraints
    ) -> tuple[Matrix, Any, QuestionSource]:
        X = with_text_names(X)
        self.columns_ = TableColumns.of(X)
        rows, y = self._checked(X, y, reset=True)
        source = self._own_source() or TableQuestions()
        return rows, y, source.on_columns(self._table_columns(), constraints)

    def _table(self, X: Any) -> Matrix:
        return self._checked(X, "no_validation", reset=False)[0]

    def _checked(self, X: Any, y: Any, reset: bool) -> tuple[Matrix, Any]:
        """Return the rows of a table as numbers, and the labels, checked as scikit-learn does."""
        checked: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        refuse_complex("X", X)
        refuse_complex("y", y)
        X = with_text_names(X)
        if self.columns_ is not None or (not reset and column_names(X)):
            # Names of columns first: cells of a column that is not meant have no say.
            validate_data(self, X, reset=reset, skip_check_array=True)
            rows = check_array(self._table_columns().numbers(X), input_name="X", **checked)
            return Matrix(as_tensor(rows)), y
        original = X
        try:
            y_of_predict = isinstance(y, str)
            X = validate_data(self, X, y, reset=reset, **checked)
            X, y = (X, None) if y_of_predict else X
        except (TypeError, ValueError):
            check_numbers(original)  # says where the cell is
            if y is not None and not isinstance(y, str):
                refuse_missing(np.asarray(y))  # and the label
            raise
        return Matrix(as_tensor(np.asarray(X))), y

    def __sklearn_tags__(self) -> Any:
        """Say that tables may have gaps; embeddings may not."""
        tags = super().__sklearn_tags__()  # pyright: ignore[reportAttributeAccessIssue]
        tags.input_tags.allow_nan = self._of_tables()
        return tags

    def _keep_column_names(self, X: Any) -> None:
        names = column_names(X)
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
