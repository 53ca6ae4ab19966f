"""Peers whose scores are linear in the similarities of image and texts.

- `SparseLogistic`: no paper's model; the sparse head of the following ones, at its best.
- `LabelFreeCBM`: Oikarinen, Das, Nguyen and Weng, "Label-free Concept Bottleneck Models", ICLR
  2023.
- `LaBo`: Yang, Panagopoulou, Zhou, Jin, Callison-Burch and Yatskar, "Language in a Bottle: Language
  Model Guided Concept Bottlenecks for Interpretable Image Classification", CVPR 2023.
- `ZeroShot`: Radford et al., "Learning Transferable Visual Models From Natural Language
  Supervision", ICML 2021.

lab/benchmark.md says in full what differs from the authors' code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit_study.peers.elastic_net import ElasticNet, at_effective_concepts
from infopursuit_study.peers.heads import LinearHead, Standardisation
from infopursuit_study.peers.peer import (
    BUDGETS,
    Contributions,
    TextPeer,
    Validation,
    linear_contributions,
)

# Cosines are multiplied by this, as at the end of CLIP's training.
SCALE = 100.0


class SparseHeadPeer(TextPeer):
    """Standardised concept scores and a sparse linear head; a subclass fits the head.

    Attributes:
        directions_: (m, d) what the scores are cosines with.
        standardisation_: of the scores.
        heads_: by the number of effective concepts; the largest is the whole model's.
    """

    budgets: Sequence[int]
    heads_: dict[int, LinearHead]

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        self.directions_ = texts
        self.standardisation_ = Standardisation.from_data(X @ texts.T)
        net = ElasticNet(self.concepts(X), labels)
        path = net.path(max(self.budgets))
        self.heads_ = {
            count: self._head_of(net, at_effective_concepts(path, count)) for count in self.budgets
        }
        self.budgets_ = tuple(sorted(self.heads_))

    def _head_of(self, net: ElasticNet, sparse: LinearHead) -> LinearHead:
        """Return the head of a number of texts, given that of the path, truncated."""
        return sparse

    def concepts(self, X: Tensor) -> Tensor:
        """Return standardised concept scores (n, m)."""
        return self.standardisation_(X @ self.directions_.T)

    @property
    def head(self) -> LinearHead:
        """The linear head that decisions rest on."""
        return self.heads_[self.count]

    def _scores(self, X: Tensor) -> Tensor:
        return self.head(self.concepts(X))

    def _explain(self, X: Tensor) -> Contributions:
        weights, intercepts = self.head
        return linear_contributions(self, self.concepts(X), weights, intercepts.unsqueeze(0))


@dataclass(eq=False, repr=False)
class SparseLogistic(SparseHeadPeer):
    """Logistic regression on the scores of few concepts.

    The support is that of the elastic net with the wanted number of weights; they are then fitted
    again with a ridge alone, since the penalty that made them sparse also shrinks them (the relaxed
    lasso of Meinshausen, 2007).

    Args:
        ridge: half of it weighs the squares of the weights that are left.
        budgets: numbers of effective concepts.
    """

    ridge: float = 1e-3
    budgets: Sequence[int] = BUDGETS

    def _head_of(self, net: ElasticNet, sparse: LinearHead) -> LinearHead:
        return net.refitted(sparse.weights != 0, self.ridge, sparse)


@dataclass(eq=False, repr=False)
class LabelFreeCBM(SparseHeadPeer):
    """Filtered concepts, CLIP's scores of them, and a truncated sparse head.

    The authors train a projection of backbone features towards CLIP's scores; with CLIP as the
    backbone, the text embeddings are that projection.
    """

    similarity_cutoff: float = 0.9
    budgets: Sequence[int] = BUDGETS

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        rows = without_duplicates(texts, self.similarity_cutoff)
        self.texts_ = tuple(self.texts_[text] for text in rows.tolist())
        super()._fit(X, labels, texts[rows], validation)


def without_duplicates(texts: Float[Tensor, "m d"], cutoff: float) -> Int[Tensor, " k"]:
    """Return the rows of texts whose cosines with all earlier kept texts are within the cutoff."""
    close = texts @ texts.T > cutoff
    distinct = torch.ones(len(texts), dtype=torch.bool)
    for row in range(1, len(texts)):
        distinct[row] = not (close[row, :row] & distinct[:row]).any()
    return distinct.nonzero().squeeze(1)


class _ClassTexts(TextPeer):
    """Scores 100 X E' W, with columns of W that sum to one; explained against the mean image."""

    directions_: Tensor
    mean_: Tensor

    def _weights(self) -> Float[Tensor, "m c"]:
        raise NotImplementedError

    def _scores(self, X: Tensor) -> Tensor:
        return SCALE * X @ self.directions_.T @ self._weights()

    def _explain(self, X: Tensor) -> Contributions:
        return linear_contributions(
            self,
            SCALE * X @ self.directions_.T,
            self._weights(),
            torch.zeros(1, len(self.classes_)),
            usual=SCALE * self.directions_ @ self.mean_,
        )


