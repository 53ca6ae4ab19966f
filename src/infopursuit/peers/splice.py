"""SpLiCE: sparse, non-negative combinations of texts, and a linear head on them.

Bhalla, Oesterling, Srinivas, Calmon and Lakkaraju, "Interpreting CLIP with Sparse Linear Concept
Embeddings (SpLiCE)", NeurIPS 2024. Images and texts are centred and of unit norm, and the code of
an image z over texts C minimises (a Lasso)

    |C' w - z|_2^2 + 2 penalty |w|_1    with w >= 0

What differs from the authors' code. The penalty is not one number (theirs is 0.15 to 0.25) but, for
each number of texts, the one that gives the training images as many on average: decisions rest on
more texts for some images, on fewer for others. Each text's score is in units of its embedding, as
there. The head is a logistic regression. The solver is scikit-learn's coordinate descent, which is
theirs too, on the texts that may matter (`lasso.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.codes import Centred, CodePeer, logistic_head
from infopursuit.peers.heads import Head
from infopursuit.peers.lasso import Lasso
from infopursuit.peers.memory import Memory, remembered

# Training images that penalties are chosen on, and the penalties to choose from, as shares of the
# largest that gives an image any text.
SHOWN, SHARES = 60, np.geomspace(0.9, 0.04, 25)


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
        self.lasso_ = Lasso(self.space_.atoms.double().numpy())
        penalties, sizes = remembered(
            self.memory, lambda: self._sizes(X), "sizes", X, texts, self.centre
        )
        self.penalties_ = {
            count: float(np.interp(count, sizes, penalties)) for count in self.budgets
        }

    def _sizes(self, X: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Penalties, and how many texts each gives on average; these grow as penalties shrink."""
        places = np.linspace(0, len(X) - 1, min(SHOWN, len(X))).astype(int)
        shown = self.space_(X)[places].double().numpy()
        penalties = SHARES * np.quantile((shown @ self.lasso_.atoms.T).max(axis=1), 0.5)
        sizes = np.zeros(len(penalties))
        for signal in shown:
            sizes += (self.lasso_.codes(signal, penalties) > 0).sum(axis=1) / len(shown)
        return penalties, np.maximum.accumulate(sizes)

    def _codes(self, X: Tensor, counts: Sequence[int]) -> Mapping[int, Tensor]:
        penalties = np.array([self.penalties_[count] for count in sorted(counts)])
        found = torch.zeros(len(counts), len(X), len(self.lasso_.atoms))
        for row, signal in enumerate(self.space_(X).double().numpy()):
            found[:, row] = torch.from_numpy(self.lasso_.codes(signal, penalties))
        return dict(zip(sorted(counts), found, strict=True))

    def _head(self, codes: Tensor, X: Tensor, labels: Tensor) -> Head:
        return logistic_head(codes, labels, self.strength)
