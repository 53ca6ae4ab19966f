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
    """

    scores: NormalScores
    held_out: Float[Tensor, "m k"]

    def p_values(self, answers: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        """Return the conformal p-value of each image, in (0, 1] (`Conformity.p_values`)."""
        below = torch.searchsorted(self.ordered, self._likelihood(answers) + ROUNDING, right=True)
        return (1 + below.float()) / (1 + len(self.ordered))

    @cached_property
    def ordered(self) -> Float[Tensor, " m"]:
        """The likelihoods of the held-out images, ascending."""
        return self._likelihood(self.held_out).sort().values

    def _likelihood(self, answers: Tensor) -> Tensor:
        exact = self.scores.double()
        rows = answers.double() - exact.means.mean(dim=0)
        own = torch.linalg.solve(exact.covariance, rows.T).T
        return exact.evidence_of_all(answers).amax(dim=1) - (own * rows).sum(dim=1) / 2

    def select(self, columns: Int[Tensor, " m"]) -> GaussianConformity:
        """Return the same for m of the questions."""
        return GaussianConformity(self.scores.select(columns), self.held_out[:, columns])

    def to(self, device: torch.device | str) -> GaussianConformity:
        """Return the same on a device."""
        return GaussianConformity(self.scores.to(device), self.held_out.to(device))

    def tensors(self) -> dict[str, Tensor]:
        """Return scores and answers, by name."""
        return {**self.scores.tensors(), "held_out": self.held_out}

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of scores and answers."""
        rows = tensors["held_out"].shape[:1] if "held_out" in tensors else ()
        answers = Expected((*rows, sizes.k), least=0, most=1)
        return {**NormalScores.shapes(sizes, tensors), "held_out": answers}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> GaussianConformity:
        """Return what `tensors` gave."""
        scores = {name: each for name, each in tensors.items() if name != "held_out"}
        return cls(NormalScores(**scores), tensors["held_out"])
