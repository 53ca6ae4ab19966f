"""The same t texts for every image: forward selection and a logistic regression.

No paper's model: what a choice of questions for each image has to beat. Orthogonal matching pursuit
of the one-hot labels (`infopursuit.dictionary.forward_selection`) orders the texts; the first t are
asked of every image, and a logistic regression (scikit-learn) weighs the answers, or the scores
themselves, standardised. A decision rests on exactly t texts, whatever the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from infopursuit.answers.rules import ThresholdAnswers
from infopursuit.baselines.logistic import fit_logistic
from infopursuit.dictionary.forward_selection import forward_selection
from infopursuit.peers.binary_answers import Threshold, answers_of, fit_answers
from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.codes import CodePeer
from infopursuit.peers.heads import Head, Standard

ITERATIONS = 1000


class SelectedTexts(CodePeer):
    """A logistic regression on t texts that were selected one by one.

    Args:
        texts: m texts.
        text_embeddings: (m, d) of them.
        answers: `median` or `informative` for yes and no; None for the scores themselves.
        strength: of the regression, as scikit-learn's C.
        budgets: numbers of texts.

    Attributes:
        order_: rows of the texts in the order of their choice.
    """

    answers: Threshold | None

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        answers: Threshold | None = "informative",
        strength: float = 1.0,
        budgets: Sequence[int] = BUDGETS,
    ) -> None:
        self.texts, self.text_embeddings, self.answers = texts, text_embeddings, answers
        self.strength, self.budgets = strength, budgets

    def _prepare(self, X: Tensor, texts: Tensor) -> None:
        self.directions_ = texts
        self.standard_ = Standard.of(X @ texts.T)

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        self.rule_: ThresholdAnswers | None = None
        if self.answers is not None:
            self.rule_ = fit_answers(X, labels, texts, self.answers)
        self._prepare(X, texts)
        self.order_ = self._order(X, labels)
        super()._fit(X, labels, texts)

    def _order(self, X: Tensor, labels: Tensor) -> list[int]:
        return forward_selection(self._seen(X), labels, max(self.budgets))

    def _seen(self, X: Tensor) -> Tensor:
        """(n, m) answers as -1 and 1, or standardised scores."""
        if self.rule_ is None:
            return self.standard_(X @ self.directions_.T)
        return 2 * answers_of(self.rule_, X).float() - 1

    def _codes(self, X: Tensor, counts: Sequence[int]) -> dict[int, Tensor]:
        seen = self._seen(X)
        found = {}
        for count in counts:
            asked = self.order_[:count]
            found[count] = torch.zeros_like(seen)
            found[count][:, asked] = seen[:, asked]
        return found

    def _head(self, codes: Tensor, X: Tensor, labels: Tensor) -> Head:
        asked = (codes != 0).any(dim=0).nonzero().squeeze(1)
        model = LogisticRegression(C=self.strength, max_iter=ITERATIONS)
        fit_logistic(model, codes[:, asked].double().numpy(), labels.numpy())
        found, bias = torch.from_numpy(model.coef_).float(), torch.from_numpy(model.intercept_)
        if len(found) == 1:  # two classes
            found, bias = torch.cat([-found, found]) / 2, torch.cat([-bias, bias]) / 2
        weights = torch.zeros(codes.shape[1], len(found))
        weights[asked] = found.T
        return Head(weights, bias.float())
