"""Peers that write each image as a sparse combination of texts, and classify the code.

- `IPOMP`: Chattopadhyay, Pilgrim and Vidal, "Information Maximization Perspective of Orthogonal
  Matching Pursuit with Applications to Explainable AI", NeurIPS 2023.
- `SpLiCE`: Bhalla, Oesterling, Srinivas, Calmon and Lakkaraju, "Interpreting CLIP with Sparse
  Linear Concept Embeddings (SpLiCE)", NeurIPS 2024.
- `SelectedTexts`: no paper's model; the same texts for every image, by forward selection.
- `ResCBM`: Shang, Zhou, Zhang, Ni, Yang and Wang, "Incremental Residual Concept Bottleneck Models",
  CVPR 2024.
- `LM4CV`: Yan, Wang, Zhong, Dong, He, Lu, Wang, Shang and McAuley, "Learning Concise and
  Descriptive Attributes for Visual Recognition", ICCV 2023.

lab/benchmark.md says in full what differs from the authors' code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix
from torch import Tensor
from torch.nn import functional

from infopursuit.pursuit.answers.rules import ThresholdAnswers
from infopursuit.pursuit.dictionary.forward_selection import forward_selection
from infopursuit_study.peers.binary_answers import Threshold, answers_of, fit_answers
from infopursuit_study.peers.elastic_net import ElasticNet
from infopursuit_study.peers.fit_cache import FitCache, cached
from infopursuit_study.peers.heads import LinearHead, Standardisation, logistic_head
from infopursuit_study.peers.lasso import Lasso
from infopursuit_study.peers.matching_pursuit import coefficients, matching_pursuit
from infopursuit_study.peers.peer import (
    BUDGETS,
    Contributions,
    TextPeer,
    Validation,
    linear_contributions,
)

# Cosines with mean images are multiplied by this, as at the end of CLIP's training.
SCALE = 100.0
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
    cache: FitCache | None = None
    heads_: dict[int, LinearHead]

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        self._prepare(X, labels, texts)
        counts = tuple(sorted(self.budgets))
        # The head changes no code.
        settings = {**self.get_params(deep=False), "strength": None, "cache": None}
        known = [settings[name] for name in sorted(settings) if not name.startswith("text")]
        codes = cached(
            self.cache, lambda: self._codes(X, counts), type(self).__name__, X, texts, repr(known)
        )
        self.heads_ = {count: self._head(code, X, labels) for count, code in codes.items()}
        self.budgets_ = tuple(sorted(self.heads_))

    def _prepare(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        raise NotImplementedError

    def _codes(self, X: Tensor, counts: Sequence[int]) -> Mapping[int, Float[Tensor, "n m"]]:
        """Return the code of each image with each number of texts."""
        raise NotImplementedError

    def _head(self, codes: Tensor, X: Tensor, labels: Tensor) -> LinearHead:
        return logistic_head(csr_matrix(codes.double().numpy()), labels, self.strength)

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

    Args:
        learned: a logistic regression on the coefficients; False predicts the class whose mean
            training image is nearest to the reconstruction.
    """

    learned: bool = True
    strength: float = 10.0
    centre: bool = True
    normalised: bool = True
    budgets: Sequence[int] = BUDGETS
    cache: FitCache | None = None

    def _prepare(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        self.space_ = _Centred(X, texts, self.centre)
        self.gram_ = self.space_.atoms @ self.space_.atoms.T

    def _codes(self, X: Tensor, counts: Sequence[int]) -> Mapping[int, Tensor]:
        atoms = self.space_.atoms
        signals = self.space_(X)
        chosen = matching_pursuit(signals, atoms, max(counts), self.normalised, self.gram_)
        return {
            count: torch.zeros(len(X), len(atoms)).scatter_(
                1, chosen.order[:, :count], coefficients(chosen, atoms, count)
            )
            for count in counts
        }

    def _head(self, codes: Tensor, X: Tensor, labels: Tensor) -> LinearHead:
        if self.learned:
            return super()._head(codes, X, labels)
        # The cosine of a reconstruction with the mean image of a class is linear in the code.
        signals, members = self.space_(X), functional.one_hot(labels).to(X.dtype)
        means = members.T @ signals / members.sum(dim=0).unsqueeze(1)
        means = functional.normalize(means, dim=1)
        return LinearHead(SCALE * self.space_.atoms @ means.T, X.new_zeros(len(means)))


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
    centre: bool = True
    budgets: Sequence[int] = BUDGETS
    cache: FitCache | None = None

    def _prepare(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        self.space_ = _Centred(X, texts, self.centre)
        self.lasso_ = Lasso(self.space_.atoms.double().numpy())
        penalties, sizes = cached(
            self.cache, lambda: self._sizes(X), "sizes", X, texts, self.centre
        )
        self.penalties_ = {t: float(np.interp(t, sizes, penalties)) for t in self.budgets}

    def _sizes(self, X: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Return decreasing penalties, and the mean number of texts that each gives."""
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


class _SameTexts(CodePeer):
    """The same t texts for every image and a logistic regression; a subclass orders the texts."""

    answers: Threshold | None = None
    order_: list[int]

    def _prepare(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        self.rule_: ThresholdAnswers | None = None
        if self.answers is not None:
            self.rule_ = fit_answers(X, labels, texts, self.answers)
        self.directions_ = texts
        self.standardisation_ = Standardisation.from_data(X @ texts.T)
        self._choose(X, labels)

    def _choose(self, X: Tensor, labels: Tensor) -> None:
        raise NotImplementedError

    def _texts_at(self, count: int) -> list[int]:
        """Return the rows of the texts of one number of texts."""
        return self.order_[:count]

    def _seen(self, X: Tensor) -> Float[Tensor, "n m"]:
        """Return answers as -1 and 1, or standardised scores."""
        if self.rule_ is None:
            return self.standardisation_(X @ self.directions_.T)
        return 2 * answers_of(self.rule_, X).float() - 1

    def _codes(self, X: Tensor, counts: Sequence[int]) -> dict[int, Tensor]:
        seen, codes = self._seen(X), {}
        for count in counts:
            asked = self._texts_at(count)
            codes[count] = torch.zeros_like(seen)
            codes[count][:, asked] = seen[:, asked]
        return codes

    def _head(self, codes: Tensor, X: Tensor, labels: Tensor) -> LinearHead:
        asked = (codes != 0).any(dim=0).nonzero().squeeze(1)
        head = logistic_head(codes[:, asked].double().numpy(), labels, self.strength)
        weights = torch.zeros(codes.shape[1], head.weights.shape[1])
        weights[asked] = head.weights
        return LinearHead(weights, head.intercepts)


@dataclass(eq=False, repr=False)
class SelectedTexts(_SameTexts):
    """A logistic regression on t texts that forward selection chose one by one.

    What a choice of questions for each image has to beat: a decision rests on exactly t texts.

    Attributes:
        order_: rows of the texts in the order of their choice.
    """

    answers: Threshold | None = "informative"
    strength: float = 1.0
    budgets: Sequence[int] = BUDGETS

    def _choose(self, X: Tensor, labels: Tensor) -> None:
        self.order_ = forward_selection(self._seen(X), labels, max(self.budgets))


@dataclass(eq=False, repr=False)
class ResCBM(_SameTexts):
    """A logistic regression on t texts, discovered as residuals one by one.

    What a bottleneck lacks is made up by a residual vector, which is optimised together with the
    linear head and drawn towards its nearest candidate texts by the loss

        cross-entropy + pull sum over the s most similar candidates of (1 - cosine)

    and is then replaced by the most similar candidate, which joins the bottleneck. It starts along
    the first singular vector of the gradient of the cross-entropy.

    Attributes:
        order_: rows of the texts in the order of their choice.
    """

    begin: int = 4
    pull: float = 0.1
    nearest: int = 5
    updates: int = 60
    learning_rate: float = 0.05
    strength: float = 1.0
    budgets: Sequence[int] = BUDGETS

    def _choose(self, X: Tensor, labels: Tensor) -> None:
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
            head = LinearHead(functional.pad(head.weights, (0, 0, 0, 1)), head.intercepts)
        self.order_ = order

    def _discovered(
        self,
        centred: Float[Tensor, "n d"],
        labels: Int[Tensor, " n"],
        scores: Float[Tensor, "n c"],
        order: list[int],
    ) -> int:
        """Return the candidate most similar to the optimised residual vector."""
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


@dataclass(eq=False, repr=False)
class LM4CV(_SameTexts):
    """A logistic regression on K texts near a learned dictionary.

    A dictionary of K vectors and a linear head are trained by cross-entropy, with the vectors kept
    among texts by the Mahalanobis distance to the distribution of text embeddings; then each vector
    in turn takes the nearest text that no earlier one took.

    Attributes:
        orders_: for each K, rows of its texts.
    """

    weight: float = 1.0
    updates: int = 500
    learning_rate: float = 0.03
    strength: float = 1.0
    budgets: Sequence[int] = BUDGETS
    random_state: int = 0

    def _choose(self, X: Tensor, labels: Tensor) -> None:
        generator = torch.Generator().manual_seed(self.random_state)
        distances = Mahalanobis(self.directions_)
        self.orders_ = {
            count: self._searched(X, labels, min(count, len(self.texts_)), distances, generator)
            for count in sorted(self.budgets)
        }

    def _texts_at(self, count: int) -> list[int]:
        return self.orders_[count]

    def _searched(
        self,
        X: Float[Tensor, "n d"],
        labels: Int[Tensor, " n"],
        count: int,
        distances: Mahalanobis,
        generator: torch.Generator,
    ) -> list[int]:
        """Return the rows of the texts nearest to the learned dictionary, each once."""
        c = int(labels.max()) + 1
        start = torch.randperm(len(self.directions_), generator=generator)[:count]
        vectors = self.directions_[start].clone().requires_grad_()
        weights = (torch.randn(count, c, generator=generator) / count**0.5).requires_grad_()
        intercepts = torch.zeros(c, requires_grad=True)
        optimizer = torch.optim.Adam([vectors, weights, intercepts], lr=self.learning_rate)
        for _ in range(self.updates):
            optimizer.zero_grad()
            scores = X @ vectors.T
            scores = (scores - scores.mean(dim=0)) / scores.std(dim=0).clamp_min(1e-6)
            loss = functional.cross_entropy(scores @ weights + intercepts, labels)
            away = (distances(functional.normalize(vectors, dim=1)).mean() - 1).abs()
            (loss + self.weight * away).backward()
            optimizer.step()
        return nearest_once(functional.normalize(vectors.detach(), dim=1), self.directions_)


class Mahalanobis:
    """The squared distance to the distribution of texts, as a multiple of its mean over them.

    The covariance has less than full rank if texts are few, so it gets a small ridge.
    """

    def __init__(self, texts: Float[Tensor, "m d"]) -> None:
        self.mean = texts.mean(dim=0)
        covariance = torch.cov(texts.T)
        ridge = 1e-2 * covariance.diagonal().mean() * torch.eye(texts.shape[1])
        self.inverse = torch.linalg.inv(covariance + ridge)
        self.usual = self._distances(texts).mean()

    def _distances(self, rows: Float[Tensor, "k d"]) -> Float[Tensor, " k"]:
        off = rows - self.mean
        return ((off @ self.inverse) * off).sum(dim=1)

    def __call__(self, rows: Float[Tensor, "k d"]) -> Float[Tensor, " k"]:
        """Return the distances of vectors; 1 is usual for a text."""
        return self._distances(rows) / self.usual


def nearest_once(vectors: Float[Tensor, "k d"], texts: Float[Tensor, "m d"]) -> list[int]:
    """Return for each vector in turn the nearest text that no earlier one took."""
    close = vectors @ texts.T
    taken: list[int] = []
    for row in close:
        row[taken] = -torch.inf
        taken.append(int(row.argmax()))
    return taken
