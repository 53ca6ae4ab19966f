"""Linear heads on concept scores, and logistic regressions fitted to convergence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from torch import Tensor

# Of the largest derivative at zero weights; scikit-learn's usual tolerance if that is stricter.
SHARE, USUAL = 1e-2, 1e-4
ITERATIONS = 1000


class Standardisation(NamedTuple):
    """Mean and spread of concept scores, by which they are standardised."""

    mean: Float[Tensor, " m"]
    spread: Float[Tensor, " m"]

    @classmethod
    def from_data(cls, concepts: Float[Tensor, "n m"]) -> Standardisation:
        """Take those of training images; a score that never varies gets the spread 1."""
        spread = concepts.std(dim=0, correction=0)
        return cls(concepts.mean(dim=0), torch.where(spread > 1e-8, spread, 1.0))

    def __call__(self, concepts: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        """Standardise scores."""
        return (concepts - self.mean) / self.spread


class LinearHead(NamedTuple):
    """Scores of the classes are z W + b, with `weights` W and `intercepts` b."""

    weights: Float[Tensor, "m c"]
    intercepts: Float[Tensor, " c"]

    @property
    def effective_concepts(self) -> float:
        """NEC: non-zero weights for each class, on average."""
        return (self.weights != 0).sum().item() / self.weights.shape[1]

    def __call__(self, concepts: Float[Tensor, "n m"]) -> Float[Tensor, "n c"]:
        """Score the classes."""
        return concepts @ self.weights + self.intercepts


def logistic_head(
    rows: Float[np.ndarray, "n m"] | csr_matrix, labels: Int[Tensor, " n"], strength: float
) -> LinearHead:
    """Fit a logistic regression with scikit-learn's C = `strength`; two classes get two columns."""
    model = LogisticRegression(C=strength, max_iter=ITERATIONS)
    fit_logistic(model, rows, labels.numpy())
    weights, intercepts = model.coef_, model.intercept_
    if len(weights) == 1:
        weights, intercepts = np.vstack([-weights, weights]) / 2, np.r_[-intercepts, intercepts] / 2
    return LinearHead(torch.from_numpy(weights.T).float(), torch.from_numpy(intercepts).float())


def fit_logistic(
    model: LogisticRegression,
    rows: Float[np.ndarray, "n d"] | csr_matrix,
    labels: Int[np.ndarray, " n"],
) -> LogisticRegression:
    """Fit a multinomial logistic regression to convergence, whatever the number of classes.

    scikit-learn's L-BFGS stops when no partial derivative of the mean loss exceeds `tol`. The
    derivatives at zero weights shrink with the number of classes: with 1,000 they may be below the
    usual 1e-4, so that the fit would end where it began. Here they have to fall to a share of what
    they were. All settings of the model but `tol` are kept, a warm start too.
    """
    return model.set_params(tol=min(USUAL, SHARE * steepest(rows, labels))).fit(rows, labels)


def steepest(rows: Float[np.ndarray, "n d"] | csr_matrix, labels: Int[np.ndarray, " n"]) -> float:
    """Return the largest |derivative| of the mean loss at zero weights and intercepts.

    By the weights of class k it is the mean over images of (1/c - [y = k]) x.
    """
    _, place, counts = np.unique(labels, return_inverse=True, return_counts=True)
    n, c = len(labels), len(counts)
    of_class = csr_matrix((np.ones(n), (place, np.arange(n))), shape=(c, n))
    sums = of_class @ rows
    sums = np.asarray(sums.todense() if isinstance(sums, csr_matrix) else sums, dtype=np.float64)
    weights = sums.sum(axis=0) / c - sums
    intercepts = n / c - counts
    return float(max(np.abs(weights).max(), np.abs(intercepts).max()) / n)
