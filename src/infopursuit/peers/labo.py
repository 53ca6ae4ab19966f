"""LaBo: language in a bottle.

Yang, Panagopoulou, Zhou, Jin, Callison-Burch and Yatskar, "Language in a Bottle: Language Model
Guided Concept Bottlenecks for Interpretable Image Classification", CVPR 2023. For each class, k of
its candidate texts are chosen greedily by a submodular score

    F(S) = a sum over c in S of D(c) + b sum over candidates c1 of max over c2 in S of cos(c1, c2)

where D(c) is the negative entropy of the class given the text, from mean similarities of text and
training images, and the second term is coverage. All chosen texts are the bottleneck.
The scores of the classes are 100 x E' softmax(W), with W one where a text was chosen for the class
and zero elsewhere to begin with, and W is trained by cross-entropy.

What differs from the authors' code.

- Candidates of a class are what `candidates` says, such as the texts that a knowledge table says
  are true of it, in place of GPT-3's sentences; or the `pool` texts whose mean similarity with the
  class exceeds that with all images most.
- D is scaled to [0, 1] over the candidates, and coverage divided by their number, so that one
  weight `coverage` means the same for all tasks. The authors set a and b for each data set.
- Softmax is over the texts of a class, as their code has it (`asso_opt.py`); the paper writes a sum
  over classes.
- Training is full-batch. After it, the largest weights are kept, t for each class on average, and
  made to sum to one again: for other peers the number of effective concepts is bounded, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.contributions import Contributions
from infopursuit.peers.peer import Peer, linear_contributions

SCALE = 100.0


class LaBo(Peer):
    """Texts chosen for each class, and weights that are a softmax.

    Args:
        texts: m texts.
        text_embeddings: (m, d) of them.
        candidates: for each class, some of the texts; None for those most particular to it.
        pool: how many candidates a class has where they are not given.
        coverage: what coverage counts beside discriminability.
        learning_rate: of Adam.
        updates: steps of Adam.
        budgets: numbers of texts for each class.

    Attributes:
        weights_: by the number of texts, (m, c) with columns that sum to one.
    """

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        candidates: Mapping[str, Sequence[str]] | None = None,
        pool: int = 50,
        coverage: float = 1.0,
        learning_rate: float = 0.1,
        updates: int = 150,
        budgets: Sequence[int] = BUDGETS,
    ) -> None:
        self.texts, self.text_embeddings, self.candidates = texts, text_embeddings, candidates
        self.pool, self.coverage, self.learning_rate = pool, coverage, learning_rate
        self.updates, self.budgets = updates, budgets

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        self.directions_ = texts
        self.mean_ = X.mean(dim=0)
        members = functional.one_hot(labels).float()
        similar = texts @ X.T @ members / members.sum(dim=0)  # (m, c) mean over a class's images
        told = discriminability(similar)
        orders = []
        for place, candidates in enumerate(self._candidates(similar)):
            order = submodular_order(
                told[candidates], texts[candidates], self.coverage, max(self.budgets)
            )
            orders.append((place, candidates[order]))
        self.weights_: dict[int, Tensor] = {}
        for count in sorted(self.budgets):
            start = torch.zeros(len(texts), members.shape[1])
            for place, order in orders:
                start[order[:count], place] = 1.0
            self.weights_[count] = self._trained(X, labels, start, count)
        self.budgets_ = tuple(self.weights_)

    def _candidates(self, similar: Float[Tensor, "m c"]) -> list[Int[Tensor, " p"]]:
        places = {text: place for place, text in enumerate(self.texts_)}
        particular = similar - similar.mean(dim=1, keepdim=True)
        found = []
        for column, label in enumerate(self.classes_.tolist()):
            given = [] if self.candidates is None else self.candidates.get(label, [])
            rows = [places[text] for text in given if text in places]
            if not rows:
                size = min(self.pool, len(similar))
                rows = particular[:, column].topk(size).indices.tolist()
            found.append(torch.tensor(rows))
        return found

    def _trained(self, X: Tensor, labels: Tensor, start: Tensor, count: int) -> Tensor:
        """Softmax weights after training, cut to `count` texts for each class."""
        used = start.any(dim=1).nonzero().squeeze(1)
        atoms, logits = self.directions_[used], start[used].clone().requires_grad_()
        optimizer = torch.optim.Adam([logits], lr=self.learning_rate)
        for _ in range(self.updates):
            optimizer.zero_grad()
            scores = SCALE * X @ (atoms.T @ logits.softmax(dim=0))
            functional.cross_entropy(scores, labels).backward()
            optimizer.step()
        weights = logits.detach().softmax(dim=0)
        kept = weights.flatten().topk(min(count * weights.shape[1], weights.numel())).indices
        cut = torch.zeros_like(weights).flatten()
        cut[kept] = weights.flatten()[kept]
        cut = cut.view_as(weights)
        # A class all of whose weights are small keeps its largest.
        best = torch.zeros_like(weights).scatter_(0, weights.argmax(dim=0, keepdim=True), 1.0)
        cut = torch.where(cut.any(dim=0), cut, best)
        whole = torch.zeros(len(start), weights.shape[1])
        whole[used] = cut / cut.sum(dim=0)
        return whole

    def _weights(self) -> Tensor:
        return self.weights_[max(self.budgets_) if self.budget_ is None else self.budget_]

    def _scores(self, X: Tensor) -> Tensor:
        return SCALE * X @ self.directions_.T @ self._weights()

    def _explain(self, X: Tensor) -> Contributions:
        return linear_contributions(
            self.classes_,
            self.texts_,
            SCALE * X @ self.directions_.T,
            self._weights(),
            torch.zeros(1, len(self.classes_)),
            usual=SCALE * self.directions_ @ self.mean_,
        )


def discriminability(similar: Float[Tensor, "m c"]) -> Float[Tensor, " m"]:
    """D of each text: sum over classes of p log p, with p its similarities divided by their sum.

    Similarities below zero count as none.
    """
    shares = similar.clamp_min(1e-9)
    shares = shares / shares.sum(dim=1, keepdim=True)
    return -torch.special.entr(shares).sum(dim=1)


def submodular_order(
    told: Float[Tensor, " p"], texts: Float[Tensor, "p d"], coverage: float, count: int
) -> Int[Tensor, " k"]:
    """Candidates in the order in which each adds most to F; the first of equals.

    Args:
        told: D of each candidate.
        texts: their embeddings, of unit norm.
        coverage: b, for a = 1.
        count: at most so many.
    """
    spread = (told.max() - told.min()).clamp_min(1e-12)
    scaled = (told - told.min()) / spread
    close = texts @ texts.T
    covered = torch.zeros(len(told))
    chosen: list[int] = []
    while len(chosen) < min(count, len(told)):
        gain = torch.maximum(close, covered[:, None]).sum(dim=0) - covered.sum()
        gain = scaled + coverage * gain / len(told)
        gain[chosen] = -torch.inf
        chosen.append(int(gain.argmax()))
        covered = torch.maximum(covered, close[:, chosen[-1]])
    return torch.tensor(chosen)
