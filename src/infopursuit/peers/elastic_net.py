"""Sparse linear heads: elastic-net logistic regression along a path of penalties.

Minimises, for z = standardised concept scores of an image, weights W and intercepts b,

    mean over images of loss(W z + b, y) + penalty (ratio |W|_1 + (1 - ratio) / 2 |W|_2^2)

which is the objective of GLM-SAGA (Wong, Santurkar and Madry, "Leveraging Sparse Linear Layers for
Debuggable Deep Networks", ICML 2021). The loss is multinomial, or binary for each class
against the rest. The solver is another: proximal Newton on active weights, as in glmnet (Friedman,
Hastie and Tibshirani, J. Stat. Softw. 2010), of all classes at once. It reaches the same minimum;
scikit-learn's SAGA does too, and takes minutes where this takes seconds.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.peers.heads import Head, Slabs

Loss = Literal["multinomial", "one_vs_rest"]

# From one penalty of the path to the next; the last as a share of the first, or where so much of
# the loss of no text is explained (glmnet stops at 0.999).
STEP, LAST, EXPLAINED = 0.8, 1e-3, 0.98
# A weight enters where its gradient exceeds the penalty by this share.
SLACK = 1e-3
# Least curvature of an image, so that images that are certain keep a Newton step finite.
CURVATURE = 1e-4
ROUNDS, NEWTON, REFIT, INNER, HALVINGS = 8, 3, 24, 200, 8


class ElasticNet:
    """The heads of one training set.

    Args:
        concepts: standardised scores of n images and m texts, float32.
        labels: classes 0..c-1.
        loss: multinomial, or one class against the rest.
        ratio: share of the penalty that is on absolute values.
    """

    def __init__(
        self,
        concepts: Float[Tensor, "n m"],
        labels: Int[Tensor, " n"],
        loss: Loss = "multinomial",
        ratio: float = 0.99,
    ) -> None:
        self.concepts, self.labels, self.loss, self.ratio = concepts, labels, loss, ratio
        self.members = functional.one_hot(labels).to(concepts.dtype)
        self.columns = torch.cat([concepts.T, concepts.new_ones(1, len(concepts))])
        # The path so far, the penalty above which it is empty, and the loss of no text.
        self.heads: list[Head] = []
        self.largest = self._gradient(self.empty).abs().max().item() / ratio
        self.at_first = self._data(self.empty(concepts))

    @property
    def empty(self) -> Head:
        """No weights: intercepts that give the shares of the classes."""
        share = self.members.mean(dim=0)
        odds = share if self.loss == "multinomial" else share / (1 - share)
        return Head(self.concepts.new_zeros(self.concepts.shape[1], len(share)), odds.log())

    def path(self, most: int) -> list[Head]:
        """Heads with ever smaller penalties, until they have `most` effective concepts.

        Where classes are easily told apart, the smallest penalty has fewer. A longer path goes on
        from a shorter one.
        """
        for place in itertools.count():
            if place == len(self.heads) and not self._extend():
                break
            if self.heads[place].effective_concepts >= most:
                return self.heads[: place + 1]
        return list(self.heads)

    def _extend(self) -> bool:
        """Add the next head to the path; False where it has ended."""
        head = self.heads[-1] if self.heads else self.empty
        share = STEP ** (len(self.heads) + 1)
        ended = self.heads and self._data(head(self.concepts)) <= (1 - EXPLAINED) * self.at_first
        if share < LAST or ended:
            return False
        self.heads.append(self.fitted(self.largest * share, head, NEWTON))
        return True

    def fitted(self, penalty: float, start: Head | None = None, steps: int = REFIT) -> Head:
        """The minimum at a penalty, from the weights of another.

        Args:
            penalty: of absolute values and squares together.
            start: where to start; None for no weights.
            steps: Newton steps between two looks at the weights that are zero; few do on a path.
        """
        head = self.empty if start is None else start
        active = head.weights != 0
        for _ in range(ROUNDS):
            head = self._newton(
                head, active, penalty * self.ratio, penalty * (1 - self.ratio), steps
            )
            gradient = self._gradient(head).abs()
            entering = (gradient > penalty * self.ratio * (1 + SLACK)) & ~active
            if not entering.any():
                break
            active = (head.weights != 0) | entering
        return head

    def refitted(
        self, support: Bool[Tensor, "m c"], ridge: float, start: Head | None = None
    ) -> Head:
        """The minimum over the weights of a support, with `ridge` / 2 of their squares alone."""
        head = self.empty if start is None else start
        head = Head(head.weights * support, head.intercepts)
        return self._newton(head, support, 0.0, ridge, REFIT)

    def objective(self, head: Head, absolute: float, squares: float) -> float:
        """What is minimised."""
        return self._value(head(self.concepts), head.weights, absolute, squares)

    # -- one Newton step after another ------------------------------------------------------

    def _newton(
        self, head: Head, active: Tensor, absolute: float, squares: float, rounds: int
    ) -> Head:
        """Minimise over the active weights; the others are zero."""
        slabs = Slabs(self.columns, active)
        values = slabs.packed(head)
        kinds = absolute * slabs.penalised, squares * slabs.penalised
        logits = slabs.logits(values)
        value = self._of(logits, values, *kinds)
        for _ in range(rounds):
            gradient, bent = slabs.slopes(*self._derivatives(logits))
            target = _descended(values, gradient, bent, slabs.there, *kinds)
            change, share = target - values, 1.0
            moved = slabs.logits(change)
            for _ in range(HALVINGS):
                found = self._of(logits + share * moved, values + share * change, *kinds)
                if found <= value:
                    break
                share /= 2
            else:
                break
            gained = value - found
            values, logits, value = values + share * change, logits + share * moved, found
            if gained <= 1e-7 * abs(value):
                break
        return slabs.head(values)

    def _gradient(self, head: Head) -> Float[Tensor, "m c"]:
        residual, _ = self._derivatives(head(self.concepts))
        return self.concepts.T @ residual / len(self.labels)

    def _derivatives(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """The first derivative of each image's loss, and a bound of the second.

        The second derivative of the multinomial loss is diag(p) - p p', at most diag(p).
        """
        if self.loss == "multinomial":
            share = logits.softmax(dim=1)
            return share - self.members, share.clamp_min(CURVATURE)
        share = logits.sigmoid()
        return share - self.members, (share * (1 - share)).clamp_min(CURVATURE)

    def _of(self, logits: Tensor, values: Tensor, absolute: Tensor, squares: Tensor) -> float:
        penalty = (absolute * values.abs() + squares * values.square() / 2).sum().item()
        return self._data(logits) + penalty

    def _value(self, logits: Tensor, weights: Tensor, absolute: float, squares: float) -> float:
        penalty = absolute * weights.abs().sum() + squares * weights.square().sum() / 2
        return self._data(logits) + penalty.item()

    def _data(self, logits: Tensor) -> float:
        if self.loss == "multinomial":
            return functional.cross_entropy(logits, self.labels).item()
        summed = functional.binary_cross_entropy_with_logits(logits, self.members, reduction="sum")
        return summed.item() / len(self.labels)


def _descended(
    values: Tensor,
    gradient: Tensor,
    bent: Float[Tensor, "c a a"],
    there: Tensor,
    absolute: Tensor,
    squares: Tensor,
) -> Float[Tensor, "c a"]:
    """The minimum of the quadratic model, in all classes at once.

    With absolute values by accelerated proximal steps (FISTA with restarts; Beck and Teboulle,
    2009; O'Donoghue and Candes, 2015), without them by one system of equations.
    """
    if not absolute.any():
        system = bent + torch.diag_embed(squares + (~there).float() + 1e-8)
        step = torch.linalg.solve(system, -(gradient + squares * values).unsqueeze(2)).squeeze(2)
        return values + step * there
    # The largest row sum bounds the largest eigenvalue.
    size = 1 / (bent.abs().sum(dim=2).amax(dim=1, keepdim=True) + squares.amax() + 1e-12)
    threshold = size * absolute
    found = ahead = values
    momentum = 1.0
    for _ in range(INNER):
        slope = gradient + (bent @ (ahead - values).unsqueeze(2)).squeeze(2) + squares * ahead
        point = ahead - size * slope
        new = (point.sign() * (point.abs() - threshold).clamp_min(0)) * there
        if ((ahead - new) * (new - found)).sum() > 0:
            momentum = 1.0  # the speed points uphill
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        moved = new - found
        ahead, found = new + (momentum - 1) / following * moved, new
        momentum = following
        if moved.abs().max() <= 1e-5 * found.abs().max().clamp_min(1e-3):
            break
    return found


def at_effective_concepts(heads: Sequence[Head], count: int) -> Head:
    """The head with `count` effective concepts: truncated from the first with as many.

    The weights of largest size stay, over all classes, as in VLG-CBM (Srivastava et al., NeurIPS
    2024: accuracy at NEC). Where all have fewer, the last is taken as it is.
    """
    head = next((each for each in heads if each.effective_concepts >= count), heads[-1])
    kept = count * head.weights.shape[1]
    if head.effective_concepts <= count:
        return head
    size = head.weights.abs().flatten()
    places = size.topk(kept).indices
    weights = torch.zeros_like(size)
    weights[places] = head.weights.flatten()[places]
    return Head(weights.view_as(head.weights), head.intercepts)
