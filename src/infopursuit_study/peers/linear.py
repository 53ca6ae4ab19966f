"""Peers whose scores are linear in the similarities of image and texts.

- `SparseLogistic`: no paper's model; the sparse head of the following ones, at its best.
- `LabelFreeCBM`: Oikarinen, Das, Nguyen and Weng, "Label-free Concept Bottleneck Models", ICLR
  2023.
- `PCBM`, `HybridPCBM`: Yuksekgonul, Wang and Zou, "Post-hoc Concept Bottleneck Models", ICLR 2023.
- `LaBo`: Yang, Panagopoulou, Zhou, Jin, Callison-Burch and Yatskar, "Language in a Bottle: Language
  Model Guided Concept Bottlenecks for Interpretable Image Classification", CVPR 2023.
- `DescriptionEnsemble`: zero-shot (Radford et al., "Learning Transferable Visual Models From
  Natural Language Supervision", ICML 2021) and DCLIP (Menon and Vondrick, "Visual Classification
  via Description from Large Language Models", ICLR 2023).

lab/benchmark.md says in full what differs from the authors' code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.core.errors import InputError
from infopursuit_study.peers.elastic_net import ElasticNet, Loss, at_effective_concepts
from infopursuit_study.peers.fit_cache import FitCache, cached
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
# Images whose scores the activation cutoff averages.
TOP = 5
# Steps of L-BFGS for the residual of PCBM-h.
ITERATIONS = 150


class SparseHeadPeer(TextPeer):
    """Standardised concept scores and a sparse linear head; a subclass fits the head.

    Attributes:
        directions_: (m, d) what the scores are cosines with.
        standardisation_: of the scores.
        heads_: by the number of effective concepts; the largest is the whole model's.
    """

    ratio: float
    budgets: Sequence[int]
    cache: FitCache | None
    heads_: dict[int, LinearHead]
    loss: Loss = "multinomial"

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        self.directions_ = texts
        self.standardisation_ = self._standardisation(X @ texts.T)
        self.heads_ = self._fit_heads(self.concepts(X), labels)
        self.budgets_ = tuple(sorted(self.heads_))

    def _standardisation(self, scores: Tensor) -> Standardisation:
        return Standardisation.from_data(scores)

    def _fit_heads(self, concepts: Tensor, labels: Tensor) -> dict[int, LinearHead]:
        """Return the head of each of `budgets`: that of the path, truncated."""
        path = self._elastic_net(concepts, labels).path(max(self.budgets))
        return {count: at_effective_concepts(path, count) for count in self.budgets}

    def _elastic_net(self, concepts: Tensor, labels: Tensor) -> ElasticNet:
        """Return the problem of these images; peers with one cache share its path."""
        key = "elastic net", concepts, labels, self.loss, self.ratio
        return cached(self.cache, lambda: ElasticNet(*key[1:]), *key)

    def concepts(self, X: Tensor) -> Tensor:
        """Return standardised concept scores (n, m)."""
        return self.standardisation_(X @ self.directions_.T)

    @property
    def head(self) -> LinearHead:
        """The linear head that decisions rest on."""
        return self.heads_[max(self.heads_) if self.budget_ is None else self.budget_]

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
        ratio: share of the sparsifying penalty that is on absolute values.
        budgets: numbers of effective concepts.
        cache: shares the path of penalties with other fits.
    """

    ridge: float = 1e-3
    ratio: float = 0.99
    budgets: Sequence[int] = BUDGETS
    cache: FitCache | None = None

    def _fit_heads(self, concepts: Tensor, labels: Tensor) -> dict[int, LinearHead]:
        net = self._elastic_net(concepts, labels)
        return {
            count: net.refitted(sparse.weights != 0, self.ridge, sparse)
            for count, sparse in super()._fit_heads(concepts, labels).items()
        }


@dataclass(eq=False, repr=False)
class LabelFreeCBM(SparseHeadPeer):
    """Filtered concepts, CLIP's scores of them, and a truncated sparse head.

    The authors train a projection of backbone features towards CLIP's scores; with CLIP as the
    backbone, the text embeddings are that projection.

    Args:
        activation_cutoff: texts whose five largest scores in training have a smaller mean are
            dropped; None keeps all.

    Attributes:
        kept_: rows of the texts that were not dropped.
    """

    ratio: float = 0.99
    similarity_cutoff: float = 0.9
    activation_cutoff: float | None = None
    budgets: Sequence[int] = BUDGETS
    cache: FitCache | None = None

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        kept = without_duplicates(texts, self.similarity_cutoff)
        if self.activation_cutoff is not None:
            scores = X @ texts[kept].T
            largest = scores.topk(min(TOP, len(X)), dim=0).values.mean(dim=0)
            kept = kept[largest >= self.activation_cutoff]
        self.kept_ = kept
        self.texts_ = tuple(self.texts_[text] for text in kept.tolist())
        super()._fit(X, labels, texts[kept], validation)