@dataclass(eq=False, repr=False)
class ZeroShot(_ClassTexts):
    """The class whose name is nearest to the image; `texts` are the names of the classes.

    Nothing is learned from images but their mean, for explanations.
    """

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        places = [self.texts_.index(name) for name in self.classes_.tolist()]
        self.directions_, self.mean_ = texts, X.mean(dim=0)
        self.weights_ = functional.one_hot(torch.tensor(places), len(texts)).float().T

    def _weights(self) -> Tensor:
        return self.weights_


@dataclass(eq=False, repr=False)
class LaBo(_ClassTexts):
    """Texts chosen for each class by a submodular score, and weights that are a softmax.

    For each class, texts S are chosen greedily among its candidates to maximise

        F(S) = sum over c in S of D(c)
               + b mean over candidates c1 of max over c2 in S of cos(c1, c2)

    with D the `discriminability`, scaled to [0, 1]. Then W in scores 100 x E' softmax(W) starts
    with one for the chosen texts of a class and zero elsewhere, and is trained by cross-entropy;
    at last t weights for each class on average are kept.

    Args:
        candidates: for each class, texts that are true of it.

    Attributes:
        weights_: by the number of texts, (m, c) with columns that sum to one.
    """

    candidates: Mapping[str, Sequence[str]] | None = None
    coverage: float = 1.0
    learning_rate: float = 0.1
    updates: int = 150
    budgets: Sequence[int] = BUDGETS

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        self.directions_, self.mean_ = texts, X.mean(dim=0)
        members = functional.one_hot(labels).float()
        similar = texts @ X.T @ members / members.sum(dim=0)  # (m, c) mean over a class's images
        informative, given = discriminability(similar), self.candidates or {}
        orders = []
        for place, label in enumerate(self.classes_.tolist()):
            candidates = torch.tensor([self.texts_.index(text) for text in given[label]])
            order = submodular_order(
                informative[candidates], texts[candidates], self.coverage, max(self.budgets)
            )
            orders.append((place, candidates[order]))
        self.weights_: dict[int, Tensor] = {}
        for count in sorted(self.budgets):
            start = torch.zeros(len(texts), members.shape[1])
            for place, order in orders:
                start[order[:count], place] = 1.0
            self.weights_[count] = self._trained(X, labels, start, count)
        self.budgets_ = tuple(self.weights_)

    def _trained(self, X: Tensor, labels: Tensor, start: Tensor, count: int) -> Tensor:
        used = start.any(dim=1).nonzero().squeeze(1)
        atoms, logits = self.directions_[used], start[used].clone().requires_grad_()
        optimizer = torch.optim.Adam([logits], lr=self.learning_rate)
        for _ in range(self.updates):
            optimizer.zero_grad()
            scores = SCALE * X @ (atoms.T @ logits.softmax(dim=0))
            functional.cross_entropy(scores, labels).backward()
            optimizer.step()
        weights = logits.detach().softmax(dim=0)
        largest = weights.flatten().topk(min(count * weights.shape[1], weights.numel())).indices
        cut = torch.zeros_like(weights).flatten()
        cut[largest] = weights.flatten()[largest]
        cut = cut.view_as(weights)
        # A class all of whose weights are small keeps its largest.
        best = torch.zeros_like(weights).scatter_(0, weights.argmax(dim=0, keepdim=True), 1.0)
        cut = torch.where(cut.any(dim=0), cut, best)
        whole = torch.zeros(len(start), weights.shape[1])
        whole[used] = cut / cut.sum(dim=0)
        return whole

    def _weights(self) -> Tensor:
        return self.weights_[self.count]


def discriminability(similar: Float[Tensor, "m c"]) -> Float[Tensor, " m"]:
    """Return D of each text: sum over classes of p log p, with p its normalised similarities.

    Similarities below zero count as none.
    """
    shares = similar.clamp_min(1e-9)
    shares = shares / shares.sum(dim=1, keepdim=True)
    return -torch.special.entr(shares).sum(dim=1)


def submodular_order(
    informative: Float[Tensor, " p"], texts: Float[Tensor, "p d"], coverage: float, count: int
) -> Int[Tensor, " k"]:
    """Return at most `count` candidates in the order in which each adds most to F.

    Of equal candidates the first is chosen. `informative` is D of each; texts have unit norm.
    """
    spread = (informative.max() - informative.min()).clamp_min(1e-12)
    scaled = (informative - informative.min()) / spread
    close = texts @ texts.T
    covered = torch.zeros(len(scaled))
    chosen: list[int] = []
    while len(chosen) < min(count, len(scaled)):
        gain = torch.maximum(close, covered[:, None]).sum(dim=0) - covered.sum()
        gain = scaled + coverage * gain / len(scaled)
        gain[chosen] = -torch.inf
        chosen.append(int(gain.argmax()))
        covered = torch.maximum(covered, close[:, chosen[-1]])
    return torch.tensor(chosen)
