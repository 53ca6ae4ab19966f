"""SpLiCE: sparse, non-negative combinations of texts, and a linear head on them.

Bhalla, Oesterling, Srinivas, Calmon and Lakkaraju, "Interpreting CLIP with Sparse Linear Concept
Embeddings (SpLiCE)", NeurIPS 2024. Images and texts are centred and of unit norm, and the code of
an image z over texts C minimises (a Lasso)

    |C' w - z|_2^2 + 2 penalty |w|_1    with w >= 0

What differs from the authors' code. The penalty is not one number (theirs is 0.15 to 0.25) but, for
each number of texts, the one that gives the training images as many on average: decisions rest on
more texts for some images, on fewer for others. Each text's score is in units of its embedding, as
there. The head is a logistic regression. The solver is scikit-learn's coordinate descent, which is
theirs too, with the Gram matrix computed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import enet_path
from torch import Tensor

from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.codes import Centred, CodePeer, logistic_head
from infopursuit.peers.elastic_net import Head
from infopursuit.peers.memory import Memory

# Training images that penalties are chosen on, and the penalties to choose from, as shares of the
# largest that gives an image any text.
SHOWN, SHARES = 60, np.geomspace(0.9, 0.04, 25)
TOLERANCE, ITERATIONS = 1e-4, 500


class SpLiCE(CodePeer):
    """Non-negative sparse codes of images and a logistic regression on them.

    Args:
        texts: m texts.
        text_embeddings: (m, d) of them.
        strength: of the regression, as scikit-learn's C.
        centre: whether means of images and of texts are subtracted first.
        budgets: numbers of texts, on average over images.
        memory: shares the codes of training images with other fits; None for none.

    Attributes:
        penalties_: for each number of texts.
    """

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        strength: float = 10.0,
        centre: bool = True,
        budgets: Sequence[int] = BUDGETS,
        memory: Memory | None = None,
    ) -> None:
        self.texts, self.text_embeddings = texts, text_embeddings
        self.strength, self.centre = strength, centre
        self.budgets, self.memory = budgets, memory

    def _prepare(self, X: Tensor, texts: Tensor) -> None:
        self.space_ = Centred(X, texts, self.centre)
        atoms = np.asfortranarray(self.space_.atoms.T.double().numpy())
        self.atoms_, self.gram_ = atoms, np.ascontiguousarray(atoms.T @ atoms)
        places = np.linspace(0, len(X) - 1, min(SHOWN, len(X))).astype(int)
        shown = self.space_(X)[places].double().numpy()
        penalties = SHARES * np.quantile((shown @ atoms).max(axis=1), 0.5)
        sizes = np.zeros(len(penalties))
        for signal in shown:
            codes = self._path(signal, penalties)
            sizes += (codes > 0).sum(axis=0) / len(shown)
        self.penalties_ = {
            # Sizes grow as penalties shrink.
            count: float(np.interp(count, np.maximum.accumulate(sizes), penalties))
            for count in self.budgets
        }

    def _path(self, signal: np.ndarray, penalties: np.ndarray) -> np.ndarray:
        """(m, p) codes at decreasing penalties, which are d times scikit-learn's."""
        _, codes, _ = enet_path(
            self.atoms_,
            signal,
            l1_ratio=1.0,
            alphas=penalties / len(signal),  # pyright: ignore[reportArgumentType]
            precompute=self.gram_,  # pyright: ignore[reportArgumentType]
            Xy=self.atoms_.T @ signal,
            positive=True,
            check_input=False,
            copy_X=False,
            tol=TOLERANCE,
            max_iter=ITERATIONS,
        )
        return codes

    def _codes(self, X: Tensor, counts: Sequence[int]) -> Mapping[int, Tensor]:
        penalties = np.array([self.penalties_[count] for count in sorted(counts)])
        found = torch.zeros(len(counts), len(X), self.atoms_.shape[1])
        for row, signal in enumerate(self.space_(X).double().numpy()):
            found[:, row] = torch.from_numpy(self._path(signal, penalties).T)
        return dict(zip(sorted(counts), found, strict=True))

    def _head(self, codes: Tensor, X: Tensor, labels: Tensor) -> Head:
        return logistic_head(codes, labels, self.strength)
