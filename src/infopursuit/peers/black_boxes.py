"""Classifiers of the embeddings themselves, which say nothing of texts.

The logistic regression and the two-layer network of `infopursuit.baselines`, with the face of a
peer: all of a score is offset, and no text is used. They are what explained classifiers give up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from infopursuit.baselines.linear import ITERATIONS
from infopursuit.baselines.logistic import fit_logistic
from infopursuit.baselines.mlp import MLP, MLPSettings
from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from infopursuit.peers.contributions import Contributions
from infopursuit.peers.peer import Peer


class BlackBox(Peer):
    """What a peer without texts does."""

    texts: Sequence[str] | None = None
    text_embeddings = None

    def _explain(self, X: Tensor) -> Contributions:
        scores = self._scores(X).double().numpy()
        n = len(X)
        nothing, none = np.zeros((*scores.shape, 0)), np.zeros((n, 0), dtype=bool)
        return Contributions(self.classes_, (), nothing, scores, none, none)


class EmbeddingProbe(BlackBox):
    """A logistic regression on the embeddings (Radford et al., ICML 2021).

    Args:
        strength: inverse of the penalty, as scikit-learn's C.
    """

    def __init__(self, strength: float = 100.0) -> None:
        self.strength = strength

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        model = LogisticRegression(C=self.strength, max_iter=ITERATIONS)
        self.model_ = fit_logistic(model, X.numpy(), labels.numpy())

    def _scores(self, X: Tensor) -> Tensor:
        return torch.from_numpy(np.log(self.model_.predict_proba(X.numpy()) + 1e-30))


class EmbeddingMLP(BlackBox):
    """A two-layer network on the embeddings; its weights are those best on held-out images.

    Args:
        hidden: width of the hidden layer.
        updates: steps of AdamW, with a cosine decay of the rate to zero.
        learning_rate: at the start.
        weight_decay: decoupled.
        validation_fraction: share of each class's images that the weights are chosen by.
        random_state: of initial weights, order and held-out images.
    """

    def __init__(
        self,
        hidden: int = 512,
        updates: int = 800,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.01,
        validation_fraction: float = 0.1,
        random_state: int = 0,
    ) -> None:
        self.hidden, self.updates, self.learning_rate = hidden, updates, learning_rate
        self.weight_decay, self.validation_fraction = weight_decay, validation_fraction
        self.random_state = random_state

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        names = tuple(str(label) for label in self.classes_)
        images = LabelledImages(tuple(map(str, range(len(X)))), labels, X, names)
        train, held_out = hold_out(images, self.validation_fraction, self.random_state)
        settings = MLPSettings(
            self.hidden, self.updates, 256, self.learning_rate, self.weight_decay, self.random_state
        )
        self.model_ = MLP(settings).fit(train, held_out)

    def _scores(self, X: Tensor) -> Tensor:
        return torch.from_numpy(np.log(self.model_.predict_proba(X).astype(np.float64) + 1e-30))
