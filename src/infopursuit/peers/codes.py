"""Peers that write each image as a sparse combination of texts, and classify the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn import functional

from infopursuit.baselines.logistic import fit_logistic
from infopursuit.peers.contributions import Contributions
from infopursuit.peers.heads import Head
from infopursuit.peers.memory import Memory, remembered
from infopursuit.peers.peer import Peer, linear_contributions

ITERATIONS = 1000
# Of unit-norm scores, as CLIP ends training with.
SCALE = 100.0


class Centred:
    """Images and texts, each less their mean, of unit norm: the gap between the two is gone.

    Args:
        X: training images.
        texts: all texts.
        centre: False leaves both as they are.
    """

    def __init__(self, X: Float[Tensor, "n d"], texts: Float[Tensor, "m d"], centre: bool) -> None:
        nothing = X.new_zeros(X.shape[1])
        self.mean = X.mean(dim=0) if centre else nothing
        self.atoms = functional.normalize(texts - texts.mean(dim=0), dim=1) if centre else texts

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Images as signals."""
        return functional.normalize(X - self.mean, dim=1)


class CodePeer(Peer):
    """A code for each image and number of texts, and a head for each number.

    A subclass gives `_prepare` and `_codes`.

    Attributes:
        heads_: by the number of texts; scores are code W + b.
    """

    budgets: Sequence[int]
    memory: Memory | None = None
    heads_: dict[int, Head]

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        self._prepare(X, texts)
        counts = tuple(sorted(self.budgets))
        # The head changes no code.
        settings = {**self.get_params(deep=False), "strength": None, "memory": None}
        told = [settings[name] for name in sorted(settings) if not name.startswith("text")]
        codes = remembered(
            self.memory, lambda: self._codes(X, counts), type(self).__name__, X, texts, repr(told)
        )
        self.heads_ = {count: self._head(code, X, labels) for count, code in codes.items()}
        self.budgets_ = tuple(sorted(self.heads_))

    def _prepare(self, X: Tensor, texts: Tensor) -> None:
        raise NotImplementedError

    def _codes(self, X: Tensor, counts: Sequence[int]) -> Mapping[int, Float[Tensor, "n m"]]:
        """The code of each image with each number of texts."""
        raise NotImplementedError

    def _head(self, codes: Tensor, X: Tensor, labels: Tensor) -> Head:
        raise NotImplementedError

    @property
    def count(self) -> int:
        """The number of texts that decisions rest on."""
        return max(self.budgets_) if self.budget_ is None else self.budget_

    def decisions_by_budget(self, X) -> dict[int | None, np.ndarray]:
        """The scores at each of `budgets_`, the largest of which is all; images are coded once."""
        codes = self._codes(self._rows(X), self.budgets_)
        found = {t: self.heads_[t](codes[t]).double().numpy() for t in self.budgets_}
        return {**found, None: found[max(self.budgets_)]}

    def _scores(self, X: Tensor) -> Tensor:
        return self.heads_[self.count](self._codes(X, (self.count,))[self.count])

    def _explain(self, X: Tensor) -> Contributions:
        weights, intercepts = self.heads_[self.count]
        codes = self._codes(X, (self.count,))[self.count]
        return linear_contributions(
            self.classes_,
            self.texts_,
            codes,
            weights,
            intercepts.unsqueeze(0),
            (codes != 0).any(dim=0),  # what was asked and never in training counts as asked
        )


def logistic_head(codes: Float[Tensor, "n m"], labels: Int[Tensor, " n"], strength: float) -> Head:
    """A logistic regression on sparse codes; `strength` is scikit-learn's C."""
    model = LogisticRegression(C=strength, max_iter=ITERATIONS)
    fit_logistic(model, csr_matrix(codes.double().numpy()), labels.numpy())
    weights, intercepts = model.coef_, model.intercept_
    if len(weights) == 1:  # two classes
        weights, intercepts = np.vstack([-weights, weights]) / 2, np.r_[-intercepts, intercepts] / 2
    return Head(torch.from_numpy(weights.T).float(), torch.from_numpy(intercepts).float())


def prototype_head(
    atoms: Float[Tensor, "m d"], X: Float[Tensor, "n d"], labels: Int[Tensor, " n"]
) -> Head:
    """Nothing learned but the mean image of each class: the nearest one to the reconstruction.

    The score is `SCALE` times the inner product of reconstruction and prototype, which is linear in
    the code.

    Args:
        atoms: what codes combine.
        X: signals whose class means are the prototypes.
        labels: of them.
    """
    members = functional.one_hot(labels).to(X.dtype)
    means = functional.normalize(members.T @ X / members.sum(dim=0).unsqueeze(1), dim=1)
    return Head(SCALE * atoms @ means.T, X.new_zeros(len(means)))
