"""Res-CBM: a bottleneck that grows by residual concepts.

Shang, Zhou, Zhang, Ni, Yang and Wang, "Incremental Residual Concept Bottleneck Models", CVPR 2024.
What a bottleneck lacks is made up by residual vectors, which mean nothing. One after another, such
a vector is optimised together with the linear head, drawn towards its nearest candidate texts by
the loss

    cross-entropy + weight sum over the s most similar candidates of (1 - cosine)

and is then replaced by the most similar candidate, which joins the bottleneck.

What differs from the authors' code. The bottleneck begins with `begin` texts by forward selection
(theirs: a list of a language model), and grows to the largest number of texts; `at(t)` is the
bottleneck of the first t. A residual vector starts where it lowers the cross-entropy most, along
the first singular vector of its gradient, in place of a random one near the mean concept, and so
needs few steps. There is one residual vector at a time. Scores are standardised over training
images, not within each image, so that each text's contribution is its own. The final head of each
size is a logistic regression (scikit-learn). Every class may use every text of the bottleneck.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.dictionary.forward_selection import forward_selection
from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.elastic_net import ElasticNet
from infopursuit.peers.heads import Head
from infopursuit.peers.selected_texts import SelectedTexts


class ResCBM(SelectedTexts):
    """A logistic regression on t texts, found as residuals one by one.

    Args:
        texts: m texts.
        text_embeddings: (m, d) of them.
        begin: texts to begin with.
        pull: weight of the similarity with candidates.
        nearest: s, candidates that a vector is drawn to.
        updates: steps of Adam for each residual vector.
        learning_rate: of them.
        strength: of the final regression, as scikit-learn's C.
        budgets: numbers of texts.
    """

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        begin: int = 4,
        pull: float = 0.1,
        nearest: int = 5,
        updates: int = 60,
        learning_rate: float = 0.05,
        strength: float = 1.0,
        budgets: Sequence[int] = BUDGETS,
    ) -> None:
        super().__init__(texts, text_embeddings, None, strength, budgets)
        self.begin, self.pull, self.nearest = begin, pull, nearest
        self.updates, self.learning_rate = updates, learning_rate

    def _order(self, X: Tensor, labels: Tensor) -> list[int]:
        seen = self._seen(X)
        wanted = min(max(self.budgets), len(self.directions_))
        order = forward_selection(seen, labels, min(self.begin, wanted))
        centred = X - X.mean(dim=0)
        head = None
        while len(order) < wanted:
            net = ElasticNet(seen[:, order], labels)
            everything = torch.ones(len(order), int(labels.max()) + 1, dtype=torch.bool)
            head = net.refitted(everything, 1e-3, head)
            order.append(self._discovered(centred, labels, head(seen[:, order]), order))
            # The next fit starts from this one, with nothing for the new text.
            head = Head(functional.pad(head.weights, (0, 0, 0, 1)), head.intercepts)
        return order

    def _discovered(
        self,
        centred: Float[Tensor, "n d"],
        labels: Int[Tensor, " n"],
        scores: Float[Tensor, "n c"],
        order: list[int],
    ) -> int:
        """The candidate most similar to the optimised residual vector."""
        free = torch.ones(len(self.directions_), dtype=torch.bool)
        free[order] = False
        candidates = free.nonzero().squeeze(1)
        atoms = functional.normalize(self.directions_ - self.directions_.mean(dim=0), dim=1)
        atoms = atoms[candidates]
        members = functional.one_hot(labels, scores.shape[1]).float()
        gradient = centred.T @ (members - scores.softmax(dim=1)) / len(labels)  # (d, c)
        left, sizes, right = torch.linalg.svd(gradient, full_matrices=False)
        near = atoms @ left[:, 0]
        sign = 1.0 if near.max() >= -near.min() else -1.0  # a text is nearer to one of the two
        vector = (sign * left[:, 0]).requires_grad_()
        spread = (centred @ left[:, 0]).std().clamp_min(1e-8)
        weights = (sign * right[0] * sizes[0] / spread).requires_grad_()
        optimizer = torch.optim.Adam([vector, weights], lr=self.learning_rate)
        for _ in range(self.updates):
            optimizer.zero_grad()
            unit = functional.normalize(vector, dim=0)
            added = (centred @ unit / spread)[:, None] * weights
            loss = functional.cross_entropy(scores + added, labels)
            near = (atoms @ unit).topk(min(self.nearest, len(atoms))).values
            (loss + self.pull * (1 - near).sum()).backward()
            optimizer.step()
        unit = functional.normalize(vector.detach(), dim=0)
        return int(candidates[(atoms @ unit).argmax()])
