"""Logistic regressions that are fitted to their end, whatever the number of classes.

scikit-learn's L-BFGS stops where no partial derivative of the mean loss exceeds `tol`. The
derivatives at zero weights shrink with the number of classes: with 1,000 they may be below the
usual 1e-4, so that the fit would end where it began. Here they have to fall to a share of what
they were.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

# Of the largest derivative at zero weights; scikit-learn's usual tolerance where that is stricter.
SHARE, USUAL = 1e-2, 1e-4


def fit_logistic(
    model: LogisticRegression,
    rows: Float[np.ndarray, "n d"] | csr_matrix,
    labels: Int[np.ndarray, " n"],
) -> LogisticRegression:
    """Fit a multinomial logistic regression, from its weights where it has a warm start.

    Args:
        model: all its settings but `tol` are kept.
        rows: dense or sparse.
        labels: any distinct whole numbers for the classes.
    """
    return model.set_params(tol=min(USUAL, SHARE * steepest(rows, labels))).fit(rows, labels)


def steepest(rows: Float[np.ndarray, "n d"] | csr_matrix, labels: Int[np.ndarray, " n"]) -> float:
    """The largest |derivative| of the mean loss by a weight or an intercept, where all are zero.

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
