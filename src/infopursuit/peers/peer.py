"""The face of every peer, by scikit-learn's conventions.

A peer is made with texts and their embeddings and is fitted on embeddings of images with labels.
Its decisions rest on texts: `explain` says how much each adds. Where a peer can do with fewer
texts, `at(t)` is the same model whose decisions rest on t: for a linear head, t weights for each
class on average (the number of effective concepts, NEC, of Srivastava et al., "VLG-CBM", NeurIPS
2024); for a pursuit, t texts for each image.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, TypeVar, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.datasets.rows import UnitRows
from infopursuit.estimators.dictionary import Texts
from infopursuit.estimators.inputs import encoded_labels
from infopursuit.peers.contributions import Contributions

Model = TypeVar("Model", bound="Peer")


class Peer(ClassifierMixin, BaseEstimator):
    """What all peers do; a subclass gives `_fit`, `_scores` and `_explain`.

    Attributes:
        classes_: (c,) labels.
        n_features_in_: d.
        budgets_: the numbers of texts that `at` takes; empty where the peer has no such choice.
        texts_: the texts that it was given, or kept.
        budget_: the one that decisions rest on; None for all the model has.
        facts_: what else the fit has to tell, by name; empty for most.
    """

    texts: Sequence[str] | None
    text_embeddings: Any
    classes_: np.ndarray
    texts_: tuple[str, ...]
    n_features_in_: int
    budgets_: tuple[int, ...] = ()
    budget_: int | None = None
    facts_: dict[str, Any]
    # Whether `fit` makes use of held-out images, to calibrate or to select weights.
    learns_from_validation = False

    def fit(self: Model, X: Any, y: Any, validation: tuple[Any, Any] | None = None) -> Model:
        """Learn from embeddings (n, d) of unit norm, and labels (n,).

        Args:
            X: the embeddings.
            y: the labels.
            validation: (X, y) of held-out images, for peers that `learns_from_validation`; None
                for a share of these.

        Raises:
            InputError, ValueError: an input is malformed, there is a single class, or images and
                texts are of different width.
        """
        rows = UnitRows(X, "X")
        check_consistent_length(np.empty(len(rows)), y)
        self.classes_, labels = encoded_labels(y)
        if len(self.classes_) < 2:
            raise InputError(f"y has {len(self.classes_)} class; expected at least two")
        self.n_features_in_ = rows.width
        self.budget_, self.budgets_, self.facts_ = None, (), {}
        self.validation_ = validation
        if self.text_embeddings is None:
            self.texts_, texts = (), torch.empty(0, rows.width)
        else:
            given = Texts(self.texts, self.text_embeddings)
            self.texts_, texts = given.texts, given.embeddings.tensor()
        if texts.shape[1] != rows.width:
            raise InputError(
                f"X has {rows.width} columns and text_embeddings {texts.shape[1]}; expected one "
                "CLIP for both"
            )
        self._fit(rows.tensor(), labels, texts)
        return self

    def for_a_try(self: Model, count: int) -> Model:
        """A peer that is not fitted, as settings are tried: all that is not looked at is left out.

        Args:
            count: the number of texts at which it will be scored, where it has such a number.
        """
        if "budgets" not in self.get_params():
            return self
        return cast(Model, clone(self)).set_params(budgets=(count,))

    def at(self: Model, count: int | None) -> Model:
        """The model whose decisions rest on `count` texts, None for all; nothing is fitted anew.

        Raises:
            InputError: it is none of `budgets_`.
        """
        check_is_fitted(self, "classes_")
        if count is not None and count not in self.budgets_:
            known = ", ".join(map(str, self.budgets_)) or "none: it has one form only"
            raise InputError(f"{type(self).__name__}.at({count}): expected one of {known}")
        fewer = copy.copy(self)
        fewer.budget_ = count
        return fewer

    def decision_function(self, X: Any) -> Float[np.ndarray, "n c"]:
        """Scores of the classes: logarithms of probabilities, up to a constant for each row."""
        return self._scores(self._rows(X)).double().numpy()

    def decisions_by_budget(self, X: Any) -> dict[int | None, Float[np.ndarray, "n c"]]:
        """The scores at each of `budgets_`, and by None with all texts that the model has."""
        rows = self._rows(X)
        counts = *self.budgets_, None
        return {t: self.at(t)._scores(rows).double().numpy() for t in counts}

    def predict_proba(self, X: Any) -> Float[np.ndarray, "n c"]:
        """Probabilities of the classes."""
        scores = torch.from_numpy(self.decision_function(X))
        return scores.softmax(dim=1).numpy()

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row; (n,)."""
        best = self.decision_function(X).argmax(axis=1)
        return self.classes_[best]

    def explain(self, X: Any) -> Contributions:
        """What each text adds to the score of each class, for each row.

        Takes n c m numbers: explain a few hundred rows at a time.
        """
        return self._explain(self._rows(X))

    def _rows(self, X: Any) -> Float[Tensor, "n d"]:
        check_is_fitted(self, "classes_")
        rows = UnitRows(X, "X")
        if rows.width != self.n_features_in_:
            raise InputError(
                f"X has {rows.width} columns; the model was fitted on {self.n_features_in_}"
            )
        return rows.tensor()

    def _fit(
        self, X: Float[Tensor, "n d"], labels: Int[Tensor, " n"], texts: Float[Tensor, "m d"]
    ) -> None:
        raise NotImplementedError

    def _scores(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        raise NotImplementedError

    def _explain(self, X: Float[Tensor, "n d"]) -> Contributions:
        raise NotImplementedError


def linear_contributions(
    classes: np.ndarray,
    texts: Sequence[str],
    concepts: Float[Tensor, "n m"],
    weights: Float[Tensor, "m c"],
    offset: Float[Tensor, "#n c"],
    also: Bool[Tensor, " m"] | None = None,
    usual: Float[Tensor, " m"] | None = None,
) -> Contributions:
    """Those of a linear head; texts without any weight are left out.

    Args:
        classes: (c,) labels.
        texts: m of them.
        concepts: what each image is to each text; zero where a decision does not rest on the text.
        weights: of the head.
        offset: intercepts, and what else has no words.
        also: texts to tell of all the same; None for none.
        usual: what an image is to each text on average: one that is more shows the text. None for
            zeros.
    """
    told = (weights != 0).any(dim=1)
    kept = (told if also is None else told | also).nonzero().squeeze(1)
    shown = concepts[:, kept].double()
    values = shown[:, None, :] * weights[kept].T.double()[None]
    return Contributions(
        classes,
        tuple(texts[int(text)] for text in kept),
        values.numpy(),
        offset.double().expand(len(concepts), -1).numpy(),
        (shown != 0).numpy(),
        (shown > (0 if usual is None else usual[kept].double())).numpy(),
    )
