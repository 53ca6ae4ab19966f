"""Peers that write each image as a sparse combination of texts, and classify the code.

- `IPOMP`: Chattopadhyay, Pilgrim and Vidal, "Information Maximization Perspective of Orthogonal
  Matching Pursuit with Applications to Explainable AI", NeurIPS 2023.
- `SpLiCE`: Bhalla, Oesterling, Srinivas, Calmon and Lakkaraju, "Interpreting CLIP with Sparse
  Linear Concept Embeddings (SpLiCE)", NeurIPS 2024.

lab/benchmark.md says in full what differs from the authors' code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse import csr_matrix
from torch import Tensor
from torch.nn import functional

from infopursuit_study.peers.heads import LinearHead, logistic_head
from infopursuit_study.peers.lasso import Lasso
from infopursuit_study.peers.matching_pursuit import coefficients, matching_pursuit
from infopursuit_study.peers.peer import (
    BUDGETS,
    Contributions,
    TextPeer,
    Validation,
    linear_contributions,
)

# SpLiCE: training images that penalties are chosen on, and the penalties to choose from, as shares
# of the largest that gives an image any text.
SAMPLE, SHARES = 60, np.geomspace(0.9, 0.04, 25)


class CodePeer(TextPeer):
    """A code for each image and number of texts, and a head for each number.

    A subclass defines `_prepare` and `_codes`.

    Attributes:
        heads_: by the number of texts; scores are code W + b.
    """

    strength: float
    budgets: Sequence[int]
    heads_: dict[int, LinearHead]

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        self._prepare(X, texts)
        self.budgets_ = tuple(sorted(self.budgets))
        self.heads_ = {
            count: logistic_head(csr_matrix(code.double().numpy()), labels, self.strength)
            for count, code in self._codes(X, self.budgets_).items()
        }

    def _prepare(self, X: Tensor, texts: Tensor) -> None:
        raise NotImplementedError

    def _codes(self, X: Tensor, counts: Sequence[int]) -> Mapping[int, Float[Tensor, "n m"]]:
        raise NotImplementedError

    def decisions_by_budget(self, X: Any) -> dict[int | None, np.ndarray]:
        """Return the scores at each of `budgets_`, the largest of which is all."""
        codes = self._codes(self._rows(X), self.budgets_)  # images are coded once
        scores = {t: self.heads_[t](codes[t]).double().numpy() for t in self.budgets_}
        return {**scores, None: scores[max(self.budgets_)]}

    def _scores(self, X: Tensor) -> Tensor:
        return self.heads_[self.count](self._codes(X, (self.count,))[self.count])

    def _explain(self, X: Tensor) -> Contributions:
        weights, intercepts = self.heads_[self.count]
        codes = self._codes(X, (self.count,))[self.count]
        # A text that was asked now and never in training counts as asked.
        also = (codes != 0).any(dim=0)
        return linear_contributions(self, codes, weights, intercepts.unsqueeze(0), also)


class _Centred:
    """Images and texts, each less their mean, of unit norm: the gap between the two is gone.

    `centre=False` leaves both as they are.
    """

    def __init__(self, X: Float[Tensor, "n d"], texts: Float[Tensor, "m d"], centre: bool) -> None:
        nothing = X.new_zeros(X.shape[1])
        self.mean = X.mean(dim=0) if centre else nothing
        self.atoms = functional.normalize(texts - texts.mean(dim=0), dim=1) if centre else texts

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return images as signals."""
        return functional.normalize(X - self.mean, dim=1)


@dataclass(eq=False, repr=False)
class IPOMP(CodePeer):
    """IP-OMP: texts chosen for each image by matching pursuit, and a classifier of coefficients.

    The queries about an image are its inner products with texts. Asking for the most information
    about the image, if images are Gaussian, is orthogonal matching pursuit with normalised atoms.
    """

    strength: float = 10.0
    centre: bool = True
    budgets: Sequence[int] = BUDGETS

    def _prepare(self, X: Tensor, texts: Tensor) -> None:
        self.space_ = _Centred(X, texts, self.centre)
        self.gram_ = self.space_.atoms @ self.space_.atoms.T

    def _codes(self, X: Tensor, counts: Sequence[int]) -> Mapping[int, Tensor]:
        atoms = self.space_.atoms
        signals = self.space_(X)
        chosen = matching_pursuit(signals, atoms, max(counts), self.gram_)
        return {
            count: torch.zeros(len(X), len(atoms)).scatter_(
                1, chosen.order[:, :count], coefficients(chosen, atoms, count)
            )
            for count in counts
        }


@dataclass(eq=False, repr=False)
class SpLiCE(CodePeer):
    """Non-negative sparse codes of images and a logistic regression on them.

    Images and texts are centred and of unit norm, and the code of an image z over texts C minimises
    |C' w - z|_2^2 + 2 penalty |w|_1 with w >= 0. The penalty of each number of texts is the one
    that gives the training images this many on average.

    Attributes:
        penalties_: for each number of texts.
    """

    strength: float = 10.0
    budgets: Sequence[int] = BUDGETS

    def _prepare(self, X: Tensor, texts: Tensor) -> None:
        self.space_ = _Centred(X, texts, centre=True)
        self.lasso_ = Lasso(self.space_.atoms.double().numpy())
        penalties, sizes = self._sizes(X)
        self.penalties_ = {t: float(np.interp(t, sizes, penalties)) for t in self.budgets}

    def _sizes(self, X: Tensor) -> tuple[np.ndarray, np.ndarray]:
        places = np.linspace(0, len(X) - 1, min(SAMPLE, len(X))).astype(int)
        sample = self.space_(X)[places].double().numpy()
        penalties = SHARES * np.quantile((sample @ self.lasso_.atoms.T).max(axis=1), 0.5)
        sizes = np.zeros(len(penalties))
        for signal in sample:
            sizes += (self.lasso_.codes(signal, penalties) > 0).sum(axis=1) / len(sample)
        return penalties, np.maximum.accumulate(sizes)

    def _codes(self, X: Tensor, counts: Sequence[int]) -> Mapping[int, Tensor]:
        penalties = np.array([self.penalties_[count] for count in sorted(counts)])
        codes = torch.zeros(len(counts), len(X), len(self.lasso_.atoms))
        for row, signal in enumerate(self.space_(X).double().numpy()):
            codes[:, row] = torch.from_numpy(self.lasso_.codes(signal, penalties))
        return dict(zip(sorted(counts), codes, strict=True))
