"""Classifiers of the embeddings themselves: what explained ones give up.

`fit_probe` chooses its penalty by held-out images, as the stage `baselines` does; `EmbeddingProbe`
is a peer: all of a score is offset, and no text is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn import functional

from infopursuit.core.tables import EMBEDDED_CLASSES, embedding_matrix, read_table
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit_study.peers.heads import fit_logistic
from infopursuit_study.peers.peer import Contributions, Peer, Validation

# Inverse strengths of the penalty. Coordinates of unit vectors are small, so weights are large.
STRENGTHS = (1.0, 10.0, 100.0, 1000.0)
ITERATIONS = 2000


def fit_probe(train: LabelledImages, held_out: LabelledImages) -> tuple[LogisticRegression, float]:
    """Fit on `train` with each penalty, choose by `held_out`, fit on both (Radford et al., 2021).

    Each fit starts from the weights of a stronger penalty, and needs fewer steps than from zero.
    L-BFGS is the solver at every size: Newton's method (`newton-cholesky`) is at best as fast, and
    far slower for many columns or classes.

    Returns:
        The model, and the held-out accuracy that its penalty was chosen by.
    """
    (X, y), (held_X, held_y) = (
        (images.embeddings.numpy(), images.labels.numpy()) for images in (train, held_out)
    )
    model = LogisticRegression(max_iter=ITERATIONS, warm_start=True)
    accuracies: dict[float, float] = {}
    for strength in STRENGTHS:
        fit_logistic(model.set_params(C=strength), X, y)
        accuracies[strength] = float(model.score(held_X, held_y))
    best = max(accuracies, key=lambda strength: accuracies[strength])
    fit_logistic(model.set_params(C=best), np.concatenate([X, held_X]), np.concatenate([y, held_y]))
    return model, accuracies[best]


@dataclass(eq=False, repr=False)
class EmbeddingProbe(Peer):
    """A logistic regression on the embeddings, with scikit-learn's C = `strength`."""

    strength: float = 100.0

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        model = LogisticRegression(C=self.strength, max_iter=ITERATIONS)
        self.model_ = fit_logistic(model, X.numpy(), labels.numpy())

    def _scores(self, X: Tensor) -> Tensor:
        return torch.from_numpy(np.log(self.model_.predict_proba(X.numpy()) + 1e-30))

    def _explain(self, X: Tensor) -> Contributions:
        scores = self._scores(X).double().numpy()
        n = len(X)
        nothing, none = np.zeros((*scores.shape, 0)), np.zeros((n, 0), dtype=bool)
        return Contributions(self.classes_, (), nothing, scores, none, np.zeros((n, 0)))


@dataclass(eq=False, repr=False)
class DiscriminantProbe(EmbeddingProbe):
    """Gaussian discriminant analysis: class means and one covariance, shrunk by Ledoit and Wolf.

    The model that ours tends to as it asks in all directions.
    """

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        self.model_ = model.fit(X.double().numpy(), labels.numpy())


def load_class_embeddings(path: str | Path) -> Float[Tensor, "c d"] | None:
    """Read the unit-norm text embeddings of the class names, row i that of label i.

    CLIP's zero-shot classifier predicts the class whose row is nearest to an image. None if the
    file has no rows, since there was no text tower to embed them.
    """
    table = read_table(path, EMBEDDED_CLASSES)
    if not table.num_rows:
        return None
    matrix = torch.from_numpy(embedding_matrix(table, path).astype(np.float32))
    order = torch.from_numpy(table.column("label").to_numpy().copy()).argsort()
    return functional.normalize(matrix[order], dim=1)