@dataclass(eq=False, repr=False)
class PCBM(SparseHeadPeer):
    """Projections on a bank of concepts and a sparse head, one class against the rest.

    With text embeddings c_i as the bank, the projections are f_i(x) = <x, c_i> / |c_i|^2. They are
    centred and scaled by one number here, which changes nothing but the unit of the penalty.
    """

    ratio: float = 0.99
    budgets: Sequence[int] = BUDGETS
    cache: FitCache | None = None
    loss = "one_vs_rest"

    def _standardisation(self, scores: Tensor) -> Standardisation:
        mean, spread = super()._standardisation(scores)
        return Standardisation(mean, spread.mean().expand_as(spread))


@dataclass(eq=False, repr=False)
class HybridPCBM(PCBM):
    """PCBM-h: the scores of a PCBM and a linear residual of the embedding.

    The residual has no words: it is in the offset of explanations, and since no number of texts
    bounds what a decision rests on, `at` takes none.

    Attributes:
        residual_: the (d, c) weights of the embedding and (c,) intercepts.
    """

    ridge: float = 1e-3

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        super()._fit(X, labels, texts, validation)
        count, self.budgets_ = max(self.budgets_), ()
        self.heads_ = {count: self.heads_[count]}
        self.residual_ = fit_residual(X, labels, super()._scores(X), self.ridge)

    def _scores(self, X: Tensor) -> Tensor:
        return super()._scores(X) + self.residual_(X)

    def _explain(self, X: Tensor) -> Contributions:
        weights, intercepts = self.head
        offset = intercepts.unsqueeze(0) + self.residual_(X)
        return linear_contributions(self, self.concepts(X), weights, offset)


def fit_residual(
    X: Float[Tensor, "n d"], labels: Int[Tensor, " n"], frozen: Float[Tensor, "n c"], ridge: float
) -> LinearHead:
    """Return the head that, added to frozen scores, minimises cross-entropy and a ridge."""
    weights = X.new_zeros(X.shape[1], frozen.shape[1]).requires_grad_()
    intercepts = X.new_zeros(frozen.shape[1]).requires_grad_()
    optimizer = torch.optim.LBFGS(
        [weights, intercepts], max_iter=ITERATIONS, history_size=10, line_search_fn="strong_wolfe"
    )

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = functional.cross_entropy(frozen + X @ weights + intercepts, labels)
        value = value + ridge / 2 * weights.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    return LinearHead(weights.detach(), intercepts.detach())


def without_duplicates(texts: Float[Tensor, "m d"], cutoff: float) -> Int[Tensor, " k"]:
    """Return the rows of texts whose cosines with all earlier kept texts are within the cutoff."""
    close = texts @ texts.T > cutoff
    kept = torch.ones(len(texts), dtype=torch.bool)
    for row in range(1, len(texts)):
        kept[row] = not (close[row, :row] & kept[:row]).any()
    return kept.nonzero().squeeze(1)


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
class DescriptionEnsemble(_ClassTexts):
    """The class whose descriptions have the largest mean cosine with the image.

    Zero-shot classification is the case with the class name as the only description. Nothing is
    learned from images but their mean, for explanations.

    Args:
        descriptions: for each class, some of the texts; None if each class has the text that is
            its name (zero-shot).

    Attributes:
        weights_: (m, c) the share of each text in each class.
    """

    descriptions: Mapping[str, Sequence[str]] | None = None

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        places = {text: place for place, text in enumerate(self.texts_)}
        self.directions_, self.mean_ = texts, X.mean(dim=0)
        self.weights_ = torch.zeros(len(texts), len(self.classes_))
        for column, label in enumerate(self.classes_.tolist()):
            chosen = [label] if self.descriptions is None else self.descriptions.get(label, [])
            if not len(chosen):
                raise InputError(f"descriptions: expected one or more for the class {label!r}")
            for text in chosen:
                if text not in places:
                    raise InputError(
                        f"descriptions: {text!r} of the class {label!r} is not among the texts"
                    )
                self.weights_[places[text], column] = 1 / len(chosen)

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
        candidates: for each class, some of the texts; None for those whose mean similarity with
            its images exceeds that with all images most.

    Attributes:
        weights_: by the number of texts, (m, c) with columns that sum to one.
    """

    candidates: Mapping[str, Sequence[str]] | None = None
    pool: int = 50
    coverage: float = 1.0
    learning_rate: float = 0.1
    updates: int = 150
    budgets: Sequence[int] = BUDGETS

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        self.directions_, self.mean_ = texts, X.mean(dim=0)
        members = functional.one_hot(labels).float()
        similar = texts @ X.T @ members / members.sum(dim=0)  # (m, c) mean over a class's images
        informative = discriminability(similar)
        orders = []
        for place, candidates in enumerate(self._candidates(similar)):
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

    def _candidates(self, similar: Float[Tensor, "m c"]) -> list[Int[Tensor, " p"]]:
        places = {text: place for place, text in enumerate(self.texts_)}
        particular = similar - similar.mean(dim=1, keepdim=True)
        candidates = []
        for column, label in enumerate(self.classes_.tolist()):
            given = [] if self.candidates is None else self.candidates.get(label, [])
            rows = [places[text] for text in given if text in places]
            if not rows:
                size = min(self.pool, len(similar))
                rows = particular[:, column].topk(size).indices.tolist()
            candidates.append(torch.tensor(rows))
        return candidates

    def _trained(self, X: Tensor, labels: Tensor, start: Tensor, count: int) -> Tensor:
        """Return softmax weights after training, cut to `count` texts for each class."""
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
