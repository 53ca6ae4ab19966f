"""Whether an image looks like any of the classes, by how far its scores lie from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.pursuit.conformity import ROUNDING
from infopursuit.pursuit.gaussian.scores import NormalScores
from infopursuit.pursuit.parts import Expected, Sizes


@dataclass(frozen=True)
class GaussianConformity:
    """The likelihood of all answers in the nearest class, compared with held-out images.

    Attributes:
        scores: what is expected of each class.
        held_out: answers of images that nothing was fitted on.
        weights: of these images, a mean of 1, so that classes are as frequent as they are.
    """

    scores: NormalScores
    held_out: Float[Tensor, "m k"]
    weights: Float[Tensor, " m"]

    def p_values(self, answers: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        """Return the conformal p-value of each image, in (0, 1] (`Conformity.p_values`)."""
        likelihoods, weights = self.ordered
        below = torch.searchsorted(likelihoods, self._likelihood(answers) + ROUNDING, right=True)
        return (1 + weights[below]) / (1 + weights[-1])

    @cached_property
    def ordered(self) -> tuple[Float[Tensor, " m"], Float[Tensor, " m1"]]:
        """The likelihoods of the held-out images, ascending, and the sum of weights before each."""
        likelihoods, order = self._likelihood(self.held_out).sort()
        sums = self.weights[order].double().cumsum(dim=0)
        return likelihoods, torch.cat([sums.new_zeros(1), sums]).float()

    def _likelihood(self, answers: Tensor) -> Tensor:
        exact = self.scores.double()
        rows = answers.double() - exact.means.mean(dim=0)
        own = torch.linalg.solve(exact.covariance, rows.T).T
        return exact.evidence_of_all(answers).amax(dim=1) - (own * rows).sum(dim=1) / 2

    def select(self, columns: Int[Tensor, " m"]) -> GaussianConformity:
        """Return the same for m of the questions."""
        scores = self.scores.select(columns)
        return GaussianConformity(scores, self.held_out[:, columns], self.weights)

    def to(self, device: torch.device | str) -> GaussianConformity:
        """Return the same on a device."""
        held_out, weights = self.held_out.to(device), self.weights.to(device)
        return GaussianConformity(self.scores.to(device), held_out, weights)

    def tensors(self) -> dict[str, Tensor]:
        """Return scores and answers, by name."""
        own = {"held_out": self.held_out, "held_out_weights": self.weights}
        return {**self.scores.tensors(), **own}

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of scores and answers."""
        rows = tensors["held_out"].shape[:1] if "held_out" in tensors else ()
        own = {
            "held_out": Expected((*rows, sizes.k), least=0, most=1),
            "held_out_weights": Expected(rows, least=0),
        }
        return {**NormalScores.shapes(sizes, tensors), **own}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> GaussianConformity:
        """Return what `tensors` gave."""
        scores = {name: each for name, each in tensors.items() if "held_out" not in name}
        return cls(NormalScores(**scores), tensors["held_out"], tensors["held_out_weights"])
