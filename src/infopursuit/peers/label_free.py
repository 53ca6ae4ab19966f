"""Label-free concept bottleneck models.

Oikarinen, Das, Nguyen and Weng, "Label-free Concept Bottleneck Models", ICLR 2023. Concepts are
filtered, a projection W_c of backbone features learns to act like CLIP's scores of
the concepts, by the similarity of cubed, standardised activations, and a
sparse linear layer is fitted by GLM-SAGA with ratio 0.99.

What differs from the authors' code.

- Backbone and CLIP are one here. The projection then has a closed form: the rows of W_c are the
  text embeddings, with which the activations are CLIP's scores, and the similarity of each concept
  is 1, its maximum. So none is dropped for a low similarity after training.
- Of the filters, near-duplicates of an earlier concept are dropped (cosine above 0.9, here of CLIP
  texts alone; the authors average it with a sentence encoder). The filter by length of a text, and
  that by similarity to class names, are choices of the universe and left to it. The cutoff of the
  five largest activations depends on the CLIP; None drops nothing.
- The penalty is the one that gives the wanted number of effective concepts, and weights are then
  truncated, as VLG-CBM (Srivastava et al., NeurIPS 2024) evaluates this model. The authors fix the
  penalty, which gives 25 to 35.
- The solver is `elastic_net.py`, for the same minimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.heads import Standard
from infopursuit.peers.memory import Memory
from infopursuit.peers.sparse_logistic import SparseHeadPeer

# Images whose activations the cutoff looks at.
TOP = 5


class LabelFreeCBM(SparseHeadPeer):
    """Filtered concepts, CLIP's scores of them, and a truncated sparse head.

    Args:
        texts: m texts.
        text_embeddings: (m, d) of them.
        ratio: share of the sparsifying penalty that is on absolute values.
        similarity_cutoff: texts with a larger cosine with an earlier one are dropped.
        activation_cutoff: texts whose five largest scores in training are less on average are
            dropped; None for none.
        budgets: numbers of effective concepts.
        memory: shares the path of penalties with other fits; None for none.

    Attributes:
        kept_: rows of the texts that were not dropped.
    """

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        ratio: float = 0.99,
        similarity_cutoff: float = 0.9,
        activation_cutoff: float | None = None,
        budgets: Sequence[int] = BUDGETS,
        memory: Memory | None = None,
    ) -> None:
        self.texts, self.text_embeddings, self.ratio = texts, text_embeddings, ratio
        self.similarity_cutoff, self.activation_cutoff = similarity_cutoff, activation_cutoff
        self.budgets, self.memory = budgets, memory

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        kept = without_duplicates(texts, self.similarity_cutoff)
        if self.activation_cutoff is not None:
            scores = X @ texts[kept].T
            largest = scores.topk(min(TOP, len(X)), dim=0).values.mean(dim=0)
            kept = kept[largest >= self.activation_cutoff]
        self.kept_ = kept
        self.texts_ = tuple(self.texts_[text] for text in kept.tolist())
        self.directions_ = texts[kept]
        self.standard_ = Standard.of(X @ self.directions_.T)
        self.heads_ = self._truncated_path(self.concepts(X), labels)
        self.budgets_ = tuple(sorted(self.heads_))


def without_duplicates(texts: Float[Tensor, "m d"], cutoff: float) -> Int[Tensor, " k"]:
    """The rows of texts that no earlier kept text resembles with a cosine above the cutoff."""
    close = texts @ texts.T > cutoff
    kept = torch.ones(len(texts), dtype=torch.bool)
    for row in range(1, len(texts)):
        kept[row] = not (close[row, :row] & kept[:row]).any()
    return kept.nonzero().squeeze(1)
