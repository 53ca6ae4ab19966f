"""IP-OMP: orthogonal matching pursuit in CLIP's space, as Information Pursuit.

Chattopadhyay, Pilgrim and Vidal, "Information Maximization Perspective of Orthogonal Matching
Pursuit with Applications to Explainable AI", NeurIPS 2023. The queries about an image are its
inner products with texts. Asking for the most information about the image, where images are
Gaussian, is OMP with normalised atoms (`matching_pursuit.py`). After t texts, a linear
classifier of their coefficients predicts the class.

What differs from the authors' code. Images and texts may be centred first (`centre`), which removes
the gap between the two; their dictionary is used as it is. The head is one logistic regression for
each number of texts. Without a learned head (`learned=False`) the class is that whose mean training
image is nearest to the reconstruction, since names of classes have no embeddings in every task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.codes import Centred, CodePeer, logistic_head, prototype_head
from infopursuit.peers.heads import Head
from infopursuit.peers.matching_pursuit import coefficients, matching_pursuit
from infopursuit.peers.memory import Memory


class IPOMP(CodePeer):
    """Texts chosen for each image by matching pursuit, and a classifier of their coefficients.

    Args:
        texts: m texts.
        text_embeddings: (m, d) of them.
        learned: a logistic regression on the coefficients; False for the nearest mean image.
        strength: of that regression, as scikit-learn's C.
        centre: whether means of images and of texts are subtracted first.
        normalised: IP-OMP's rule; False is plain OMP.
        budgets: numbers of texts.
        memory: shares the codes of training images with other fits; None for none.
    """

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        learned: bool = True,
        strength: float = 10.0,
        centre: bool = True,
        normalised: bool = True,
        budgets: Sequence[int] = BUDGETS,
        memory: Memory | None = None,
    ) -> None:
        self.texts, self.text_embeddings = texts, text_embeddings
        self.learned, self.strength, self.centre = learned, strength, centre
        self.normalised, self.budgets, self.memory = normalised, budgets, memory

    def _prepare(self, X: Tensor, texts: Tensor) -> None:
        self.space_ = Centred(X, texts, self.centre)
        self.gram_ = self.space_.atoms @ self.space_.atoms.T

    def _codes(self, X: Tensor, counts: Sequence[int]) -> Mapping[int, Tensor]:
        atoms = self.space_.atoms
        signals = self.space_(X)
        found = matching_pursuit(signals, atoms, max(counts), self.normalised, self.gram_)
        return {
            count: torch.zeros(len(X), len(atoms)).scatter_(
                1, found.order[:, :count], coefficients(found, atoms, count)
            )
            for count in counts
        }

    def _head(self, codes: Tensor, X: Tensor, labels: Tensor) -> Head:
        if self.learned:
            return logistic_head(codes, labels, self.strength)
        return prototype_head(self.space_.atoms, self.space_(X), labels)
