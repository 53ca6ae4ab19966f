"""The interface of every peer, by scikit-learn's conventions.

A peer is made with texts and their embeddings and is fitted on embeddings of images with labels.
Its decisions rest on texts: `explain` says how much each adds. If a peer can do with fewer texts,
`at(t)` is the same model whose decisions rest on t of them: for a linear head, t weights for each
class on average (the number of effective concepts, NEC, of Srivastava et al., "VLG-CBM", NeurIPS
2024); for a pursuit, t texts for each image.

Parameters are dataclass fields. The classes without `@dataclass` are bases: what they annotate is
set by `fit`, or is a parameter that each of their subclasses has.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import counted
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.questions.labels import encoded_labels
from infopursuit.texts.text_table import TextTable

# Numbers of texts at which peers are compared.
BUDGETS = (5, 10, 15, 20, 25, 30)

Model = TypeVar("Model", bound="Peer")
Validation = tuple[Any, Any] | None


@dataclass(frozen=True, repr=False)
class Contributions:
    """What each text adds to the score of each class, for n decisions.

    The softmax over classes of `offset + values.sum(axis=2)` is what `predict_proba` gives: what
    the texts do not account for is in the offset.

    Attributes:
        classes: (c,) labels.
        texts: m texts that the model can use.
        values: what each text adds to the score of each class.
        offset: what is left of the scores: intercepts, priors, and all that has no words.
        used: whether the decision on a row rests on a text at all.
        margin: how far the row's own score of the text is above the one from which the row is
            taken to show it: that of a yes, the mean, or a coefficient of zero.
    """

    classes: np.ndarray
    texts: tuple[str, ...]
    values: Float[np.ndarray, "n c m"]
    offset: Float[np.ndarray, "n c"]
    used: Bool[np.ndarray, "n m"]
    margin: Float[np.ndarray, "n m"]

    def __repr__(self) -> str:
        """Return one line; the numbers are in the attributes."""
        n, c, m = self.values.shape
        sizes = f"{counted(m, 'text')} to {counted(c, 'class')} in {counted(n, 'row')}"
        return f"<Contributions of {sizes}>"

    @property
    def shows(self) -> Bool[np.ndarray, "n m"]:
        """Whether the row is taken to show the text."""
        return self.used & (self.margin > 0)

    @property
    def scores(self) -> Float[np.ndarray, "n c"]:
        """The score of each class: logarithms of probabilities, up to a constant for each row."""
        return self.offset + self.values.sum(axis=2)

    @property
    def predicted(self) -> np.ndarray:
        """(n,) the class with the largest score."""
        return self.classes[self.scores.argmax(axis=1)]

    def for_predicted(self) -> Float[np.ndarray, "n m"]:
        """Return what each text adds to the predicted class, less what it adds on average."""
        best = self.scores.argmax(axis=1)
        return self.values[np.arange(len(best)), best] - self.values.mean(axis=1)

    def strongest(self, row: int, count: int = 10) -> list[tuple[str, float]]:
        """Return the texts that matter most to the predicted class of a row, with their values."""
        added = self.for_predicted()[row]
        order = np.argsort(-np.abs(added), kind="stable")[:count]
        return [(self.texts[text], float(added[text])) for text in order if added[text]]


class Peer(ClassifierMixin, BaseEstimator):
    """What all peers do; a subclass defines `_fit`, `_scores` and `_explain`.

    Attributes:
        classes_: (c,) labels.
        n_features_in_: d.
        budgets_: the numbers of texts that `at` takes; empty if the peer has no such choice.
        texts_: the texts that it was given, or kept.
        budget_: the number of texts that decisions rest on; None for all that the model has.
        facts_: further facts about the fit, by name; empty for most peers.
    """

    texts: Sequence[str] | None = None
    text_embeddings: Any = None
    classes_: np.ndarray
    texts_: tuple[str, ...]
    n_features_in_: int
    budgets_: tuple[int, ...] = ()
    budget_: int | None = None
    facts_: dict[str, Any]
    # Whether `fit` uses held-out images, to calibrate or to select weights.
    learns_from_validation = False

    def fit(self: Model, X: Any, y: Any, validation: Validation = None) -> Model:
        """Learn from embeddings (n, d) of unit norm, and labels (n,).

        Args:
            validation: (X, y) of held-out images, for peers that `learns_from_validation`; with
                None they hold out a share of X.
        """
        rows = UnitMatrix(X, "X")
        check_consistent_length(np.empty(len(rows)), y)
        self.classes_, labels = encoded_labels(y)
        if len(self.classes_) < 2:
            raise InputError(f"y has {len(self.classes_)} class; expected at least two")
        self.n_features_in_ = rows.width
        self.budget_, self.budgets_, self.facts_ = None, (), {}
        if self.text_embeddings is None:
            self.texts_, texts = (), torch.empty(0, rows.width)
        else:
            table = TextTable.from_arrays(self.texts, self.text_embeddings)
            self.texts_, texts = table.texts, table.unit_matrix.tensor()
        if texts.shape[1] != rows.width:
            raise InputError(
                f"X has {rows.width} columns and text_embeddings {texts.shape[1]}; expected one "
                "CLIP for both"
            )
        self._fit(rows.tensor(), labels, texts, validation)
        return self

    @property
    def count(self) -> int:
        """The number of texts that decisions rest on; the largest if no budget is set."""
        return max(self.budgets_) if self.budget_ is None else self.budget_

    def for_tuning(self: Model, count: int) -> Model:
        """Return an unfitted peer that does only what a score at `count` texts needs."""
        if "budgets" not in self.get_params():
            return self
        return cast(Model, clone(self)).set_params(budgets=(count,))

    def at(self: Model, count: int | None) -> Model:
        """Return the model with `count` texts (None: all), without a new fit."""
        check_is_fitted(self, "classes_")
        if count is not None and count not in self.budgets_:
            expected = ", ".join(map(str, self.budgets_)) or "none: it has one form only"
            raise InputError(f"{type(self).__name__}.at({count}): expected one of {expected}")
        fewer = copy.copy(self)
        fewer.budget_ = count
        return fewer

    def decision_function(self, X: Any) -> Float[np.ndarray, "n c"]:
        """Return scores of the classes: logarithms of probabilities, up to a constant per row."""
        return self._scores(self._rows(X)).double().numpy()

    def decisions_by_budget(self, X: Any) -> dict[int | None, Float[np.ndarray, "n c"]]:
        """Return the scores at each of `budgets_`, and under None those with all texts."""
        rows = self._rows(X)
        return {t: self.at(t)._scores(rows).double().numpy() for t in (*self.budgets_, None)}

    def predict_proba(self, X: Any) -> Float[np.ndarray, "n c"]:
        """Return probabilities of the classes."""
        return torch.from_numpy(self.decision_function(X)).softmax(dim=1).numpy()

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row; (n,)."""
        best = self.decision_function(X).argmax(axis=1)  # which checks that there was a fit
        return self.classes_[best]

    def explain(self, X: Any) -> Contributions:
        """Return what each text adds to the score of each class, for each row.

        Takes n c m numbers: explain a few hundred rows at a time.
        """
        return self._explain(self._rows(X))

    def _rows(self, X: Any) -> Float[Tensor, "n d"]:
        check_is_fitted(self, "classes_")
        rows = UnitMatrix(X, "X")
        if rows.width != self.n_features_in_:
            raise InputError(
                f"X has {rows.width} columns; the model was fitted on {self.n_features_in_}"
            )
        return rows.tensor()

    def _fit(
        self,
        X: Float[Tensor, "n d"],
        labels: Int[Tensor, " n"],
        texts: Float[Tensor, "m d"],
        validation: Validation,
    ) -> None:
        raise NotImplementedError

    def _scores(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        raise NotImplementedError

    def _explain(self, X: Float[Tensor, "n d"]) -> Contributions:
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class TextPeer(Peer):
    """The first two parameters of every peer that rests on texts."""

    texts: Sequence[str] | None = None
    text_embeddings: Any = None


def linear_contributions(
    model: Peer,
    concepts: Float[Tensor, "n m"],
    weights: Float[Tensor, "m c"],
    offset: Float[Tensor, "#n c"],
    also: Bool[Tensor, " m"] | None = None,
    usual: Float[Tensor, " m"] | None = None,
) -> Contributions:
    """Return the contributions of a linear head; texts without any weight are left out.

    Args:
        usual: what an image has of each text on average: one with more shows the text. None for
            zeros.
    """
    weighted = (weights != 0).any(dim=1)
    columns = (weighted if also is None else weighted | also).nonzero().squeeze(1)
    seen = concepts[:, columns].double()
    values = seen[:, None, :] * weights[columns].T.double()[None]
    return Contributions(
        model.classes_,
        tuple(model.texts_[int(text)] for text in columns),
        values.numpy(),
        offset.double().expand(len(concepts), -1).numpy(),
        (seen != 0).numpy(),
        (seen - (0 if usual is None else usual[columns].double())).numpy(),
    )
